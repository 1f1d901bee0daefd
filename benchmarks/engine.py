"""The exact engine against a plain recursive Fraction brute force, in one run, the best of 7 in turn.

Time is processor time, so that what else the machine does counts little. What takes milliseconds is run seven times a
turn, to come out of the shadow of what ran before it.
"""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from fractions import Fraction
from itertools import islice

from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.checks.prefixes import grow_prefixes, leaves
from rheo_verify.drafting.all_trees import enumerate_trees
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.random_tables import random_model
from rheo_verify.verification.rules import layer_rule
from tests.instances import brute_force

MODEL = random_model(6, 0)


def main() -> None:
    design = TreeDesign()
    rates = [(max(_rate(design) for _ in range(7)), _brute_force_rate()) for _ in range(7)]
    fast, slow = (max(column) for column in zip(*rates, strict=True))
    print(f"exhaustive, V=6 m=1 K=3 W=3 D=3, 78,125 trees: {fast:,.0f} trees/s")
    print(f"  Fraction brute force: {slow:,.0f} trees/s; ratio {fast / slow:,.0f}")
    deep = _rate(TreeDesign(depth=4))
    print(f"exhaustive, D=4, 9,765,625 trees: {deep:,.0f} trees/s, ratio {deep / slow:,.0f}")
    print(f"  peak memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    _classes()


def _rate(design: TreeDesign) -> float:
    begin = time.process_time()
    found = enumerate_trees(MODEL, (), design)
    return found.trees / (time.process_time() - begin)


def _brute_force_rate(trees: int = 3000) -> float:
    """Trees formed, pruned, weighed and grouped a second; a part of them, since all would take a minute."""
    oracle = brute_force(MODEL, TreeDesign())
    begin = time.process_time()
    law: dict[object, Fraction] = defaultdict(Fraction)
    for weight, nodes in islice(oracle.unpruned(), trees):
        law[tuple(sorted(nodes, key=oracle.key)[: oracle.budget])] += weight
    return trees / (time.process_time() - begin)


def _classes() -> None:
    model, design = random_model(8, 0), TreeDesign(pool=4, beam=4, depth=5, budget=16)
    grown, decided = [], []
    for _ in range(3):
        begin = time.process_time()
        classes = sum(1 for _ in leaves(grow_prefixes(model, (), design)))
        grown.append(time.process_time() - begin)
        begin = time.process_time()
        result = enumerate_design(model, design, layer_rule("rheo"), method="classes")
        decided.append(time.process_time() - begin)
    print(f"classes, V=8 m=1 K=4 W=4 D=5 R=16, {result.trees:,} trees: {result.verdict}, {classes:,} classes")
    growth, answer = (min(seconds) / classes * 1e6 for seconds in (grown, decided))
    print(f"  grown in {growth:.0f} µs a class, decided in {answer:.0f} µs a class")
