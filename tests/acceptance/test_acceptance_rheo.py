"""Claims acceptance-rheo, acceptance-rrsw, single-draft-rates, top-k-imperfect: closed forms against enumeration."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.checks.acceptance import Layer, emitted_law, enumerated_rate, layer_rates
from rheo_verify.errors import InputError
from rheo_verify.probability.distributions import distribution, one_hot
from tests.acceptance.acceptance_strategies import by_definition, layers, rows

CASES = Path(__file__).parent.parent / "data" / "exact-cases.json"


def case_rates():
    return json.loads(CASES.read_text())["acceptance"]


@pytest.mark.parametrize("case", case_rates(), ids=str)
def test_rates_of_the_independent_brute_force(case):
    target, draft = distribution(case["target"]), distribution(case["draft"])
    rates = layer_rates(Layer(target, draft, draft, case["lead"], case["candidates"]))
    found = {name: str(getattr(rates, name)) for name in ("rheo", "rrsw", "upper_bound", "optimal")}
    assert found == {name: case[name] for name in found}


@given(layers())
def test_closed_forms_are_the_enumerated_rates(layer):
    rates = layer_rates(layer)
    assert rates.rheo == enumerated_rate(layer, "rheo") == by_definition(layer, "rheo")
    assert rates.rrsw == enumerated_rate(layer, "rrsw") == by_definition(layer, "rrsw")
    deterministic = Layer(layer.target, layer.draft, layer.sampling_draft, layer.candidates, layer.candidates)
    assert rates.top_k == enumerated_rate(deterministic, "topk") == layer_rates(deterministic).rheo


@given(layers())
def test_order_of_the_rates(layer):
    rates = layer_rates(layer)
    assert max(rates.rheo, rates.rrsw) <= rates.optimal <= rates.upper_bound <= 1
    if layer.candidates == layer.lead + 1:
        assert rates.rheo == rates.optimal


@given(layers())
def test_every_rule_emits_the_target(layer):
    for rule in ("rheo", "rrsw", "topk"):
        assert emitted_law(layer, rule) == layer.target


@given(st.data())
def test_p_equal_to_q_tilde_is_always_accepted(data):
    vocab = data.draw(st.integers(2, 5))
    draft = data.draw(rows(vocab))
    lead = data.draw(st.integers(0, vocab - 1))
    pool = Layer(draft, draft, draft, lead, data.draw(st.integers(lead + 1, vocab))).pool
    if pool.sampling_law is not None:
        layer = Layer(pool.sampling_law, draft, draft, lead, lead + 1)
        assert layer_rates(layer).rheo == 1 == enumerated_rate(layer, "rheo")


@given(st.data())
def test_p_equal_to_q_is_always_accepted_with_a_sampled_slot(data):
    """Claim top-k-imperfect: pure top-K loses what lies outside Top_K; one surviving sampled slot loses nothing."""
    vocab = data.draw(st.integers(1, 5))
    p = data.draw(rows(vocab))
    lead, candidates = data.draw(st.integers(0, vocab)), data.draw(st.integers(1, vocab))
    layer = Layer(p, p, p, lead, candidates)
    rates = layer_rates(layer)
    best = sorted(range(vocab), key=lambda v: (-p[v], v))[:candidates]
    assert rates.top_k == sum(p[v] for v in best)
    assert (rates.top_k == 1) == all(v in best for v in range(vocab) if p[v])
    if candidates > lead and layer.pool.sampling_law is not None:
        assert rates.rheo == rates.rrsw == 1


def test_when_the_lead_carries_all_of_p_rrsw_accepts_always():
    layer = Layer(one_hot(0, 3), distribution([3, 2, 1]), distribution([3, 2, 1]), 1, 2)
    assert layer_rates(layer).rrsw == 1 == enumerated_rate(layer, "rrsw")
    assert layer_rates(layer).rheo == 1 == enumerated_rate(layer, "rheo")


def test_no_sampled_slot_when_the_lead_carries_all_of_q_hat():
    target, draft = distribution([1, 2, 3]), distribution([3, 2, 1])
    layer = Layer(target, draft, one_hot(0, 3), 1, 2)
    rates = layer_rates(layer)
    assert layer.pool.sampling_law is None
    assert rates.rheo == rates.rrsw == rates.top_k == rates.optimal == rates.upper_bound == target[0] + target[1]


@given(st.data())
def test_single_draft_rates(data):
    vocab = data.draw(st.integers(1, 5))
    p, q = data.draw(rows(vocab)), data.draw(rows(vocab))
    rates = layer_rates(Layer(p, q, q, 0, 1))
    assert rates.single_sampled == rates.rheo == sum(map(min, p, q))
    assert rates.single_top1 == rates.top_k == p[q.index(max(q))]


def test_rheo_versus_rrsw():
    uniform = distribution([1, 1, 1, 1])
    rates = layer_rates(Layer(distribution([1, 0, 2, 1]), uniform, uniform, 1, 3))
    assert (str(rates.rheo), str(rates.rrsw)) == ("29/30", "1")


@pytest.mark.parametrize(("lead", "candidates"), [(0, 0), (0, 4), (4, 1), (-1, 1)])
def test_bad_layers_are_refused(lead, candidates):
    row = distribution([1, 1, 1])
    with pytest.raises(InputError, match="RV106"):
        Layer(row, row, row, lead, candidates)


def test_rows_of_different_length_are_refused():
    with pytest.raises(InputError, match="RV104"):
        Layer(distribution([1, 1]), distribution([1, 1, 1]), distribution([1, 1]), 0, 1)
