"""Claim cold-limit and temperatures."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.checks.per_cycle import cycle, top_k_design
from rheo_verify.checks.temperature import at_temperature, cold_limit, cold_model, greedy_limit
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError
from rheo_verify.models.model import context_free
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.distributions import distribution


@given(st.integers(0, 500), st.integers(0, 2), st.integers(1, 8))
def test_the_claim_holds(seed, lead, budget):
    model = random_model(5, seed, zeros=2)
    found = cold_limit(model, (), TreeDesign(lead=lead, budget=budget))
    assert found.verdict is Verdict.VERIFIED
    if lead == 0:
        assert found.same_tree


def test_another_tree_for_m_1():
    """With q = (1/2, 1/4, 1/4): the proxy min(q(x1), z) = 1/2 lets the sampled x2 outrank what lies below x1."""
    row = distribution([2, 1, 1])
    found = cold_limit(context_free(row, row), (), TreeDesign(lead=1, depth=2, budget=6))
    assert found.verdict is Verdict.VERIFIED
    assert not found.same_tree


def test_a_broken_limit_is_seen():
    row = distribution([2, 1, 1])
    found = cold_limit(context_free(row, row), (), TreeDesign(lead=1, depth=2, budget=6))
    assert replace(found, lead=0).verdict is Verdict.REFUTED
    assert replace(found, one_hot_draft=found.tree).verdict is Verdict.REFUTED


def test_no_sampled_slot_no_limit():
    with pytest.raises(InputError, match="RV106"):
        cold_limit(random_model(4, 0), (), TreeDesign(lead=3, pool=3))


def test_inverse_integers_are_exact():
    row = distribution([3, 2, 1])
    model = context_free(row, row)
    found = at_temperature(model, Fraction(1, 2))
    assert found.exact
    assert found.model.target(()) == distribution([9, 4, 1])
    assert found.model.sampling_draft(()) == distribution([9, 4, 1])
    assert found.model.draft(()) == row


@pytest.mark.parametrize("temperature", [Fraction(1, 2), Fraction(1, 3), Fraction(1)])
def test_float_powers_are_near_the_exact_ones(temperature):
    model = random_model(5, 1)
    exact = at_temperature(model, temperature)
    near = at_temperature(model, temperature + Fraction(1, 10**9))
    assert exact.exact
    assert not near.exact
    for a, b in zip(exact.model.target(()), near.model.target(()), strict=True):
        assert float(a) == pytest.approx(float(b), abs=1e-7)


@pytest.mark.parametrize("seed", [3, 15])
@pytest.mark.parametrize("lead", [0, 1, 2])
def test_the_limit_is_approached(seed, lead):
    model = random_model(4, seed)
    design = TreeDesign(lead=lead, beam=1, depth=2, budget=6)
    limit = cycle(cold_model(model, lead), (), design, "rheo").tokens_per_cycle
    cold = cycle(at_temperature(model, Fraction(1, 200)).model, (), design, "rheo").tokens_per_cycle
    assert float(cold) == pytest.approx(float(limit), abs=1e-6)


def test_m_0_meets_top_k_in_the_cold():
    model = random_model(5, 2)
    design = TreeDesign(lead=0)
    plain = cycle(cold_model(model, 0), (), top_k_design(design, 5), "topk")
    assert cycle(cold_model(model, 0), (), design, "rheo").tokens_per_cycle == plain.tokens_per_cycle


def test_ties_share_the_limit():
    assert greedy_limit(distribution([2, 2, 1])) == distribution([1, 1, 0])


@pytest.mark.parametrize("temperature", [Fraction(0), Fraction(-1), Fraction(1, 1001), Fraction(1001)])
def test_temperatures_out_of_range_are_refused(temperature):
    with pytest.raises(InputError, match="RV106"):
        at_temperature(random_model(3, 0), temperature)
