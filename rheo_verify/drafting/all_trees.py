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
from rheo_verify.drafting.expansion import Ints, expand
from rheo_verify.drafting.node_table import NodeTable
from rheo_verify.drafting.pool import pool_at
from rheo_verify.drafting.tree import Tree
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ZERO, Rational, ratio

ROWS_IN_CACHE = 1 << 14
"""Rows grouped at once: temporary arrays of 64-bit numbers stay in the cache, and twice as fast."""


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

    The probability of row i is `weight[i] / scales[group[i]]`.
    """

    best: list[Ints]
    beam: list[Ints]
    weight: Ints
    scales: Ints
    group: Ints


def _root(table: NodeTable) -> _Rows:
    one = np.ones(1, dtype=table.outcomes.weight.dtype)
    scales = np.ones(1, dtype=table.scale.dtype)
    return _Rows([], [np.array([table.root])], one, scales, np.zeros(1, dtype=np.uint8))


def _grow(table: NodeTable, rows: _Rows, depth: int) -> Iterator[_Rows]:
    """Add layer after layer, depth first over chunks, and yield finished trees."""
    if depth == table.design.depth:
        yield rows
        return
    scale = rows.scales.take(rows.group)
    for parent in rows.beam:
        scale = scale * table.scale.take(parent)
    scales, group = np.unique(scale, return_inverse=True)
    group = group.astype(np.min_scalar_type(len(scales)))
    sets: list[tuple[list[Ints], int]] = [(rows.best, table.design.budget)]
    if depth + 1 < table.design.depth:
        sets.append(([], table.design.beam))
    for layer in expand(rows.beam, table.outcomes, sets, rows.weight):
        best, beam = layer.kept[0], layer.kept[1] if len(sets) > 1 else []
        yield from _grow(table, _Rows(best, beam, layer.weight, scales, layer.repeat(group)), depth + 1)


class _Groups:
    """Adds up the trees that prune to the same T_R, exactly."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.trees = 0
        self.not_ancestor_closed = 0
        self.formed = np.zeros(0, dtype=np.int64)
        self._rows: list[tuple[int, ...]] = []
        self._sums: list[dict[int, int]] = []
        self._stages: list[Codes] = []

    def add(self, rows: _Rows) -> None:
        parts = [slice(low, low + ROWS_IN_CACHE) for low in range(0, len(rows.weight), ROWS_IN_CACHE)]
        code = np.concatenate([self._look_at([column[part] for column in rows.best]) for part in parts])
        known, size = len(self._rows), len(self._stages[-1].keys)
        if size > known:
            first = np.empty(size, dtype=np.int64)
            first[code] = np.arange(len(code))
            self._rows += [tuple(int(column[row]) for column in rows.best) for row in first[known:]]
            self._sums += [{} for _ in range(known, size)]
        self.trees += len(code)
        cells, formed, sums = self._add_up(code * len(rows.scales) + rows.group, rows.weight)
        classes, groups = np.divmod(cells, len(rows.scales))
        counts = np.bincount(classes, weights=formed, minlength=size).astype(np.int64)
        counts[: len(self.formed)] += self.formed
        self.formed = counts
        scales = rows.scales.take(groups).tolist()
        for number, scale, weight in zip(classes.tolist(), scales, sums, strict=True):
            self._sums[number][scale] = self._sums[number].get(scale, 0) + int(weight)

    def _look_at(self, best: list[Ints]) -> Ints:
        self.not_ancestor_closed += self._not_closed(best)
        return self._code(best)

    def _not_closed(self, best: list[Ints]) -> int:
        """How many rows have a node whose parent is not kept: that is one whose parent's number is above the last's."""
        above = self.table.parent.take(best[0], mode="clip")
        for column in best[1:]:
            above = np.maximum(above, self.table.parent.take(column, mode="clip"))
        return int(np.count_nonzero(above > best[-1]))

    def _code(self, columns: list[Ints]) -> Ints:
        """A number for each distinct row of columns, as many columns at a time as fit a 64-bit key."""
        node = columns[0].dtype
        numbers, used, stage = np.zeros(len(columns[0]), dtype=np.int64), 0, 0
        while used < len(columns):
            keys = np.zeros((len(numbers), 8 // node.itemsize), dtype=node)
            begin = 0
            if stage:
                keys.view(np.uint32)[:, 0] = numbers
                begin = 4 // node.itemsize
            some = columns[used : used + keys.shape[1] - begin]
            for place, column in enumerate(some, begin):
                keys[:, place] = column
            if stage == len(self._stages):
                self._stages.append(Codes())
            numbers = self._stages[stage].of(keys.view(np.uint64).reshape(-1))
            if len(self._stages[stage].keys) >= 2**24:
                raise LimitReached("RV202", "more than 16 million classes", f"{self.trees:,} trees were enumerated")
            used, stage = used + len(some), stage + 1
        return numbers

    def _add_up(self, cells: Ints, weights: Ints) -> tuple[Ints, Ints, Any]:
        """The distinct cells, their rows' number and exact sum of weights.

        A cell's sum never exceeds its scale: that is why 2^53 and 2^63 suffice.
        """
        distinct, cells, formed = _compact(cells)
        if weights.dtype == object:
            sums = np.zeros(len(formed), dtype=object)
            np.add.at(sums, cells, weights)
        elif self.table.fits_float:
            sums = np.bincount(cells, weights=weights)
        else:
            high, low = np.bincount(cells, weights=weights >> 32), np.bincount(cells, weights=weights & (2**32 - 1))
            sums = (high.astype(np.int64) << 32) + low.astype(np.int64)
        held = np.flatnonzero(formed)
        return distinct.take(held), formed.take(held), sums.take(held).tolist()

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


def _compact(cells: Ints) -> tuple[Ints, Ints, Ints]:
    """The cells that may occur, each cell's place among them, and how often each occurs."""
    size = int(cells.max()) + 1
    if size <= 4 * len(cells):
        return np.arange(size), cells, np.bincount(cells)
    distinct, places, formed = np.unique(cells, return_inverse=True, return_counts=True)
    return distinct, places, formed
