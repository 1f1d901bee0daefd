"""Every lossy decoder is refuted, for the right reason; and faults planted by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.checks.adapted_growth import _Judge, _token_steps, adapted_growth
from rheo_verify.checks.cycle_law import CycleLaws
from rheo_verify.checks.decoders import evaluate, total_variation_by_lenience
from rheo_verify.checks.emission import compare
from rheo_verify.checks.verdict import Verdict
from rheo_verify.decoders.decoder import Decoder, Draft
from rheo_verify.decoders.registry import REGISTRY
from rheo_verify.drafting.frozen_tree import frozen
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.shapes import LEAF, chain, paths
from rheo_verify.drafting.tree import Node, Tree
from rheo_verify.drafting.treespark import Fault, TreeSpark
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.models.model import Context, Model, context_free
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE, exact, total
from rheo_verify.verification import recursive_rejection, sampler_match, traversal_verification
from rheo_verify.verification.spectr import bracket

from .instances import models

BLAME = {
    "lenient": "rule",
    "rheosampling-ad-hoc": "slot",
    "raw-score-tree": "slot",
    "token-ties": "slot",
    "pruned-transport": "rule",
    "treespark-drawn": "slot",
    "treespark-dropped": "slot",
    "treespark-pruned": "slot",
    "treespark-sorted": "slot",
    "domino-tree-rejection": "slot",
    "traversal-deepest-first": "rule",
    "spectr-lower-end": "rule",
    "medusa-typical": "rule",
    "medusa-nucleus": "rule",
}


def test_every_lossy_decoder_has_its_blame() -> None:
    assert set(BLAME) == {entry.name for entry in REGISTRY.values() if not entry.lossless}


@pytest.mark.parametrize("name", sorted(BLAME))
def test_refuted_and_blamed_on_another_model(name: str) -> None:
    """On a model that the decoders' parameters were not chosen for."""
    row = evaluate(REGISTRY[name], random_model(4, 3))
    assert row.verdict is Verdict.REFUTED
    assert row.blame is not None
    assert row.blame.growth is not None
    assert row.blame.growth.culprit == BLAME[name]
    if BLAME[name] == "slot":
        assert row.blame.growth.blamed is not None
        assert row.blame.growth.blamed.distance > 0
    else:
        assert not row.blame.growth.unfaithful


def test_raw_scores_are_blamed_on_the_sampled_slot() -> None:
    row = evaluate(REGISTRY["raw-score-tree"], random_model(4, 0))
    assert row.blame is not None
    assert row.blame.growth is not None
    step = row.blame.growth.blamed
    assert step is not None
    assert (step.slot, step.broken) == ((2,), "emission")


@pytest.mark.parametrize("fault", ["none", "drawn", "pruned"])
def test_treesparks_smallest_instance(fault: Fault) -> None:
    """V = 2, one slot, p = (1/2, 1/2), q = (3/4, 1/4), threshold 3/10: reading the drawn token costs 1/8."""
    model = context_free(distribution([1, 1]), distribution([3, 1]))
    decoder = Decoder("one slot", TreeSpark(exact("3/10"), 1, 1, 1, fault), recursive_rejection.RULE)
    lost = compare(model.target, (), CycleLaws(decoder, model).at(())).total_variation
    assert lost == (exact("1/8") if fault == "drawn" else 0)
    growth = adapted_growth(model, (), decoder)
    assert growth.culprit == ("slot" if fault == "drawn" else None)
    if fault == "drawn":
        assert [dict(step.found) for step in growth.unfaithful] == [{0: 1}]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    model=models(),
    threshold=st.sampled_from(["0", "1/20", "1/6", "3/10"]),
    nodes=st.integers(1, 4),
    branches=st.integers(1, 3),
    tree_rule=st.booleans(),
)
def test_treespark_is_lossless_whatever_its_parameters(
    model: Model, threshold: str, nodes: int, branches: int, tree_rule: bool
) -> None:
    """Also under traversal: its siblings are appended last."""
    rule = traversal_verification.RULE if tree_rule else recursive_rejection.RULE
    decoder = Decoder("treespark", TreeSpark(exact(threshold), nodes, branches, 2), rule)
    assert compare(model.target, (), CycleLaws(decoder, model).at(())).total_variation == 0
    assert adapted_growth(model, (), decoder).verdict is Verdict.VERIFIED


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    model=models(),
    shape=st.sampled_from([chain(3), paths(2, 2), ((LEAF, LEAF),), ((LEAF,), LEAF), (LEAF, LEAF, LEAF)]),
    replacement=st.booleans(),
)
def test_traversal_is_lossless_on_any_frozen_shape(model: Model, shape: tuple, replacement: bool) -> None:
    siblings = IID if replacement else WITHOUT_REPLACEMENT
    decoder = Decoder("traversal", frozen(shape, siblings), traversal_verification.RULE)
    assert compare(model.target, (), CycleLaws(decoder, model).at(())).total_variation == 0


@settings(max_examples=20, deadline=None, derandomize=True)
@given(model=models())
def test_traversal_on_a_chain_is_block_verification(model: Model) -> None:
    chained = Decoder("chain", frozen(chain(3), IID), traversal_verification.RULE)
    assert CycleLaws(chained, model).at(()) == CycleLaws(REGISTRY["block-verification"].make(3), model).at(())


def test_spectr_below_its_bracket_would_need_a_negative_residual() -> None:
    target, draft = distribution([5, 1, 2]), distribution([1, 4, 3])
    low, high = bracket(target, draft, 2)
    assert 1 < low < high < 2

    def smallest_residual(rho: object) -> object:
        common = [min(p / rho, q) for p, q in zip(target, draft, strict=True)]
        beta = total(common)
        accepted = 1 - (1 - beta) ** 2
        return min(p - c * accepted / beta for p, c in zip(target, common, strict=True))

    assert smallest_residual(high) >= 0 > smallest_residual(low)


def test_lenience_costs_more_the_more_it_gives() -> None:
    curve = total_variation_by_lenience(random_model(4, 0))
    assert curve[0] == (1, 0)
    assert all(lower < higher for (_, lower), (_, higher) in itertools.pairwise(curve))


def test_typical_acceptance_compares_exactly() -> None:
    """exp(-H) of a uniform row is 1/n: delta/n is met with equality, which does not pass."""
    from rheo_verify.verification.medusa import is_typical

    row = distribution([1, 1, 1, 1])
    half, one = exact("1/2"), exact(1)
    assert not is_typical(row, 0, half, one)
    assert is_typical(row, 0, half, exact("999/1000"))
    assert is_typical(distribution([3, 1]), 0, exact("1/10"), one)


def test_a_later_twin_in_an_earlier_slot_takes_the_descent() -> None:
    """What is emitted stays, but the first of equal siblings is descended into: the step condition sees both."""

    def draft(chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        yield Node((2,), (0,), "lead", ONE)
        yield Node((1,), (0,), "lead", ONE)

    growth = adapted_growth(random_model(2, 0), (), Decoder("twins", draft, sampler_match.RULE))
    steps = _token_steps(_Judge(random_model(2, 0), (), Decoder("twins", draft, sampler_match.RULE)), trees_of(draft))[
        1
    ]
    assert [(step.slot, step.broken) for step in steps] == [((2,), None), ((1,), "descent")]
    assert growth.by == "family"  # both at once are lossless
    assert growth.verdict is Verdict.VERIFIED


def trees_of(draft: Draft) -> Law[Tree]:
    paths = enumerate_paths(lambda chance: tuple(draft(chance, random_model(2, 0), ())))
    return {path.result: path.probability for path in paths}
