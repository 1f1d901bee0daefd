"""The decoding loop on real (untrained) pairs: caches, masks, positions, greedy equality, seeds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import torch

from rheo_verify.decoders.torch_decoding import TorchDecoding, layers_of, tree_mask
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError
from rheo_verify.models.eagle3_drafting import HeadState
from rheo_verify.models.llama import TargetState
from rheo_verify.models.pair import load_pair
from rheo_verify.models.rows import RowSettings
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule
from tests.models.small import VOCAB, random_pair, write_head, write_target

PROMPT = (0, 5, 17, 3, 3, 80)
DESIGN = TreeDesign(lead=1, pool=4, beam=4, depth=4, budget=14)


def decoding(
    seed: int = 0, temperature: float = 1.0, m: int = 1, rule: str = "rheo", **settings: object
) -> TorchDecoding:
    design = TreeDesign(lead=m, pool=4, beam=4, depth=4, budget=14)
    rows = RowSettings(temperature=temperature, support=32, **settings)  # type: ignore[arg-type]
    live = TorchDecoding(random_pair(), design, in_one_draw(layer_rule(rule)), TorchChance(seed), rows)
    live.start(PROMPT)
    return live


def full_logits(context: tuple[int, ...]) -> torch.Tensor:
    with torch.no_grad():
        return random_pair().target.network(input_ids=torch.tensor([context])).logits[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("m", [0, 2, 4])
def test_tree_rows_are_the_targets_rows_along_each_path(m: int) -> None:
    live = decoding(seed=m, m=m)
    for cycle in live.run(10):
        for place, path in enumerate([(), *(node.tokens for node in cycle.tree)]):
            alone = full_logits(cycle.context + path)[-1]
            assert torch.allclose(cycle.logits[place], alone, atol=1e-4), (len(cycle.context), path)
    assert live.target_state.length == len(live.context) - 1


def test_draft_rows_do_not_depend_on_how_the_context_was_reached() -> None:
    live = decoding(seed=3)
    for _ in live.run(8):
        pass
    fresh = TargetState.new(random_pair().target)
    _, features = fresh.prefill(live.context[:-1])
    head = HeadState(random_pair().head)
    head.extend(features, live.context[1:])
    assert torch.allclose(head.logits, live.head_state.logits, atol=2e-5)


def test_a_node_sees_its_ancestors_and_itself() -> None:
    live = decoding(seed=1)
    tree = live.draft().tree
    mask = tree_mask(tree)
    paths = [(), *(node.tokens for node in tree)]
    for i, below in enumerate(paths):
        for j, above in enumerate(paths):
            assert bool(mask[i, j]) == (below[: len(above)] == above)


@pytest.mark.parametrize(("m", "rule"), [(4, "topk"), (0, "rheo"), (1, "rheo"), (1, "rrsw"), (2, "rheo")])
def test_greedy_output_is_the_targets_own(m: int, rule: str) -> None:
    live = decoding(temperature=0, m=m, rule=rule)
    list(live.run(24))
    with torch.no_grad():
        own = random_pair().target.network.generate(
            torch.tensor([PROMPT]),
            attention_mask=torch.ones(1, len(PROMPT)),
            max_new_tokens=24,
            do_sample=False,
        )
    assert live.context[: len(PROMPT) + 24] == tuple(own[0].tolist())


def test_one_seed_one_run() -> None:
    runs = [[cycle.emitted for cycle in decoding(seed).run(8)] for seed in (7, 7, 8)]
    assert runs[0] == runs[1] != runs[2]


def test_drafts_are_accepted_sometimes_and_layers_line_up() -> None:
    accepted = 0
    for cycle in decoding(temperature=0.3).run(30):
        accepted += cycle.accepted
        for path, children, token in layers_of(cycle):
            assert (token in {node.token for node in children}) >= (len(path) + 1 < len(cycle.emitted))
            assert [node.slots for node in children] == sorted(node.slots for node in children)
            for left, right in pairwise(children):
                assert left.token != right.token
    assert accepted > 0


def test_prompts_that_cannot_be_used() -> None:
    live = decoding()
    with pytest.raises(Exception, match=r"RV106.*at least 2"):
        live.start((0,))
    with pytest.raises(Exception, match=rf"RV106.*{VOCAB}"):
        live.start((0, VOCAB))


def test_target_logits_that_are_not_numbers() -> None:
    live = decoding()
    norm = random_pair().target.network.model.norm.weight
    before = norm.detach().clone()
    with torch.no_grad():
        norm.fill_(float("nan"))
        with pytest.raises(Exception, match=r"RV608.*target.*float32"):
            live.cycle()
        norm.copy_(before)


def test_a_prompt_needs_no_logits_and_has_the_same_features() -> None:
    target = random_pair().target
    tokens = [0, 5, 17, 3, 3, 80, 2]
    whole, part = TargetState.new(target), TargetState.new(target)
    logits, features = whole.prefill(tokens, 3)
    none, same = part.prefill(tokens, 3, logits=False)
    assert logits.shape == (7, target.vocab)
    assert torch.equal(none, logits[-1:])
    assert torch.equal(features, same)


def test_positions_that_the_target_does_not_have(tmp_path: Path) -> None:
    pair = load_pair(write_target(tmp_path / "t", max_position_embeddings=24), write_head(tmp_path / "h"))
    design = TreeDesign(lead=1, pool=3, beam=2, depth=3, budget=4)
    live = TorchDecoding(pair, design, in_one_draw(layer_rule("rheo")), TorchChance(0), RowSettings(support=32))
    with pytest.raises(InputError, match=r"RV106.*position 24.*max_position_embeddings is 24"):
        live.start(list(range(1, 27)))
    live.start(list(range(1, 18)))
    with pytest.raises(InputError, match=r"RV106.*max_position_embeddings is 24"):
        list(live.run(20))
