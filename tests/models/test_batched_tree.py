"""Drafting in batches against floor 2's own: the exact law on tables, and the same nodes given the same draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.decoders import torch_decoding
from rheo_verify.decoders.torch_decoding import TorchDecoding
from rheo_verify.drafting.batched_tree import batched_tree, covers
from rheo_verify.drafting.build_then_prune import build_then_prune
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.size import most_trees
from rheo_verify.drafting.tree import Tree
from rheo_verify.errors import InputError
from rheo_verify.models.eagle3_drafting import HeadState
from rheo_verify.models.model import Model, temper_model, truncate_sampling
from rheo_verify.models.random_tables import random_model
from rheo_verify.models.rows import RowSettings
from rheo_verify.probability.enumeration import law_of
from rheo_verify.probability.rationals import exact
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule
from tests.instances import designs
from tests.models.small import random_pair

Path = tuple[int, ...]


class TableSteps:
    """A table as the head of a drafting: logits after each step, and which paths the rows stand for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.paths: list[Path] = []

    def root(self) -> torch.Tensor:
        self.paths = [()]
        return self.logits()

    def step(self, tokens: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        at = zip(tokens.tolist(), parents.tolist(), strict=True)
        self.paths = [(*self.paths[parent], token) for token, parent in at]
        return self.logits()

    def logits(self) -> torch.Tensor:
        rows = [[float(x) for x in self.model.draft(path)] for path in self.paths]
        return torch.tensor(rows, dtype=torch.float64).log()


class Rows:
    """An enumerating `Chance` that answers a batch row by row."""

    def __init__(self, chance: Any) -> None:
        self.chance = chance

    def choose_rows(self, cumulative: torch.Tensor) -> torch.Tensor:
        weights = torch.diff(cumulative, dim=-1, prepend=torch.zeros(len(cumulative), 1, dtype=torch.float64))
        # the difference of two sums may be rounding alone
        rows = [[x if x > 1e-12 else 0.0 for x in row] for row in weights.tolist()]
        return torch.tensor([self.chance.choose(row) if any(row) else len(row) for row in rows])


def names(tree: Tree) -> Any:
    return tuple((node.slots, node.tokens, node.kind) for node in tree)


CASES = [
    (seed, m, k, w, d, r, temper, zeros)
    for seed, (m, k, w, d, r, temper, zeros) in enumerate(
        [
            (0, 3, 3, 2, 6, 1, 0),
            (1, 3, 3, 2, 6, 1, 0),
            (2, 3, 2, 2, 5, 1, 0),
            (1, 2, 2, 3, 4, 1, 0),
            (0, 2, 2, 3, 7, 1, 0),
            (1, 3, 2, 2, 8, 2, 0),
            (0, 3, 2, 2, 4, 3, 0),
            (1, 4, 2, 2, 9, 1, 7),
            (2, 3, 3, 2, 9, 1, 9),
            (3, 3, 2, 2, 6, 1, 4),
            (4, 2, 1, 3, 3, 1, 0),
        ]
    )
]


@pytest.mark.parametrize(("seed", "m", "k", "w", "d", "r", "temper", "zeros"), CASES)
def test_the_law_of_the_tree_is_floor_2s(
    seed: int, m: int, k: int, w: int, d: int, r: int, temper: int, zeros: int
) -> None:
    laws_agree(seed, TreeDesign(lead=m, pool=k, beam=w, depth=d, budget=r), temper, zeros)


@given(
    seed=st.integers(0, 10**6),
    design=designs(4).filter(lambda it: most_trees(it, 4) <= 100),
    temper=st.sampled_from([1, 2]),
    zeros=st.sampled_from([0, 5]),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_law_of_any_tree_is_floor_2s(seed: int, design: TreeDesign, temper: int, zeros: int) -> None:
    laws_agree(seed, design, temper, zeros)


def laws_agree(seed: int, design: TreeDesign, temper: int, zeros: int) -> None:
    exactly = random_model(4, seed, largest=997, zeros=zeros)  # no ties but those of zeros
    model = temper_model(exactly, temper) if temper > 1 else exactly
    expected = law_of(lambda chance: names(tuple(build_then_prune(chance, model, (), design))))

    def run(chance: Any) -> Any:
        table = TableSteps(exactly)
        rows = RowSettings(1 / temper, support=4)
        return names(batched_tree(Rows(chance), design, rows, torch.arange(4), 4, table.root(), table.step).tree)

    found = law_of(run)
    assert found.keys() == expected.keys()
    for tree, probability in expected.items():
        assert float(found[tree]) == pytest.approx(float(probability), abs=1e-12)


def test_a_truncated_draft_is_sampled_from_as_it_is_cut() -> None:
    exactly = random_model(5, 3, largest=997)
    design = TreeDesign(lead=1, pool=3, beam=2, depth=2, budget=6)
    expected = law_of(lambda chance: names(tuple(build_then_prune(chance, truncate_sampling(exactly, 3), (), design))))

    def run(chance: Any) -> Any:
        table = TableSteps(exactly)
        rows = RowSettings(support=3)
        return names(batched_tree(Rows(chance), design, rows, torch.arange(5), 5, table.root(), table.step).tree)

    found = law_of(run)
    assert found.keys() == expected.keys()
    assert all(float(found[it]) == pytest.approx(float(expected[it]), abs=1e-12) for it in expected)


class Recording(TorchChance):
    """Remembers what was drawn at which path, when pools are asked one by one."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.path: Path = ()
        self.drawn: dict[Path, int] = {}

    def choose(self, weights: Any) -> int:
        self.drawn[self.path] = super().choose(weights)
        return self.drawn[self.path]


class Played:
    """Answers a batch with what was drawn at its paths; beyond the end where nothing was."""

    def __init__(self, drawn: dict[Path, int], lead: int, paths: Callable[[], list[Path]]) -> None:
        self.drawn, self.lead, self.paths = drawn, lead, paths

    def choose_rows(self, cumulative: torch.Tensor) -> torch.Tensor:
        paths = self.paths()
        assert len(paths) == len(cumulative)
        return torch.tensor([self.drawn.get(path, cumulative.shape[1] + self.lead) - self.lead for path in paths])


class Followed:
    """A head's steps, with the paths of the last one."""

    def __init__(self, state: HeadState, spoil: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.state, self.spoil, self.paths = state, spoil, [()]

    def root(self) -> torch.Tensor:
        self.paths: list[Path] = [()]
        return self.spoil(self.state.root())

    def step(self, tokens: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        at = zip(tokens.tolist(), parents.tolist(), strict=True)
        self.paths = [(*self.paths[parent], token) for token, parent in at]
        return self.spoil(self.state.step(tokens, parents))


def _coarse(logits: torch.Tensor) -> torch.Tensor:
    return logits.round()  # ties within rows


def _steps(logits: torch.Tensor) -> torch.Tensor:
    """Every row's values are powers of two over one sum: scores tie exactly, and only the order of slots can decide."""
    return -(logits.argsort(-1).argsort(-1)).double() * math.log(2)


@pytest.mark.parametrize("m", [0, 1, 2, 5, 7])
@pytest.mark.parametrize(
    ("temperature", "support", "spoil"),
    [(1.0, 32, None), (1.0, 9, _coarse), (1.0, 32, _steps), (0.7, 32, _coarse), (0.0, 32, None), (0.003, 48, _coarse)],
)
def test_the_same_nodes_given_the_same_draws(
    monkeypatch: pytest.MonkeyPatch, m: int, temperature: float, support: int, spoil: Any
) -> None:
    budget = 50 if spoil is _steps else 17
    design = TreeDesign(lead=m, pool=5, beam=4, depth=4, budget=budget, epsilon=exact("1/100"))
    live = TorchDecoding(
        random_pair(), design, in_one_draw(layer_rule("rheo")), TorchChance(m), RowSettings(temperature, support)
    )
    live.start((0, 5, 17, 3, 3, 80))
    close = 1e-4 if spoil is None else 1e-12  # the batch has its rows in another order: another rounding
    pool_at: Any = torch_decoding.pool_at  # type: ignore[attr-defined]
    for seed in range(6):
        chance = Recording(seed)

        def asked(model: Model, path: Path, design: TreeDesign, chance: Recording = chance) -> Any:
            chance.path = path
            return pool_at(model, path, design)

        monkeypatch.setattr(torch_decoding, "pool_at", asked)
        followed = Followed(live.head_state, spoil or (lambda logits: logits))
        live.chance, state = chance, live.head_state
        live.head_state = followed  # type: ignore[assignment]
        slow = live.draft_by_nodes()
        played = Played(chance.drawn, m, lambda followed=followed: followed.paths)  # type: ignore[misc]
        live.chance = played  # type: ignore[assignment]
        fast = live.draft()
        live.head_state, live.chance = state, TorchChance(seed)
        assert names(fast.tree) == names(slow.tree)
        row = torch.zeros(96, dtype=torch.float64)
        for left, right in zip(fast.tree, slow.tree, strict=True):
            assert left.score == pytest.approx(right.score, rel=close)
            assert (left.law is None) == (right.law is None)
            if left.law is not None:
                found, expected = (torch_decoding_law(it.law, row) for it in (left, right))
                assert torch.allclose(found, expected, rtol=close, atol=1e-300)
            ours, theirs = fast.rows(left.tokens[:-1]), slow.rows(left.tokens[:-1])
            assert ours is not None
            assert theirs is not None
            assert ours[0].tokens == theirs[0].tokens
            assert np.allclose(ours[1].values, theirs[1].values, rtol=close)
        assert fast.rows((1, 2, 3, 4, 5, 6)) is None
        live.cycle()


def torch_decoding_law(law: Any, row: torch.Tensor) -> torch.Tensor:
    from rheo_verify.probability.arrays import law_array

    found: torch.Tensor = law_array(law, row)
    assert float(found.sum()) == pytest.approx(1)
    return found


@pytest.mark.parametrize("name", ["proxy", "ties", "verification"])
def test_other_designs_go_node_by_node(name: str) -> None:
    other: dict[str, Any] = {"proxy": "raw", "ties": "token", "verification": "ranking"}
    design = TreeDesign(lead=1, pool=4, beam=2, depth=2, budget=6, **{name: other[name]})
    assert not covers(design)
    rule = in_one_draw(layer_rule("rheo"))
    live = TorchDecoding(random_pair(), design, rule, TorchChance(0), RowSettings(support=32))
    live.start((0, 5, 17))
    assert len(live.draft().tree) == 6


class FixedUniforms:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def random(self, shape: tuple[int, int]) -> Any:
        return np.resize(np.array(self.values), shape)


def test_rows_are_drawn_as_one_row_is() -> None:
    weights = torch.tensor(
        [[0.0, 2.0, 0.0, 1.0, 0.0], [3.0, 0.0, 0.0, 0.0, 1e-9], [0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]],
        dtype=torch.float64,
    )
    for u, expected in (
        (0.0, [1, 0, 5, 0]),
        (0.5, [1, 0, 5, 2]),
        (0.7, [3, 0, 5, 3]),
        (1 - 2.0**-53, [3, 4, 5, 4]),
    ):
        chance = TorchChance(0)
        chance.generator = FixedUniforms([u])  # type: ignore[assignment]
        assert chance.choose_rows(weights.cumsum(-1)).tolist() == expected


def test_rows_follow_their_laws() -> None:
    weights = torch.tensor([[1.0, 2.0, 0.0, 1.0], [0.0, 5.0, 5.0, 0.0]], dtype=torch.float64).repeat(3000, 1)
    chance = TorchChance(1)
    drawn = torch.cat([chance.choose_rows(part.cumsum(-1)) for part in weights.split(700)])
    first = np.bincount(drawn[0::2], minlength=4) / 3000
    second = np.bincount(drawn[1::2], minlength=4) / 3000
    assert np.allclose(first, [0.25, 0.5, 0, 0.25], atol=0.035)  # four deviations of a binomial
    assert np.allclose(second, [0, 0.5, 0.5, 0], atol=0.035)
    # neighbouring draws are independent: no numbers are used twice
    both = np.mean((drawn[0::2] == 1).numpy() & (drawn[1::2] == 1).numpy())
    assert both == pytest.approx(0.25, abs=0.035)


def test_logits_that_are_not_numbers() -> None:
    design = TreeDesign(lead=1, pool=3, beam=2, depth=2, budget=4)
    root = torch.zeros(1, 8)

    def step(tokens: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        return torch.full((len(tokens), 8), torch.nan)

    with pytest.raises(InputError, match=r"RV608.*head"):
        batched_tree(TorchChance(0), design, RowSettings(support=8), torch.arange(8), 8, root, step)
