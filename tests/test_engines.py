"""Every fast path against its slow twin, and both engines against the brute force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.checks.prefixes import classes_of, count_leaves, grow_prefixes, prefixes_of
from rheo_verify.drafting import all_trees as all_trees_module
from rheo_verify.drafting import expansion as expansion_module
from rheo_verify.drafting.all_trees import enumerate_trees
from rheo_verify.drafting.best_first import best_first
from rheo_verify.drafting.build_then_prune import build_then_prune
from rheo_verify.drafting.codes import Codes
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.networks import merge_smallest
from rheo_verify.drafting.pool import outcomes_at, pool_at
from rheo_verify.drafting.size import expanded_contexts, most_nodes, most_trees
from rheo_verify.drafting.tree import Node
from rheo_verify.drafting.validity import why_not_lazy
from rheo_verify.models.model import Model, context_free
from rheo_verify.models.random_tables import random_model
from rheo_verify.models.table_file import model_from_data
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.enumeration import enumerate_paths, law_of
from rheo_verify.probability.rationals import exact
from rheo_verify.verification.rules import layer_rule
from tests.instances import brute_force, instances

CASES = json.loads((Path(__file__).parent / "data" / "exact-cases.json").read_text())["decoding"]
PROXIES = st.sampled_from(["rheo", "raw", exact("1/4"), exact("1/3"), exact(0), exact(2)])


def _design(case: dict[str, Any], name: str) -> TreeDesign:
    sizes = {key: case[key] for key in ("lead", "pool", "beam", "depth", "budget")}
    return TreeDesign(**sizes, proxy=exact("1/4") if name == "adhoc-1/4" else "rheo")


def everything(node: Node) -> tuple[Any, ...]:
    """All that a node carries, also what its equality leaves out."""
    return (node.slots, node.tokens, node.kind, node.score, node.law)


@pytest.mark.parametrize("name", ["rheo", "rrsw", "adhoc-1/4"])
@pytest.mark.parametrize("index", range(len(CASES)))
def test_exact_cases(index: int, name: str) -> None:
    case = CASES[index]
    expected = case["results"][name]
    model, design = model_from_data(case), _design(case, name)
    rule = layer_rule("rrsw" if name == "rrsw" else "rheo")
    for method in ("exhaustive", "classes") if name != "adhoc-1/4" else ("exhaustive",):
        result = enumerate_design(model, design, rule, method=method)  # type: ignore[arg-type]
        assert result.total_variation == exact(expected["total_variation"])
        assert len(result.classes()) == expected["classes"]
        assert result.ancestor_closed == expected["ancestor_closed"]
        assert result.trees == expected["trees"] or (method == "classes" and result.trees is None)


@given(instances(most=150), PROXIES, st.sampled_from(["position", "token"]), st.sampled_from([0, "1/5", "1/2"]))
def test_all_trees_is_build_then_prune_enumerated(
    instance: tuple[Model, TreeDesign], proxy: Any, ties: Any, epsilon: Any
) -> None:
    model, sizes = instance
    design = TreeDesign(
        sizes.lead, sizes.pool, sizes.beam, sizes.depth, sizes.budget, proxy, exact(epsilon), ties, "sampling"
    )
    paths = list(enumerate_paths(lambda chance: tuple(build_then_prune(chance, model, (), design))))
    found = enumerate_trees(model, (), design)
    assert found.trees == found.table.trees == len(paths)
    built = law_of(lambda chance: tuple(map(everything, build_then_prune(chance, model, (), design))))
    assert {tuple(map(everything, tree)): p for tree, p in found.classes.items()} == built
    assert sum(found.formed.values()) == found.trees
    assert sum(found.classes.values()) == 1


@given(
    instances(most=60),
    PROXIES,
    st.sampled_from(["position", "token"]),
    st.sampled_from(["rheo", "rrsw", "topk"]),
    st.sampled_from(["sampling", "ranking"]),
)
def test_engine_against_the_brute_force(
    instance: tuple[Model, TreeDesign], proxy: Any, ties: Any, rule: str, verification: Any
) -> None:
    model, sizes = instance
    depth = min(2, sizes.depth)
    design = TreeDesign(sizes.lead, sizes.pool, sizes.beam, depth, sizes.budget, proxy, exact(0), ties, verification)
    oracle = brute_force(model, design, rule)
    count, law = oracle.classes()
    result = enumerate_design(model, design, layer_rule(rule), method="exhaustive")
    assert result.trees == count
    found = {tuple((n.slots, n.tokens, n.kind, n.score) for n in tree): p for tree, p in result.classes().items()}
    assert found == law
    assert result.total_variation == oracle.total_variation()


@given(instances(most=10**9))
def test_growing_classes_is_best_first_enumerated(instance: tuple[Model, TreeDesign]) -> None:
    model, design = instance
    grown = classes_of(grow_prefixes(model, (), design))
    lazy = law_of(lambda chance: tuple(map(everything, best_first(chance, model, (), design))))
    assert {tuple(map(everything, tree)): p for tree, p in grown.items()} == lazy
    assert classes_of(prefixes_of(grown)) == grown
    assert count_leaves(prefixes_of(grown)) == len(grown)


@given(instances(most=300), st.sampled_from([exact(0), exact("1/7"), exact("1/2")]))
def test_eager_equals_lazy_where_the_conditions_hold(instance: tuple[Model, TreeDesign], epsilon: Any) -> None:
    model, sizes = instance
    design = TreeDesign(sizes.lead, sizes.pool, sizes.beam, sizes.depth, sizes.budget, epsilon=epsilon)
    if why_not_lazy(design, model) is None:
        assert enumerate_trees(model, (), design).classes == classes_of(grow_prefixes(model, (), design))


def test_lazy_growth_repairs_a_broken_proxy_silently() -> None:
    """Why the class method is refused for it: the very same broken proxy looks lossless when it is grown lazily."""
    case = next(case for case in CASES if case["results"]["adhoc-1/4"]["total_variation"] != "0")
    model, design = model_from_data(case), _design(case, "adhoc-1/4")
    assert enumerate_trees(model, (), design).classes != classes_of(grow_prefixes(model, (), design))
    assert "constant proxy" in (why_not_lazy(design, model) or "")


@given(st.integers(0, 7), st.integers(0, 7), st.integers(1, 14), st.integers(0, 10**6))
def test_merging_networks(left: int, right: int, kept: int, seed: int) -> None:
    """On all rows of zeros and ones, which decide for all rows (Knuth, section 5.3.4), and on some others."""
    zeros_and_ones = [
        ([0] * (left - i) + [1] * i, [0] * (right - j) + [1] * j) for i in range(left + 1) for j in range(right + 1)
    ]
    values = np.random.default_rng(seed).integers(0, 9, (50, left + right))
    others = [(sorted(row[:left].tolist()), sorted(row[left:].tolist())) for row in values]
    rows = np.array([first + second for first, second in zeros_and_ones + others]).T
    merged = merge_smallest(list(rows[:left]), list(rows[left:]), kept)
    expected = np.sort(rows, axis=0)[:kept]
    assert len(merged) == len(expected)
    assert all(map(np.array_equal, merged, expected))


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 40), min_size=1, max_size=60), max_size=5))
def test_keys_are_numbered_as_a_dictionary_would(chunks: list[list[int]]) -> None:
    codes, number_of = Codes(), {}
    for chunk in chunks:
        numbers = codes.of(np.array(chunk, dtype=np.uint64)).tolist()
        for key, number in zip(chunk, numbers, strict=True):
            assert number_of.setdefault(key, number) == number
    assert sorted(number_of.values()) == list(range(len(number_of))) == list(range(len(codes.keys)))


@given(instances(most=10**9), st.integers(0, 3))
def test_outcomes_are_those_of_the_pool(instance: tuple[Model, TreeDesign], token: int) -> None:
    model, design = instance
    context = (token,) if token < model.vocab else ()
    assert outcomes_at(model, context, design) == max(1, len(pool_at(model, context, design).outcomes))


def test_weights_that_do_not_fit_machine_words() -> None:
    """Exact beyond 2^53 and beyond 2^63, where sums are split in halves and then fall back to Python integers."""
    for digits in (4, 6, 9, 30):
        prime = 10**digits + 7
        q = distribution(
            [f"{prime // 3}/{prime}", f"{prime // 5}/{prime}", f"{prime - prime // 3 - prime // 5}/{prime}"]
        )
        model = context_free(distribution([1, 2, 3]), q)
        design = TreeDesign(lead=0, pool=3, beam=2, depth=2, budget=4)
        found = enumerate_trees(model, (), design)
        assert sum(found.classes.values()) == 1
        assert found.classes == law_of(lambda chance, m=model, d=design: tuple(build_then_prune(chance, m, (), d)))


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_more_nodes_than_a_key_holds(seed: int) -> None:
    """Twelve nodes, eight to a 64-bit key: rows that differ before, behind, or on both sides of the border."""
    model = random_model(4, seed)
    design = TreeDesign(lead=1, pool=3, beam=3, depth=2, budget=12)
    found = enumerate_trees(model, (), design)
    assert found.classes == law_of(lambda chance: tuple(build_then_prune(chance, model, (), design)))
    assert len(found.classes) == found.trees == 81


def test_trees_are_counted_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same three parents are met in many chunks."""
    monkeypatch.setattr(expansion_module, "ROWS_AT_ONCE", 50)
    assert all_trees_module.node_table(random_model(6, 0), (), TreeDesign()).trees == 5**7


