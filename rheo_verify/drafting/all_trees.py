"""Every unpruned tree at once: the fast path of enumerating `build_then_prune` (its twin in the tests).

Each tree is really formed as a row of node numbers, really pruned by sorting that row, weighed, and grouped with the
trees that prune to the same T_R. Nothing about slots, classes or Lemma 1 is used, so that those claims can be checked
on the outcome. Rows come in chunks: memory does not grow with the number of trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rheo_verify.drafting.codes import Codes
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.networks import keep_smallest
from rheo_verify.drafting.node_table import Ints, NodeTable, expansions
from rheo_verify.drafting.pool import pool_at
from rheo_verify.drafting.tree import Tree
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ZERO, Rational, ratio


@dataclass(frozen=True)
class AllTrees:
    """What enumerating every unpruned tree found.

    classes: the law of T_R (nodes by priority). trees: how many were formed; formed[T_R]: how many of them prune to
    T_R. not_ancestor_closed: how many have a T_R with a node whose parent is not in it. table: the possible nodes.
    """

    classes: Law[Tree]
    trees: int
    formed: dict[Tree, int]
    not_ancestor_closed: int
    table: NodeTable


def enumerate_trees(
    model: Model, context: Context, design: TreeDesign, limits: Limits | None = None, table: NodeTable | None = None
) -> AllTrees:
    """Form every unpruned tree at `context`, prune it and group the results. Raises `LimitReached`."""
    limits = limits or Limits()
    table = table or node_table(model, context, design, limits)
    groups = _Groups(table)
    limits.check("trees", 0, table.trees)
    for rows in _grow(table, _root(table), 0):
        if limits.trees is not None and groups.trees + len(rows.weight) > limits.trees:
            limits.covered = f"{groups.trees:,} of {table.trees:,} trees were enumerated"
            raise LimitReached("RV202", f"the limit of {limits.trees:,} trees was reached", limits.covered)
        groups.add(rows)
        limits.check("trees", groups.trees, table.trees)
    classes = groups.law()
    counts = {groups.tree(code): int(count) for code, count in enumerate(groups.formed)}
    return AllTrees(classes, groups.trees, counts, groups.not_ancestor_closed, table)


def node_table(model: Model, context: Context, design: TreeDesign, limits: Limits | None = None) -> NodeTable:
    """The possible nodes of every unpruned tree at `context`."""
    return NodeTable(design, cache(lambda tokens: pool_at(model, context + tokens, design)), limits)


@dataclass
class _Rows:
    """Trees under construction, column by column: the best R nodes so far, the next parents, and the weight.

    The probability of row i is `weight[i] / scale[i]`. `scales` are the distinct values of `scale`, `group` which one
    each row has.
    """

    best: list[Ints]
    beam: list[Ints]
    weight: Ints
    scale: Ints
    scales: Ints
    group: Ints


def _root(table: NodeTable) -> _Rows:
    one = np.ones(1, dtype=table.weight.dtype)
    return _Rows([], [np.array([table.root])], one, one, one, np.zeros(1, dtype=np.int64))


def _grow(table: NodeTable, rows: _Rows, depth: int) -> Iterator[_Rows]:
    """Add layer after layer, depth first over chunks, and yield finished trees."""
    if depth == table.design.depth:
        yield rows
        return
    scale = rows.scale
    for parent in rows.beam:
        scale = scale * table.scale.take(parent)
    scales, group = np.unique(scale, return_inverse=True)
    for chosen, outcomes in expansions(rows.beam, table.first, table.count):
        layer = [slot.take(outcome) for outcome in outcomes for slot in table.children]
        weight = rows.weight.take(chosen)
        for outcome in outcomes:
            weight = weight * table.weight.take(outcome)
        best = keep_smallest([column.take(chosen) for column in rows.best] + layer, table.design.budget)
        beam = keep_smallest(layer, table.design.beam) if depth + 1 < table.design.depth else []
        grown = _Rows(best, beam, weight, scale.take(chosen), scales, group.take(chosen))
        yield from _grow(table, grown, depth + 1)


class _Groups:
    """Adds up the trees that prune to the same T_R, exactly."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.trees = 0
        self.not_ancestor_closed = 0
        self.formed = np.zeros(0, dtype=np.int64)
        self._rows: list[tuple[int, ...]] = []
        self._sums: list[dict[int, int]] = []
        self._bits = max(1, int(table.root).bit_length())
        self._stages: list[Codes] = []

    def add(self, rows: _Rows) -> None:
        code = self._code(rows.best)
        known, size = len(self._rows), int(code.max()) + 1
        if size > known:
            first = np.empty(size, dtype=np.int64)
            first[code] = np.arange(len(code))
            self._rows += [tuple(int(column[row]) for column in rows.best) for row in first[known:]]
            self._sums += [{} for _ in range(known, size)]
        counts = np.bincount(code, minlength=len(self._rows))
        counts[: len(self.formed)] += self.formed
        self.formed = counts
        self.trees += len(code)
        above = self.table.parent.take(rows.best[0])
        for column in rows.best[1:]:
            above = np.maximum(above, self.table.parent.take(column))
        self.not_ancestor_closed += int(np.count_nonzero(above > rows.best[-1]))
        cells, sums = self._add_up(code * len(rows.scales) + rows.group, rows.weight)
        for cell, weight in zip(cells.tolist(), sums, strict=True):
            number, group = divmod(cell, len(rows.scales))
            scale = int(rows.scales[group])
            self._sums[number][scale] = self._sums[number].get(scale, 0) + int(weight)

    def _code(self, columns: list[Ints]) -> Ints:
        """A number for each distinct row of columns, as many columns at a time as fit a 64-bit key."""
        code, used, stage = np.zeros(len(columns[0]), dtype=np.uint64), 0, 0
        while used < len(columns):
            width = 64 if stage == 0 else 40
            taken = max(1, width // self._bits)
            for column in columns[used : used + taken]:
                code = (code << np.uint64(self._bits)) | column.astype(np.uint64)
            used += taken
            if stage == len(self._stages):
                self._stages.append(Codes())
            numbers = self._stages[stage].of(code)
            if len(self._stages[stage].keys) >= 2**24:
                raise LimitReached("RV202", "more than 16 million classes", f"{self.trees:,} trees were enumerated")
            code, stage = numbers.astype(np.uint64), stage + 1
        return numbers

    def _add_up(self, cells: Ints, weights: Ints) -> tuple[Ints, Any]:
        """Exact sums of weights by cell. A cell's sum never exceeds its scale: that is why 2^53 and 2^63 suffice."""
        distinct, cells = _compact(cells)
        if weights.dtype == object:
            sums = np.zeros(len(distinct), dtype=object)
            np.add.at(sums, cells, weights)
            return distinct, sums
        if self.table.fits_float:
            return distinct, np.bincount(cells, weights=weights, minlength=len(distinct))
        high = np.bincount(cells, weights=weights >> 32, minlength=len(distinct))
        low = np.bincount(cells, weights=weights & (2**32 - 1), minlength=len(distinct))
        return distinct, [(int(h) << 32) + int(rest) for h, rest in zip(high, low, strict=True)]

    def tree(self, code: int) -> Tree:
        return tuple(self.table.nodes[number] for number in self._rows[code])

    def law(self) -> Law[Tree]:
        law: Law[Tree] = {}
        for code, sums in enumerate(self._sums):
            probability: Rational = ZERO
            for scale, weight in sums.items():
                probability = probability + ratio(weight, scale)
            law[self.tree(code)] = probability
        return law


def _compact(cells: Ints) -> tuple[Ints, Ints]:
    """The distinct cells, and each cell's place among them."""
    size = int(cells.max()) + 1
    if size > 16 * len(cells):
        distinct, places = np.unique(cells, return_inverse=True)
        return distinct, places
    present = np.bincount(cells, minlength=size) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1).take(cells)
