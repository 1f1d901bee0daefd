"""Every unpruned tree at once: the fast path of enumerating `build_then_prune` (its twin in the tests).

Each tree is really formed as a row of node numbers, really pruned by sorting that row, weighed, and grouped with the
trees that prune to the same T_R. Nothing about slots, classes or Lemma 1 is used, so that those claims can be checked
on the outcome. Rows come in chunks: memory does not grow with the number of trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from rheo_verify.drafting.codes import Codes
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.expansion import Ints, expand
from rheo_verify.drafting.node_table import NodeTable, Numbers
from rheo_verify.drafting.pool import pool_at
from rheo_verify.drafting.tree import Node, Tree
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.pieces import Job, Store, Workers, results
from rheo_verify.pieces.job import Data, digest
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ZERO, Rational, ratio
from rheo_verify.words import count

ROWS_IN_CACHE = 1 << 14
"""Rows grouped at once: temporary arrays of 64-bit numbers stay in the cache, and twice as fast."""
TREES_A_PIECE = 1_000_000
MOST_PIECES = 4096
MOST_BEGUN = 100_000
MOST_CLASSES = 2**24
WORTH_PROCESSES = 50_000_000
"""From so many trees on (some seconds of work), other processes are worth their start where nobody asked for them."""


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
    model: Model,
    context: Context,
    design: TreeDesign,
    limits: Limits | None = None,
    table: NodeTable | None = None,
    workers: Workers | None = None,
    store: Store | None = None,
) -> AllTrees:
    """Form every unpruned tree at `context`, prune it and group the results. Raises `LimitReached`.

    workers: who forms them (this process if None; by default other processes only where that is worth their start).
    store: where finished pieces are kept, and found again. Neither changes the answer.
    """
    limits = limits or Limits()
    table = table or node_table(model, context, design, limits)
    groups = _Groups(table.numbers)
    limits.check("trees", 0, table.trees)
    workers = workers or Workers()
    if workers.backend == "loky" and workers.jobs is None and table.trees < WORTH_PROCESSES:
        workers = Workers()
    if limits.trees is not None and limits.trees < table.trees:
        _up_to(limits.trees, groups, table, limits)
    elif store is None and workers.backend == "serial":
        for rows in _grow(table.numbers, _root(table.numbers), 0):
            groups.add(rows)
            limits.check("trees", groups.trees, table.trees)
    else:
        for _, found in results(_job(table, limits.memory), workers, limits, store):
            groups.merge(found)
            limits.check("trees", groups.trees, table.trees)
    classes, formed = groups.laws(table.nodes)
    if groups.trees != table.trees or sum(classes.values()) != 1 or sum(formed.values()) != groups.trees:
        raise InputError("RV801", "the finished pieces do not add up to all trees: give --checkpoint another directory")
    return AllTrees(classes, groups.trees, formed, groups.not_ancestor_closed, table)


def _up_to(most: int, groups: _Groups, table: NodeTable, limits: Limits) -> None:
    for rows in _grow(table.numbers, _root(table.numbers), 0):
        if groups.trees + len(rows.weight) > most:
            limits.covered = f"{groups.trees:,} of {count(table.trees, 'tree')} were enumerated"
            raise LimitReached("RV202", f"the limit of {count(most, 'tree')} was reached", limits.covered)
        groups.add(rows)
        limits.check("trees", groups.trees, table.trees)


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

    def part(self, some: slice) -> _Rows:
        """Some of the rows."""
        best, beam = ([column[some] for column in columns] for columns in (self.best, self.beam))
        return _Rows(best, beam, self.weight[some], self.scales, self.group[some])


def _root(numbers: Numbers) -> _Rows:
    one = np.ones(1, dtype=numbers.outcomes.weight.dtype)
    scales = np.ones(1, dtype=numbers.scale.dtype)
    return _Rows([], [np.array([numbers.root])], one, scales, np.zeros(1, dtype=np.uint8))


def _grow(numbers: Numbers, rows: _Rows, depth: int, until: int | None = None) -> Iterator[_Rows]:
    """Add layer after layer, depth first over chunks, and yield finished trees (unfinished ones of depth `until`)."""
    if depth == (numbers.depth if until is None else until):
        yield rows
        return
    scale = rows.scales.take(rows.group)
    for parent in rows.beam:
        scale = scale * numbers.scale.take(parent)
    scales, group = np.unique(scale, return_inverse=True)
    group = group.astype(np.min_scalar_type(len(scales)))
    sets: list[tuple[list[Ints], int]] = [(rows.best, numbers.budget)]
    if depth + 1 < numbers.depth:
        sets.append(([], numbers.beam))
    for layer in expand(rows.beam, numbers.outcomes, sets, rows.weight):
        best, beam = layer.kept[0], layer.kept[1] if len(sets) > 1 else []
        yield from _grow(numbers, _Rows(best, beam, layer.weight, scales, layer.repeat(group)), depth + 1, until)


def _job(table: NodeTable, memory: int | None) -> Job:
    """The trees in pieces: some of the unfinished trees of one depth each, with all that they become."""
    question = digest(table.numbers.to_data())
    begun = _begun(question, table.numbers)
    whole = sum(len(rows.weight) for rows in begun[1])
    step = -(-whole // min(MOST_PIECES, -(-table.trees // TREES_A_PIECE)))
    pieces = [[low, min(low + step, whole)] for low in range(0, whole, step)]
    return Job("trees", question, _piece, (question, table.numbers, memory), pieces)


def _piece(shared: tuple[str, Numbers, int | None], piece: list[int]) -> Data:
    question, numbers, memory = shared
    limits = Limits(memory=memory)
    low, high = piece
    depth, begun = _begun(question, numbers)
    groups, before = _Groups(numbers), 0
    for rows in begun:
        some = slice(max(low - before, 0), max(high - before, 0))
        before += len(rows.weight)
        if some.start < min(some.stop, len(rows.weight)):
            for grown in _grow(numbers, rows.part(some), depth):
                groups.add(grown)
                limits.check_time()
    return groups.to_data()


_KNOWN: dict[str, tuple[int, list[_Rows]]] = {}
"""The unfinished trees of the question that this process worked at last."""


def _begun(question: str, numbers: Numbers) -> tuple[int, list[_Rows]]:
    """The greatest depth at which there are not too many unfinished trees, and these trees."""
    known = _KNOWN.get(question)
    if known is None:
        depth, begun = 0, [_root(numbers)]
        while depth < numbers.depth and sum(map(partial(_next_trees, numbers), begun)) <= MOST_BEGUN:
            begun = [more for rows in begun for more in _grow(numbers, rows, depth, depth + 1)]
            depth += 1
        known = depth, begun
        _KNOWN.clear()
        _KNOWN[question] = known
    return known


def _next_trees(numbers: Numbers, rows: _Rows) -> int:
    counts = [numbers.outcomes.count.take(parent).astype(object) for parent in rows.beam]
    return int(np.prod(np.stack(counts), axis=0).sum())


class _Groups:
    """Adds up the trees that prune to the same T_R, exactly."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.trees = 0
        self.not_ancestor_closed = 0
        self._formed: list[int] = []
        self._rows: list[tuple[int, ...]] = []
        self._sums: list[dict[int, int]] = []
        self._stages: list[Codes] = []
        self._merged: dict[tuple[int, ...], int] = {}

    def add(self, rows: _Rows) -> None:
        parts = [slice(low, low + ROWS_IN_CACHE) for low in range(0, len(rows.weight), ROWS_IN_CACHE)]
        code = np.concatenate([self._look_at([column[part] for column in rows.best]) for part in parts])
        known, size = len(self._rows), len(self._stages[-1].keys)
        if size > known:
            first = np.empty(size, dtype=np.int64)
            first[code] = np.arange(len(code))
            self._rows += [tuple(int(column[row]) for column in rows.best) for row in first[known:]]
            self._sums += [{} for _ in range(known, size)]
            self._formed += [0] * (size - known)
        self.trees += len(code)
        cells, formed, sums = self._add_up(code * len(rows.scales) + rows.group, rows.weight)
        classes, groups = np.divmod(cells, len(rows.scales))
        scales = rows.scales.take(groups).tolist()
        for number, scale, weight, times in zip(classes.tolist(), scales, sums, formed.tolist(), strict=True):
            self._sums[number][scale] = self._sums[number].get(scale, 0) + int(weight)
            self._formed[number] += times

    def _look_at(self, best: list[Ints]) -> Ints:
        self.not_ancestor_closed += self._not_closed(best)
        return self._code(best)

    def _not_closed(self, best: list[Ints]) -> int:
        """How many rows have a node whose parent is not kept: that is one whose parent's number is above the last's."""
        above = self.numbers.parent.take(best[0], mode="clip")
        for column in best[1:]:
            above = np.maximum(above, self.numbers.parent.take(column, mode="clip"))
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
            self._check_classes(len(self._stages[stage].keys))
            used, stage = used + len(some), stage + 1
        return numbers

    def _check_classes(self, number: int) -> None:
        if number >= MOST_CLASSES:
            raise LimitReached("RV202", "more than 16 million classes", f"{self.trees:,} trees were enumerated")

    def _add_up(self, cells: Ints, weights: Ints) -> tuple[Ints, Ints, Any]:
        """The distinct cells, their rows' number and exact sum of weights.

        A cell's sum never exceeds its scale: that is why 2^53 and 2^63 suffice.
        """
        distinct, cells, formed = _compact(cells)
        if weights.dtype == object:
            sums = np.zeros(len(formed), dtype=object)
            np.add.at(sums, cells, weights)
        elif self.numbers.fits_float:
            sums = np.bincount(cells, weights=weights)
        else:
            high, low = np.bincount(cells, weights=weights >> 32), np.bincount(cells, weights=weights & (2**32 - 1))
            sums = (high.astype(np.int64) << 32) + low.astype(np.int64)
        held = np.flatnonzero(formed)
        return distinct.take(held), formed.take(held), sums.take(held).tolist()

    def to_data(self) -> Data:
        """What was found, as JSON data: for each T_R its node numbers, how many were formed, and weights by scale."""
        classes = [
            [list(row), formed, [list(item) for item in sorted(sums.items())]]
            for row, formed, sums in sorted(zip(self._rows, self._formed, self._sums, strict=True))
        ]
        return {"trees": self.trees, "not_ancestor_closed": self.not_ancestor_closed, "classes": classes}

    def merge(self, data: Data) -> None:
        """Add what was found elsewhere (nothing more can be added here)."""
        self.trees += data["trees"]
        self.not_ancestor_closed += data["not_ancestor_closed"]
        for row, formed, weights in data["classes"]:
            number = self._merged.setdefault(tuple(row), len(self._rows))
            if number == len(self._rows):
                self._check_classes(number)
                self._rows.append(tuple(row))
                self._sums.append({})
                self._formed.append(0)
            self._formed[number] += formed
            for scale, weight in weights:
                self._sums[number][scale] = self._sums[number].get(scale, 0) + weight

    def laws(self, nodes: list[Node]) -> tuple[Law[Tree], dict[Tree, int]]:
        """The law of T_R, and how many trees prune to each, in the order of node numbers."""
        law: Law[Tree] = {}
        formed: dict[Tree, int] = {}
        for code in sorted(range(len(self._rows)), key=self._rows.__getitem__):
            tree = tuple([nodes[number] for number in self._rows[code]])
            probability: Rational = ZERO
            for scale, weight in self._sums[code].items():
                probability = probability + ratio(weight, scale)
            law[tree], formed[tree] = probability, self._formed[code]
        return law, formed


def _compact(cells: Ints) -> tuple[Ints, Ints, Ints]:
    """The cells that may occur, each cell's place among them, and how often each occurs."""
    size = int(cells.max()) + 1
    if size <= 4 * len(cells):
        return np.arange(size), cells, np.bincount(cells)
    distinct, places, formed = np.unique(cells, return_inverse=True, return_counts=True)
    return distinct, places, formed
