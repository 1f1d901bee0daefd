"""Every node that any unpruned tree can hold, numbered once by priority, so that trees become rows of small integers.

A node's number is its place in the design's order among all possible nodes. Two nodes of one tree compare as their
numbers do, so sorting a tree is sorting integers; that is the only fact the eager engine rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.networks import keep_smallest
from rheo_verify.drafting.pool import Candidate, Pool
from rheo_verify.drafting.priority import priority_of
from rheo_verify.drafting.tree import Node
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context
from rheo_verify.probability.rationals import ONE, over_common_denominator

Ints = np.ndarray[Any, np.dtype[Any]]
ROWS_AT_ONCE = 1 << 15


class NodeTable:
    """The possible nodes, and for each that can be expanded its outcomes: one for every token Y can be.

    nodes[r]: the node numbered r. parent[r]: its parent's number, 0 for children of the root. first[r], count[r]: its
    outcomes, if it can be expanded. children[k][o]: the number of the node in slot k+1 under outcome o. weight[o] over
    scale[r]: the outcome's probability, as integers (dtype object where int64 may not hold the products of a whole
    tree). trees: how many unpruned trees there are, counted by recursion over the layers. The root has the last number.
    """

    def __init__(self, design: TreeDesign, pool_of: Callable[[Context], Pool], limits: Limits | None = None) -> None:
        self.design = design
        self._limits = limits or Limits()
        self.pool_of = pool_of
        self.factors_above_one: list[Node] = []
        self.outranked: list[Node] = []
        root = Node((), (), "lead", ONE)
        self._found = [root]
        self._parent = [0]
        self._number_of: dict[tuple[int, int, int], int] = {}
        self._first: list[int] = [0]
        self._count: list[int] = [0]
        self._children: list[list[int]] = []
        self._weight: list[int] = []
        self._scale: list[int] = [1]
        self._largest_scale = 1
        self._collect()
        self._number()

    def _collect(self) -> None:
        """Find the nodes layer by layer; only which beams can occur matters, so equal beams are followed once."""
        beams = np.zeros((1, 1), dtype=np.int64)
        times = np.array([1], dtype=object)
        for depth in range(1, self.design.depth + 1):
            start = len(self._found)
            scales = [self._expand(int(index)) for index in self._limits.watch(np.unique(beams), every=1)]
            self._largest_scale *= max(scales) ** beams.shape[1]
            first, count = np.array(self._first), np.array(self._count)
            if depth == self.design.depth:
                self.trees = int((times * np.prod(count[beams].astype(object), axis=1)).sum())
                return
            layer = sorted(
                range(start, len(self._found)), key=lambda index: priority_of(self.design)(self._found[index])
            )
            place = np.empty(len(self._found), dtype=np.int64)
            place[layer] = np.arange(len(layer))
            children = place[np.array(self._children)].T
            reached: dict[bytes, int] = {}
            for rows, outcomes in self._limits.watch(expansions(list(beams.T), first, count), every=1):
                columns = [slot[outcome] for outcome in outcomes for slot in children]
                best = np.stack(keep_smallest(columns, self.design.beam), axis=1)
                distinct, inverse = np.unique(best, axis=0, return_inverse=True)
                sums = np.zeros(len(distinct), dtype=object)
                np.add.at(sums, inverse.reshape(-1), times[rows])
                for beam, number in zip(distinct, sums, strict=True):
                    reached[beam.tobytes()] = reached.get(beam.tobytes(), 0) + number
            beams = np.array([np.frombuffer(key, dtype=np.int64) for key in reached])
            beams = np.array(layer, dtype=np.int64)[beams]
            times = np.array(list(reached.values()), dtype=object)

    def _expand(self, index: int) -> int:
        """Add all children that the node can have, and its outcomes; returns the scale of their weights."""
        node = self._found[index]
        pool = self.pool_of(node.tokens)
        weights, scale = over_common_denominator(pool.sampling_law or (ONE,))
        outcomes = pool.outcomes or (None,)
        self._first[index], self._count[index], self._scale[index] = len(self._weight), len(outcomes), scale
        for sampled in self._limits.watch(outcomes, every=64):
            candidates = pool.candidates(sampled)
            made = [self._child(index, candidate, pool) for candidate in candidates]
            proxy = next((c.factor for c in candidates if c.kind == "sampled"), None)
            if proxy is not None and any(c.kind == "fill" and c.factor > proxy for c in candidates):
                self.outranked.append(self._found[made[len(pool.lead)]])
            self._children.append(made)
            self._weight.append(weights[sampled] if sampled is not None else 1)
        return scale

    def _child(self, parent: int, candidate: Candidate, pool: Pool) -> int:
        key = (parent, candidate.slot, candidate.token)
        number = self._number_of.get(key)
        if number is None:
            above = self._found[parent]
            slots, tokens = (*above.slots, candidate.slot), (*above.tokens, candidate.token)
            law = pool.verification_law if candidate.kind == "sampled" else None
            node = Node(slots, tokens, candidate.kind, above.score * candidate.factor, law)
            number = self._number_of[key] = len(self._found)
            self._found.append(node)
            self._parent.append(parent)
            self._first.append(0)
            self._count.append(0)
            self._scale.append(1)
            if candidate.factor > 1:
                self.factors_above_one.append(node)
        return number

    def _number(self) -> None:
        order = priority_of(self.design)
        ranked = sorted(
            range(1, len(self._found)), key=lambda index: (order(self._found[index]), self._found[index].slots)
        )
        ranked.append(0)
        place = np.empty(len(ranked), dtype=np.min_scalar_type(len(ranked)))
        place[ranked] = np.arange(len(ranked))
        exact_type: Any = np.int64 if self._largest_scale < 2**63 else object
        self.nodes = [self._found[index] for index in ranked]
        self.root = len(ranked) - 1
        parents = np.array([self._parent[index] for index in ranked])
        self.parent = np.where(parents == 0, 0, place[parents]).astype(place.dtype)
        self.first = np.array([self._first[index] for index in ranked])
        self.count = np.array([self._count[index] for index in ranked])
        self.scale = np.array([self._scale[index] for index in ranked], dtype=exact_type)
        self.weight = np.array(self._weight, dtype=exact_type)
        self.children = [np.ascontiguousarray(column) for column in place[np.array(self._children)].T]
        self.fits_float = self._largest_scale < 2**53


def expansions(beam: list[Ints], first: Ints, count: Ints) -> Iterator[tuple[Ints, list[Ints]]]:
    """All outcomes of every row of parents, at most `ROWS_AT_ONCE` at a time.

    `beam[w][row]` is the w-th parent. Yields, for each outcome of the parents together, its row and the outcome of
    each parent: `(rows, outcomes[w])`.
    """
    counts = [count[column] for column in beam]
    totals = np.prod(np.stack(counts), axis=0)
    ends = np.cumsum(totals)
    for low in range(0, int(ends[-1]), ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, int(ends[-1]))
        begin = int(np.searchsorted(ends, low, side="right"))
        end = int(np.searchsorted(ends, high - 1, side="right")) + 1
        starts = ends[begin:end] - totals[begin:end]
        sizes = np.minimum(ends[begin:end], high) - np.maximum(starts, low)
        rows = np.repeat(np.arange(begin, end), sizes)
        rest = np.arange(low, high) - np.repeat(starts, sizes)
        if totals[begin:end].max() < 2**31:
            rest = rest.astype(np.uint32)  # division is twice as fast
        outcomes = []
        for column, size in zip(reversed(beam), reversed(counts), strict=True):
            part = size[begin:end]
            divisor = part[0] if (part == part[0]).all() else size[rows]
            quotient = rest // divisor.astype(rest.dtype)
            outcomes.append(first.take(column).take(rows) + (rest - quotient * divisor.astype(rest.dtype)))
            rest = quotient
        yield rows, outcomes[::-1]