@given(instances(most=200), st.integers(1, 50), st.integers(1, 50))
def test_chunks_do_not_matter(instance: tuple[Model, TreeDesign], rows: int, cached: int) -> None:
    model, design = instance
    whole = enumerate_trees(model, (), design)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expansion_module, "ROWS_AT_ONCE", rows)
        patch.setattr(all_trees_module, "ROWS_IN_CACHE", cached)
        pieces = enumerate_trees(model, (), design)
    assert (pieces.classes, pieces.formed, pieces.trees) == (whole.classes, whole.formed, whole.trees)
    assert pieces.table.trees == whole.table.trees == whole.trees


@pytest.mark.parametrize(
    ("vocab", "sizes", "trees", "nodes"),
    [
        # V=3, m=1: two outcomes at the root, two at each of 3 children: 2 * 2^3; 3 + 9 nodes
        (3, {"lead": 1, "pool": 3, "beam": 3, "depth": 2}, 16, 12),
        # only the two best children are expanded: 2 * 2^2; 3 + 6
        (3, {"lead": 1, "pool": 3, "beam": 2, "depth": 2}, 8, 9),
        # m=0: three outcomes at the root, 3 at each of the 2 expanded: 3 * 9; 2 + 4
        (3, {"lead": 0, "pool": 2, "beam": 2, "depth": 2}, 27, 6),
        # K <= m: nothing is sampled
        (3, {"lead": 2, "pool": 2, "beam": 2, "depth": 3}, 1, 10),
        # V=6, m=1, W=3, D=3: 1 + 3 + 3 expanded contexts with 5 outcomes each
        (6, {"lead": 1, "pool": 3, "beam": 3, "depth": 3}, 5**7, 21),
        # V=1: the lead is everything
        (1, {"lead": 1, "pool": 3, "beam": 3, "depth": 3}, 1, 3),
        # V=1, m=0: the sampled slot has one outcome
        (1, {"lead": 0, "pool": 3, "beam": 3, "depth": 3}, 1, 3),
    ],
)
def test_counts_worked_out_by_hand(vocab: int, sizes: dict[str, int], trees: int, nodes: int) -> None:
    model = context_free(distribution([1] * vocab), distribution(list(range(1, vocab + 1))))
    design = TreeDesign(**sizes, budget=100)  # type: ignore[arg-type]
    found = enumerate_trees(model, (), design)
    assert (found.trees, found.table.trees, most_trees(design, vocab)) == (trees, trees, trees)
    assert {len(tree) for tree in found.classes} == {nodes} == {most_nodes(design, vocab)}


def test_supports_that_differ_are_counted_by_recursion() -> None:
    """V=3, m=0, K=2, W=1, D=2: after token 0 the draft has one outcome, after the others three.

    The root draws 0, 1 or 2 (slot 1, expanded): 1 + 3 + 3 trees.
    """
    rows = {"": [1, 1, 1], "0": [1, 0, 0], "1": [1, 1, 1], "2": [1, 1, 1]}
    model = model_from_data({"vocab": 3, "target": [1, 1, 1], "draft": rows})
    design = TreeDesign(lead=0, pool=2, beam=1, depth=2, budget=4)
    assert enumerate_trees(model, (), design).trees == 7


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 5), st.integers(1, 6))
def test_expanded_contexts(vocab: int, pool: int, beam: int, depth: int) -> None:
    layer, expanded = 1, 0
    for _ in range(depth):
        expanded += min(beam, layer)
        layer = min(beam, layer) * min(pool, vocab)
    assert expanded_contexts(TreeDesign(0, pool, beam, depth, 1), vocab) == expanded
