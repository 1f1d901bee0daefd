"""Claim optimal-acceptance: flow = cut = closed form, certificates, and the plan run as a rule."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.checks import optimal
from rheo_verify.checks.acceptance import (
    Layer,
    candidate_sets,
    draws,
    emitted_law,
    enumerated_rate,
    largest_gap,
    layer_rates,
    widest_layer,
)
from rheo_verify.checks.optimal import Optimum, cut_value, largest_flow, optimal_acceptance, optimal_rule, smallest_cut
from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError
from rheo_verify.probability.arrays import row_array
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.enumeration import law_of
from rheo_verify.probability.laws import collect
from rheo_verify.verification.layer import exact_law
from rheo_verify.verification.optimal_transport import Plan, optimal_transport
from tests.acceptance.acceptance_strategies import layers, rows


def every_cut(target, sets):
    """The slow twin of `smallest_cut`: all token sets, one after another."""
    choices = product((False, True), repeat=len(target))
    return min(cut_value(target, sets, frozenset(v for v, chosen in enumerate(c) if chosen)) for c in choices)


@st.composite
def laws_of_sets(draw):
    """Any law of candidate sets, not only a pool's."""
    vocab = draw(st.integers(1, 5))
    sets = draw(st.lists(st.frozensets(st.integers(0, vocab - 1), max_size=3), min_size=1, max_size=5, unique=True))
    weights = draw(st.lists(st.integers(1, 5), min_size=len(sets), max_size=len(sets)))
    law = collect(zip(sets, (Fraction(w, sum(weights)) for w in weights), strict=True))
    return draw(rows(vocab)), law


@given(layers())
def test_flow_cut_and_closed_form_agree(layer):
    best = optimal_acceptance(layer)
    assert best.rate == layer_rates(layer).optimal == every_cut(layer.target, candidate_sets(layer))
    assert best.verdict() is Verdict.VERIFIED


@given(layers())
def test_candidate_sets_are_those_of_the_pool(layer):
    drawn = ((frozenset(c.token for c in candidates), probability) for probability, candidates in draws(layer))
    assert candidate_sets(layer) == collect(drawn)


@given(laws_of_sets())
def test_flow_equals_cut_for_any_law_of_sets(given_law):
    target, sets = given_law
    best = largest_flow(target, sets)
    assert best.verdict() is Verdict.VERIFIED
    value, cut = smallest_cut(target, sets)
    assert value == best.rate == every_cut(target, sets) == cut_value(target, sets, cut)


def test_large_denominators_are_exact():
    p = tuple(Fraction(n, 10**30 + 57) for n in (10**30, 50, 7))
    sets = {frozenset({0, 1}): Fraction(1, 3**50), frozenset({2}): 1 - Fraction(1, 3**50)}
    best = largest_flow(p, sets)
    assert best.rate == Fraction(1, 3**50) + Fraction(7, 10**30 + 57)
    assert best.verdict() is Verdict.VERIFIED


@given(layers())
def test_the_cut_that_the_flow_leaves_is_a_certificate_too(layer):
    largest, optimal.LARGEST_ZETA = optimal.LARGEST_ZETA, 0
    try:
        assert optimal_acceptance(layer).verdict() is Verdict.VERIFIED
    finally:
        optimal.LARGEST_ZETA = largest


@given(layers())
def test_the_plan_as_a_rule_is_lossless_and_accepts_the_flow(layer):
    best = optimal_acceptance(layer)
    rule = optimal_transport(lambda *_: best.plan)
    assert emitted_law(layer, rule) == layer.target
    assert enumerated_rate(layer, rule) == best.rate == best.plan.accepted


@given(layers(largest=4))
def test_both_faces_of_the_rule_agree(layer):
    rule = optimal_transport(lambda *_: optimal_acceptance(layer).plan)
    for _, candidates in draws(layer):
        tokens = [candidate.token for candidate in candidates]
        law = exact_law(rule, layer.target, tokens, [None] * len(tokens))
        steps = law_of(
            lambda chance, tokens=tokens: rule.verify(chance, row_array(layer.target), tokens, [None] * len(tokens))
        )
        assert {(o.token, o.accepted): p for o, p in steps.items()} == {
            **{(t, i): p for i, (t, p) in enumerate(zip(tokens, law.accept, strict=True)) if p},
            **{(v, None): p for v, p in enumerate(law.residual) if p},
        }


