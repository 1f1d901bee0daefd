"""JetSpec (arXiv 2606.18394): a tree out of one parallel forward; row d's top-K list serves all parents at depth d - 1.

A best-first heap on the summed log q (here the product, exact and of the same order): pop the best node, append all of
its children, until the budget is used up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rheo_verify.drafting.parallel_rows import parallel_rows
from rheo_verify.drafting.tree import Node
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import ranking
from rheo_verify.probability.rationals import ONE


@dataclass(frozen=True)
class JetSpec:
    """A way of drafting: K children a parent, D rows, at most `budget` nodes."""

    children: int
    depth: int
    budget: int

    def __call__(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        """The nodes in the order in which they are appended."""
        rows = parallel_rows(model, context, self.depth)
        heap: list[tuple[Any, ...]] = [(-ONE, 0, (), Node((), (), "lead", ONE))]
        appended = 0
        while heap:
            parent = heapq.heappop(heap)[-1]
            if parent.depth == self.depth:
                continue
            row = rows[parent.depth]
            for slot, token in enumerate(ranking(row)[: self.children], 1):
                if appended == self.budget:
                    return
                node = Node((*parent.slots, slot), (*parent.tokens, token), "lead", parent.score * row[token])
                heapq.heappush(heap, (-node.score, node.depth, node.slots, node))
                appended += 1
                yield node
