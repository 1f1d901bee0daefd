"""tau, its law and its identity for whole decoders; the optimum in static trees."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.checks.layers import LayerLaws
from rheo_verify.checks.per_cycle import (
    compare_cycles,
    cycle,
    expected_reach,
    pruned_trees,
    top_k_design,
    unpruned,
)
from rheo_verify.checks.static_optimum import heaviest_plan, static_topology
from rheo_verify.decoders.rheosampling import rheosampling
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError
from rheo_verify.models.model import context_free
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.enumeration import law_of
from rheo_verify.probability.laws import collect
from rheo_verify.verification.rules import layer_rule
from tests.acceptance.acceptance_strategies import rows

models = st.builds(
    random_model, st.integers(2, 4), st.integers(0, 500), zeros=st.integers(0, 6), independent_sampling=st.booleans()
)
designs = st.builds(
    TreeDesign,
    lead=st.integers(0, 2),
    pool=st.integers(1, 3),
    beam=st.integers(1, 2),
    depth=st.integers(1, 2),
    budget=st.integers(1, 6),
)


@settings(max_examples=40)
@given(models, designs, st.sampled_from(["rheo", "rrsw", "topk"]))
def test_tau_is_that_of_the_published_steps(model, design, rule):
    """Every path of build-then-prune and of the steps of verification: no class, no layer law."""
    lengths = law_of(lambda chance: len(rheosampling(design, rule).cycle(chance, model, ())))
    found = cycle(model, (), design, rule)
    assert found.emission.lengths == lengths
    assert found.tokens_per_cycle == sum(n * p for n, p in lengths.items())
    by_depth = [sum(p for n, p in lengths.items() if n > depth) for depth in range(1, max(lengths))]
    assert list(found.emission.accepted_by_depth) == by_depth


@given(models, designs, st.sampled_from(["rheo", "rrsw", "topk"]))
def test_tau_is_one_and_the_expected_reach_of_the_surviving_nodes(model, design, rule):
    laws = LayerLaws(model, (), layer_rule(rule))
    assert cycle(model, (), design, rule).tokens_per_cycle == expected_reach(laws, pruned_trees(model, (), design))


@given(st.integers(0, 200))
def test_depth_one_accepts_what_the_layer_accepts(seed):
    from rheo_verify.checks.acceptance import layer_at, layer_rates

    model = random_model(4, seed)
    rates = layer_rates(layer_at(model, (), 1, 3))
    design = TreeDesign(lead=1, pool=3, beam=1, depth=1, budget=3)
    assert cycle(model, (), design, "rheo").tokens_per_cycle == 1 + rates.rheo
    assert cycle(model, (), design, "rrsw").tokens_per_cycle == 1 + rates.rrsw
    assert cycle(model, (), design, "optimal-transport").tokens_per_cycle == 1 + rates.optimal
    assert cycle(model, (), top_k_design(design, 4), "topk").tokens_per_cycle == 1 + rates.top_k


def test_rules_side_by_side():
    names = [row.name for row in compare_cycles(random_model(6, 0), (), TreeDesign(pool=6, depth=1, budget=3))]
    assert names[-1] == "topk"
    assert {f"{rule} m={m}" for rule in ("rheo", "rrsw") for m in range(5)} < set(names)


def test_no_more_lead_than_the_pool_leaves_room_for():
    rows = compare_cycles(random_model(3, 0), (), TreeDesign(pool=3, depth=1, budget=2))
    assert {row.lead for row in rows} == {0, 1, 2, None}


@settings(max_examples=25)
@given(st.builds(random_model, st.integers(2, 4), st.integers(0, 500), zeros=st.integers(0, 4)), st.integers(1, 2))
def test_nothing_beats_the_best_in_a_static_tree(model, beam):
    design = unpruned(TreeDesign(pool=2, beam=beam, depth=2))
    for row in compare_cycles(model, (), design):
        if row.lead is not None:
            assert row.best is not None
            assert row.tokens_per_cycle <= row.best


def test_the_plan_that_accepts_most_at_every_layer_can_have_a_smaller_tau():
    """Only the first W of K children go on, and a plan does not know: rheo, which accepts less, emits more."""
    design = unpruned(TreeDesign(lead=0, pool=3, beam=1, depth=2))
    rows = {row.name: row for row in compare_cycles(random_model(4, 15), (), design, leads=(0,))}
    rheo, plan = rows["rheo m=0"], rows["optimal-transport m=0"]
    assert rheo.emission.accepted_by_depth[0] < plan.emission.accepted_by_depth[0]
    assert plan.tokens_per_cycle < rheo.tokens_per_cycle <= plan.best


@settings(max_examples=40)
@given(st.data())
def test_heaviest_plan_is_the_linear_program(data):
    linprog = pytest.importorskip("scipy.optimize").linprog
    vocab = data.draw(st.integers(2, 4))
    target = data.draw(rows(vocab))
    names = data.draw(
        st.lists(st.permutations(range(vocab)).map(lambda p: tuple(p[:2])), min_size=1, max_size=4, unique=True)
    )
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=len(names), max_size=len(names)))
    tuples = collect(zip(names, (Fraction(size, sum(sizes)) for size in sizes), strict=True))
    worth = {(name, token): Fraction(data.draw(st.integers(1, 9)), 4) for name in names for token in name}
    edges = list(worth)
    sends = [[float(name == other) for other, _ in edges] for name in names]
    receives = [[float(token == other) for _, other in edges] for token in range(vocab)]
    solved = linprog(
        [-float(worth[edge]) for edge in edges],
        A_ub=sends + receives,
        b_ub=[float(tuples[name]) for name in names] + [float(p) for p in target],
    )
    assert float(heaviest_plan(target, tuples, worth)) == pytest.approx(-solved.fun, abs=1e-9)


def test_a_static_tree_is_one_whose_slots_never_change():
    model = random_model(4, 0)
    whole = unpruned(TreeDesign(pool=2, beam=2, depth=2))
    assert static_topology(pruned_trees(model, (), whole)) == {(1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2)}
    assert static_topology(pruned_trees(model, (), replace(whole, budget=4, lead=0))) is None


@pytest.mark.parametrize("change", [{"proxy": "raw"}, {"ties": "token"}, {"epsilon": Fraction(1, 9)}])
def test_other_designs_are_refused(change):
    with pytest.raises(InputError, match="RV106"):
        cycle(random_model(3, 0), (), replace(TreeDesign(), **change), "rheo")


def test_p_equal_to_q_accepts_to_the_end():
    row = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    found = cycle(context_free(row, row), (), unpruned(TreeDesign(pool=3, beam=9, depth=2)), "rheo")
    assert found.emission.lengths == {3: 1}
