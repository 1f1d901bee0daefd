"""Small cases worked out by hand: thresholds at equality, shapes, certain drafts."""

from __future__ import annotations

from typing import Any

import pytest

from rheo_verify.checks.cycle_law import CycleLaws
from rheo_verify.checks.decoders import optimum_at_root
from rheo_verify.checks.optimal import smallest_cut
from rheo_verify.decoders.decoder import Decoder
from rheo_verify.decoders.registry import REGISTRY
from rheo_verify.drafting.frozen_tree import FrozenTree, frozen
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.shapes import LEAF, chain, uniform
from rheo_verify.drafting.tree import Node
from rheo_verify.drafting.treespark import TreeSpark
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.models.model import context_free
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.enumeration import enumerate_paths, law_of
from rheo_verify.probability.rationals import ONE, exact, total
from rheo_verify.verification import block_verification, recursive_rejection
from rheo_verify.verification.average import average_by_enumeration
from rheo_verify.verification.best_plan import best_plan
from rheo_verify.verification.lenient import lenient
from rheo_verify.verification.medusa import typical
from rheo_verify.verification.transport_rules import candidate_sets, of_siblings

MODEL = random_model(4, 0)


@pytest.mark.parametrize(("threshold", "nodes"), [("3/8", 2), ("3/4", 1), ("19/25", 0)])
def test_treespark_reveals_down_to_its_threshold(threshold: str, nodes: int) -> None:
    """Q = (3/4, 1/4): the root's slot has priority 3/4, the one below A 9/16, the one below B 3/16."""
    model = context_free(distribution([1, 1]), distribution([3, 1]))
    drafting = TreeSpark(exact(threshold), 9, 1, 2)
    sizes = [len(path.result) for path in enumerate_paths(lambda chance: tuple(drafting(chance, model, ())))]
    assert max(sizes) == nodes


def test_the_tables_treespark_stops_below_a_tenth() -> None:
    """Eight equal tokens have priority 1/8, eleven 1/11."""
    decoder = REGISTRY["treespark"].make(1)
    for vocab, some in ((8, True), (11, False)):
        model = context_free(distribution([1] * vocab), distribution([1] * vocab))
        first = next(enumerate_paths(lambda chance: tuple(decoder.draft(chance, model, ()))))  # noqa: B023
        assert bool(first.result) == some


@pytest.mark.parametrize(
    ("epsilon", "delta", "accepted"), [("1/2", "1", 0), ("49/100", "1", 1), ("1/2", "99/100", 1), ("1", "1", 0)]
)
def test_typical_acceptance_is_strict(epsilon: str, delta: str, accepted: int) -> None:
    """P = (1/2, 1/2): p(x) is 1/2 and exp(-H) is 1/2."""
    model = context_free(distribution([1, 1]), distribution([1, 1]))
    tree = (Node((1,), (0,), "lead", ONE, None),)
    law = typical(exact(epsilon), exact(delta)).law(model, (), tree)
    assert {len(tokens) - 1 for tokens in law} == {accepted}


@pytest.mark.parametrize("siblings", [IID, WITHOUT_REPLACEMENT], ids=lambda siblings: siblings.name)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_plan_is_of_the_number_of_drafts(siblings, count: int) -> None:
    target, sampling = MODEL.target((1,)), MODEL.sampling_draft((1,))
    sets = candidate_sets(siblings, sampling, sampling, count)
    assert max(map(len, sets)) == count
    plan = best_plan(target, sets)
    assert set(plan.flow) == set(sets)
    assert all(set(flows) <= chosen for chosen, flows in plan.flow.items())
    found = average_by_enumeration(of_siblings(siblings), siblings, target, sampling, sampling, count)
    assert sum(map(sum, found.descend)) == smallest_cut(target, sets)[0] * found.scale


def test_the_optimum_is_of_the_shape_at_the_root() -> None:
    p, q = distribution([1, 1, 1, 1, 8]), distribution([8, 8, 8, 8, 1])
    model = context_free(p, q)

    def optimum(shape: tuple) -> Any:
        decoder = Decoder("x", frozen(shape, WITHOUT_REPLACEMENT), recursive_rejection.RULE)
        return optimum_at_root(decoder, model, (2,))

    assert optimum(LEAF) is None
    assert optimum(chain(3)) == total(min(here, there) for here, there in zip(p, q, strict=True))
    assert optimum(uniform(1, 2)) < optimum(uniform(2, 2)) < optimum(uniform(3, 2)) < optimum(uniform(4, 2)) < 1
    for count in (2, 3, 4):
        assert optimum(uniform(count, 2)) == smallest_cut(p, candidate_sets(WITHOUT_REPLACEMENT, q, q, count))[0]
    by_context = FrozenTree(lambda model, context: (LEAF,) * len(context), WITHOUT_REPLACEMENT)
    assert optimum_at_root(Decoder("x", by_context, recursive_rejection.RULE), model, (2,)) == optimum(chain(1))


def test_greedy_accepts_the_drafts_best_token_as_often_as_the_target_draws_it() -> None:
    """q-hat's best token is another one, and does not matter."""
    model = context_free(distribution([2, 3, 5]), distribution([1, 5, 4]), distribution([1, 1, 8]))
    emission = CycleLaws(REGISTRY["greedy-draft"].make(2), model).at(())
    assert emission.accepted_by_depth == (exact("3/10"), exact("9/100"))
    assert emission.law[1, 1, 2] == exact("9/200")
    assert (1,) not in emission.law
    assert emission.law[0,] == exact("2/10")


def test_the_law_of_a_lenient_draft() -> None:
    """P = (1/2, 1/2), q = (3/4, 1/4), l = 5/4: A is accepted with 5/6, B always; a rejected A becomes B."""
    target, draft = distribution([1, 1]), distribution([3, 1])
    found = average_by_enumeration(lenient(exact("5/4")), IID, target, draft, draft, 1)
    accept, stop = ([exact(value) / found.scale for value in row] for row in (found.descend[0], found.stop))
    assert accept == [exact("5/8"), exact("1/4")]
    assert stop == [0, exact("1/8")]


def test_block_verification_where_its_coin_is_nothing_out_of_nothing() -> None:
    """P = q on the way: a = 1 and Z = 0, and all is accepted."""
    same = context_free(distribution([1, 2]), distribution([1, 2]))
    decoder = REGISTRY["block-verification"].make(2)
    assert CycleLaws(decoder, same).at(()).accepted_by_depth == (1, 1)
    for path in enumerate_paths(lambda chance: tuple(decoder.draft(chance, same, ()))):
        steps = law_of(lambda chance: block_verification.verify(chance, same, (), path.result))  # noqa: B023
        assert block_verification.law(same, (), path.result) == steps