@given(layers(own_sampling=False))
def test_the_rule_that_plans_by_itself_finds_the_same_optimum(layer):
    rule = optimal_rule()
    assert emitted_law(layer, rule) == layer.target
    assert enumerated_rate(layer, rule) == layer_rates(layer).optimal


def test_a_fill_that_q_tilde_would_not_rank_is_refused():
    row = distribution([1, 1, 1, 1])
    layer = Layer(row, distribution([4, 3, 2, 1]), distribution([4, 1, 2, 3]), 1, 3)
    with pytest.raises(InputError, match="RV502"):
        emitted_law(layer, optimal_rule())


def test_a_set_without_a_plan_is_refused():
    half = Fraction(1, 2)
    plan = Plan({frozenset({0}): 1}, {frozenset({0}): {0: half}}, (Fraction(0), half))
    with pytest.raises(InputError, match=r"RV501.*\{1\}.*\{0\}"):
        plan.weights([1])


def test_only_exact_single_rows_are_served():
    rule = optimal_rule()
    with pytest.raises(InputError, match="RV502"):
        rule.law(row_array([1, 0]).astype(float), row_array([0]), [None])


def test_sets_that_do_not_sum_to_one_are_refused():
    with pytest.raises(InputError, match="RV102"):
        largest_flow(distribution([1, 1]), {frozenset({0}): Fraction(1, 2)})
    with pytest.raises(InputError, match="RV106"):
        largest_flow(distribution([1, 1]), {frozenset({2}): Fraction(1)})


def wrong_certificates():
    layer = Layer(distribution([1, 2, 0]), distribution([1, 1, 1]), distribution([1, 1, 1]), 0, 2)
    best = optimal_acceptance(layer)
    plan, third = best.plan, Fraction(1, 3)
    emptied = {chosen: {} for chosen in plan.flow}
    more = {chosen: {v: x + third for v, x in flows.items()} for chosen, flows in plan.flow.items()}
    yield Optimum(best.target, best.rate, best.plan, frozenset({0, 1}) if best.cut != {0, 1} else frozenset({1}))
    yield Optimum(best.target, best.rate - third, best.plan, best.cut)
    yield Optimum(best.target, best.rate, Plan(plan.sets, emptied, plan.residual), best.cut)
    yield Optimum(best.target, best.rate, Plan(plan.sets, more, plan.residual), best.cut)
    yield Optimum(best.target, best.rate, Plan(plan.sets, plan.flow, tuple(x + third for x in plan.residual)), best.cut)


@pytest.mark.parametrize("wrong", list(wrong_certificates()))
def test_wrong_certificates_are_refused(wrong):
    assert wrong.verdict() is Verdict.REFUTED


def test_two_rules_side_by_side_where_the_gap_is_largest():
    """V = 3: rheo accepts 2/3 where 1 is possible (docs/explanation/acceptance.md)."""
    uniform = distribution([1, 1, 1])
    rates = layer_rates(Layer(distribution([1, 2, 0]), uniform, uniform, 0, 2))
    assert (rates.rheo, rates.optimal) == (Fraction(2, 3), 1)


@given(layers(own_sampling=False))
def test_the_gap_is_at_most_the_largest(layer):
    rates = layer_rates(layer)
    assert rates.optimal - rates.rheo <= largest_gap(len(layer.target), layer.lead, layer.candidates) < Fraction(1, 2)


@pytest.mark.parametrize(
    ("vocab", "lead", "candidates"),
    [(v, m, n) for v in range(2, 9) for m in range(v - 1) for n in range(m + 2, v + 1)],
)
def test_the_largest_gap_is_reached(vocab, lead, candidates):
    rates = layer_rates(widest_layer(vocab, lead, candidates))
    assert rates.optimal - rates.rheo == largest_gap(vocab, lead, candidates)


def test_no_gap_without_a_stand_in():
    assert largest_gap(5, 2, 3) == largest_gap(5, 4, 3) == largest_gap(5, 2, 5) == 0
    with pytest.raises(InputError, match="RV106"):
        widest_layer(4, 1, 2)
