"""The ways of drafting by themselves: what they draw, in which order, from which law, and what they plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.drafting.delayed_expansion import DelayedExpansion
from rheo_verify.drafting.domino_tree import DominoTree
from rheo_verify.drafting.frozen_tree import frozen
from rheo_verify.drafting.hub import HUB
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.jetspec import JetSpec
from rheo_verify.drafting.medusa import MedusaHeads
from rheo_verify.drafting.opt_tree import OptTree
from rheo_verify.drafting.parallel_rows import parallel_rows
from rheo_verify.drafting.sequoia import best_shape
from rheo_verify.drafting.shapes import LEAF, Shape, chain, depth_of, paths, shape_of, size, uniform
from rheo_verify.drafting.siblings import Siblings
from rheo_verify.drafting.top import TOP
from rheo_verify.drafting.top_and_sampled import TOP_AND_SAMPLED
from rheo_verify.drafting.tree import Tree
from rheo_verify.drafting.treespark import TreeSpark
from rheo_verify.drafting.tsubame import replayed_tree
from rheo_verify.drafting.two_stage import TWO_STAGE
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.errors import InputError
from rheo_verify.models.model import Model
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.enumeration import enumerate_paths, law_of
from rheo_verify.probability.rationals import exact, total
from rheo_verify.probability.sampling import SampleChance

from .instances import models

MODEL = random_model(4, 0)
FEW = settings(max_examples=15, deadline=None, derandomize=True)


def drawn(siblings: Siblings, draft: list[int], sampling: list[int], count: int) -> dict[tuple[int, ...], str]:
    q, q_hat = distribution(draft), distribution(sampling)
    law = law_of(lambda chance: tuple(token for token, _ in siblings.draw(chance, q, q_hat, count)))
    return {tokens: str(p) for tokens, p in law.items()}


def test_sibling_laws_by_hand() -> None:
    assert drawn(IID, [1, 1], [3, 1], 2) == {(0, 0): "9/16", (0, 1): "3/16", (1, 0): "3/16", (1, 1): "1/16"}
    assert drawn(WITHOUT_REPLACEMENT, [1, 1, 1], [2, 1, 1], 2)[0, 1] == "1/4"
    assert drawn(WITHOUT_REPLACEMENT, [1, 1], [1, 0], 2) == {(0,): "1"}
    assert drawn(TOP, [1, 3, 2], [5, 1, 1], 2) == {(1, 2): "1"}
    assert drawn(TOP_AND_SAMPLED, [1, 1, 1], [5, 3, 2], 2) == {(0, 1): "3/5", (0, 2): "2/5"}
    assert drawn(HUB, [1, 1, 1], [2, 1, 1], 2) == {(0, 1): "1/4", (0, 2): "1/4", (1, 0): "1/4", (2, 0): "1/4"}
    assert drawn(HUB, [1, 1], [1, 0], 2) == {(0,): "1"}
    # q1 = (1/2, 1/2), q2 = (3, 1)^2 / 10 = (9/10, 1/10): token 1 is thought less of, and replaced by 0
    assert drawn(TWO_STAGE, [1, 1], [3, 1], 2) == {(0,): "1/2", (1, 0): "1/2"}


@pytest.mark.parametrize("siblings", [HUB, TWO_STAGE], ids=lambda siblings: siblings.name)
def test_pairs_only(siblings: Siblings) -> None:
    with pytest.raises(InputError, match="RV106"):
        drawn(siblings, [1, 1], [1, 1], 3)


@FEW
@given(model=models(), shape=st.sampled_from([chain(2), uniform(2, 2), paths(2, 2), (LEAF, (LEAF,))]))
def test_a_frozen_tree_states_the_laws_it_draws_from(model: Model, shape: Shape) -> None:
    tree = tuple(frozen(shape, IID)(SampleChance(0), model, ()))
    assert shape_of(node.slots for node in tree) == shape
    assert all(node.law == model.sampling_draft(node.tokens[:-1]) for node in tree)
    assert len(tree) == size(shape)
    assert max(node.depth for node in tree) == depth_of(shape)


def shapes(nodes: int, depth: int, children: int) -> Iterator[Shape]:
    """Every shape of at most so many nodes below the root, by brute force."""
    if depth == 0 or children == 0 or nodes == 0:
        yield LEAF
        return
    yield LEAF
    for first in range(1, nodes + 1):
        for head in shapes(first - 1, depth - 1, 3):
            if size(head) == first - 1:
                for tail in shapes(nodes - first, depth, children - 1):
                    yield (head, *tail)


def expected_length(shape: Shape, rates: tuple) -> object:
    return 1 + sum(rate * expected_length(child, rates) for rate, child in zip(rates, shape, strict=False))


@pytest.mark.parametrize("rates", [("3/5", "1/5", "1/10"), ("1/2", "1/2", "1/2"), ("9/10", "1/20", "1/40")])
@pytest.mark.parametrize(("nodes", "depth"), [(1, 1), (3, 2), (5, 2), (5, 3), (6, 4)])
def test_sequoias_plan_is_the_best_of_all_shapes(rates: tuple[str, ...], nodes: int, depth: int) -> None:
    values = tuple(map(exact, rates))
    expected, shape = best_shape(values, nodes, depth)
    assert size(shape) <= nodes
    assert depth_of(shape) <= depth
    assert expected == expected_length(shape, values)
    assert expected == max(expected_length(other, values) for other in shapes(nodes, depth, 3))


def test_parallel_rows_are_marginals() -> None:
    first, second = parallel_rows(MODEL, (2,), 2)
    assert first == MODEL.draft((2,))
    for token in range(4):
        assert second[token] == total(first[x] * MODEL.draft((2, x))[token] for x in range(4))


def tree_of(draft: object, model: Model = MODEL) -> Tree:
    """The tree of a drafting that makes no choices."""
    (path,) = enumerate_paths(lambda chance: tuple(draft(chance, model, ())))  # type: ignore[operator]
    return path.result


def test_opt_tree_keeps_the_best_of_all_paths() -> None:
    """With as many nodes as there are tokens, no path outside the grown layers can be better."""
    tree = tree_of(OptTree(4, 2))
    weights = {(x,): MODEL.draft(())[x] for x in range(4)}
    weights |= {(x, y): MODEL.draft(())[x] * MODEL.draft((x,))[y] for x, y in product(range(4), repeat=2)}
    assert sorted((node.score for node in tree), reverse=True) == sorted(weights.values(), reverse=True)[:4]
    assert all(weights[node.tokens] == node.score for node in tree)


def test_opt_tree_stops_when_the_next_layer_does_not_pay() -> None:
    certain = random_model(3, 1)
    assert max(node.depth for node in tree_of(OptTree(3, 5, exact(2)), certain)) == 1
    assert max(node.depth for node in tree_of(OptTree(3, 3), certain)) > 1


def test_jetspec_gives_all_parents_the_same_list() -> None:
    tree = tree_of(JetSpec(2, 2, 6))
    assert len(tree) == 6
    second = {node.tokens[:-1]: [] for node in tree if node.depth == 2}
    for node in tree:
        if node.depth == 2:
            second[node.tokens[:-1]].append(node.token)
    rows = parallel_rows(MODEL, (), 2)
    best = sorted(range(4), key=lambda token: (-rows[1][token], token))[:2]
    assert list(second.values()) == [best, best]


def test_domino_tree_pops_by_decreasing_score() -> None:
    scores = [node.score for node in tree_of(DominoTree(2, 3, 6))]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 6


def test_medusa_heads_make_a_full_tree() -> None:
    tree = tree_of(MedusaHeads((2, 3)))
    assert shape_of(node.slots for node in tree) == ((LEAF,) * 3,) * 2


def test_tsubame_replays_the_shape_of_the_best_nodes() -> None:
    draft = replayed_tree(2, 2, 4, WITHOUT_REPLACEMENT)
    shape = draft.shape(MODEL, ())
    assert size(shape) == 4
    for seed in range(5):
        assert shape_of(node.slots for node in draft(SampleChance(seed), MODEL, ())) == shape
    assert {draft.shape(MODEL, (x, y)) for x, y in product(range(4), repeat=2)} > {shape}


def test_delayed_expansion_merges_equal_prefixes_and_keeps_multiplicity() -> None:
    """Two paths (2, 0, 2): when they share x, both copies of x lead to both continuations."""
    for path in enumerate_paths(lambda chance: tuple(DelayedExpansion(2, 0, 2)(chance, random_model(2, 0), ()))):
        tops = [node for node in path.result if node.depth == 1]
        below = {top.slots: [n.token for n in path.result if n.slots[:-1] == top.slots] for top in tops}
        assert len(tops) == 2
        if tops[0].token == tops[1].token:
            assert below[1,] == below[2,]
            assert len(below[1,]) == 2
        else:
            assert [len(children) for children in below.values()] == [1, 1]


@FEW
@given(model=models(), threshold=st.sampled_from(["0", "1/10", "3/10"]))
def test_treespark_stops_at_its_threshold_and_caps(model: Model, threshold: str) -> None:
    low = exact(threshold)
    for path in enumerate_paths(lambda chance: tuple(TreeSpark(low, 3, 2, 2)(chance, model, ()))):
        tree = path.result
        assert len(tree) <= 3
        assert all(node.slots[-1] <= 2 and node.depth <= 2 for node in tree)
        parents = {(): exact(1)} | {node.slots: node.score for node in tree}
        assert all(parents[node.slots[:-1]] >= low for node in tree)
