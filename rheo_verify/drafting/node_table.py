"""Every node that any unpruned tree can hold, numbered once by priority, so that trees become rows of small integers.

A node's number is its place in the design's order among all possible nodes. Two nodes of one tree compare as their
numbers do, so sorting a tree is sorting integers; that is the only fact the eager engine rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.expansion import Ints, Outcomes, ascending, expand
from rheo_verify.drafting.pool import Candidate, Pool
from rheo_verify.drafting.priority import priority_of
from rheo_verify.drafting.tree import Node
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context
from rheo_verify.probability.rationals import ONE, over_common_denominator


@dataclass(frozen=True)
class Numbers:
    """All that forming, pruning and weighing trees needs to know of the nodes: plain arrays, for any process.

    parent[r]: the number of node r's parent, 0 for children of the root. outcomes: what can follow each node, with the
    numbers of its children; an outcome's probability is its weight over scale[r], both integers (floats that hold them
    exactly below 2^53: `fits_float`; dtype object where 2^63 may not hold the products of a whole tree). The root has
    the last number.
    """

    depth: int
    beam: int
    budget: int
    root: int
    parent: Ints
    outcomes: Outcomes
    scale: Ints
    fits_float: bool

    def to_data(self) -> list[Any]:
        """The same as JSON data."""
        arrays = (self.parent, self.scale, self.outcomes.first, self.outcomes.count, *self.outcomes.children)
        weights = [int(weight) for weight in self.outcomes.weight.tolist()]
        return [self.depth, self.beam, self.budget, self.root, [array.tolist() for array in arrays], weights]


class NodeTable:
    """The possible nodes, and for each that can be expanded its outcomes: one for every token Y can be.

    nodes[r]: the node numbered r. numbers: what follows what, and how probably. trees: how many unpruned trees there
    are, counted by recursion over the layers.
    """

    def __init__(self, design: TreeDesign, pool_of: Callable[[Context], Pool], limits: Limits | None = None) -> None:
        self.design = design
        self._limits = limits or Limits()
        self.pool_of = pool_of
        self.factors_above_one: list[Node] = []
        self.outranked: list[Node] = []
        self._priority = priority_of(design)
        root = Node((), (), "lead", ONE)
        self._found, self._order, self._parent = [root], [self._priority(root)], [0]
        self._expanded: dict[int, tuple[int, int, int]] = {}
        self._children: list[list[int]] = []
        self._weight: list[int] = []
        self._largest_scale = 1
        self._collect()
        self._number()

    def _collect(self) -> None:
        """Find the nodes layer by layer; only which beams can occur matters, so equal beams are followed once."""
        beams = np.zeros((1, 1), dtype=np.int64)
        times = np.array([1], dtype=object)
        for depth in range(1, self.design.depth + 1):
            start = len(self._found)
            scales = [self._expand(index) for index in self._limits.watch(np.unique(beams).tolist(), every=1)]
            self._largest_scale *= max(scales) ** beams.shape[1]
            first, count, _ = self._outcomes()
            if depth == self.design.depth:
                self.trees = int((times * np.prod(count[beams].astype(object), axis=1)).sum())
                return
            layer = np.array(sorted(range(start, len(self._found)), key=self._order.__getitem__))
            place = np.zeros(len(self._found), dtype=np.min_scalar_type(len(layer)))
            place[layer] = np.arange(len(layer))
            outcomes = Outcomes(first, count, ascending(place[np.array(self._children)]), np.ones(len(self._weight)))
            reached: dict[tuple[int, ...], int] = {}
            sets: list[tuple[list[Ints], int]] = [([], self.design.beam)]
            grown = expand(list(beams.T), outcomes, sets, np.ones(len(beams)))
            for some in self._limits.watch(grown, every=1):
                for beam, number in _count(some.kept[0], some.repeat(times)):
                    reached[beam] = reached.get(beam, 0) + number
            beams, times = layer[np.array(list(reached))], np.array(list(reached.values()), dtype=object)

    def _outcomes(self) -> tuple[Ints, Ints, list[int]]:
        """For every node found so far, its first outcome, how many there are, and their scale."""
        first, count = np.zeros((2, len(self._found)), dtype=np.int64)
        scale = [1] * len(self._found)
        for index, (begin, size, over) in self._expanded.items():
            first[index], count[index], scale[index] = begin, size, over
        return first, count, scale

    def _expand(self, index: int) -> int:
        """Add all children that the node can have, and its outcomes; returns the scale of their weights."""
        above = self._found[index]
        pool = self.pool_of(above.tokens)
        weights, scale = over_common_denominator(pool.sampling_law or (ONE,))
        outcomes = pool.outcomes or (None,)
        self._expanded[index] = len(self._weight), len(outcomes), scale
        made: dict[tuple[int, int], int] = {}
        for sampled in self._limits.watch(outcomes, every=64):
            candidates = pool.candidates(sampled)
            row = []
            for candidate in candidates:
                number = made.get((candidate.slot, candidate.token))
                if number is None:
                    number = made[candidate.slot, candidate.token] = self._child(index, above, candidate, pool)
                row.append(number)
            self._children.append(row)
            self._weight.append(weights[sampled] if sampled is not None else 1)
            if sampled is not None:
                slot, proxy = len(pool.lead), candidates[len(pool.lead)].factor
                if any(candidate.factor > proxy for candidate in candidates[slot + 1 :]):
                    self.outranked.append(self._found[row[slot]])
        return scale

    def _child(self, parent: int, above: Node, candidate: Candidate, pool: Pool) -> int:
        slot, kind, token, factor = candidate
        law = pool.verification_law if kind == "sampled" else None
        node = Node((*above.slots, slot), (*above.tokens, token), kind, above.score * factor, law)
        self._found.append(node)
        self._order.append(self._priority(node))
        self._parent.append(parent)
        if factor > 1:
            self.factors_above_one.append(node)
        return len(self._found) - 1

    def _number(self) -> None:
        ranked = sorted(range(1, len(self._found)), key=lambda index: (self._order[index], self._found[index].slots))
        ranked.append(0)
        place = np.empty(len(ranked), dtype=np.min_scalar_type(len(ranked)))
        place[ranked] = np.arange(len(ranked))
        self.nodes = [self._found[index] for index in ranked]
        above = np.array(self._parent)[ranked]
        first, count, scale = self._outcomes()
        exact_type: Any = np.int64 if self._largest_scale < 2**63 else object
        fits_float = self._largest_scale < 2**53
        weight = np.array(self._weight, dtype=np.float64 if fits_float else exact_type)
        self.numbers = Numbers(
            self.design.depth,
            self.design.beam,
            self.design.budget,
            len(ranked) - 1,
            np.where(above == 0, 0, place[above]).astype(place.dtype),
            Outcomes(first[ranked], count[ranked], ascending(place[np.array(self._children)]), weight),
            np.array(scale, dtype=exact_type)[ranked],
            fits_float,
        )


def _count(columns: list[Ints], times: Ints) -> Iterator[tuple[tuple[int, ...], int]]:
    """The distinct rows of columns, and the sum of `times` (dtype object) over each."""
    order = np.lexsort(columns)
    rows = np.stack(columns, axis=1)[order]
    begin = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    return zip(map(tuple, rows[begin].tolist()), np.add.reduceat(times[order], begin).tolist(), strict=True)
