"""DominoTree (arXiv 2607.08642): JetSpec's parallel rows, corrected at each parent by what is known of its path.

The published correction is a small recurrent state along the path, added to the row's logits: here row d times the
draft's own row after the path, renormalised. Best first by the product of corrected probabilities; a node is kept when
it is popped. Children are the top K, or (`sampled`) a draw without replacement from the corrected row. The draw is then
still scored by its own q, so that a drawn token decides its own survival: lossless under sampler match, which ignores
q, and lossy under rejection, to which the draw's stated law is not the law of the tokens that survive.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rheo_verify.drafting.parallel_rows import parallel_rows
from rheo_verify.drafting.top import TOP
from rheo_verify.drafting.tree import Kind, Node
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import normalise
from rheo_verify.probability.rationals import ONE


@dataclass(frozen=True)
class DominoTree:
    """A way of drafting: K children a parent, depth D, at most `budget` nodes."""

    children: int
    depth: int
    budget: int
    sampled: bool = False

    def __call__(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        """The nodes in the order in which they are popped."""
        rows = parallel_rows(model, context, self.depth)
        heap: list[tuple[Any, ...]] = []
        siblings = WITHOUT_REPLACEMENT if self.sampled else TOP
        parent, popped = Node((), (), "lead", ONE), 0
        while popped < self.budget:
            if parent.depth < self.depth:
                path_row = model.draft(context + parent.tokens)
                weights = [ahead * here for ahead, here in zip(rows[parent.depth], path_row, strict=True)]
                row = normalise(weights) if any(weights) else path_row
                for slot, (token, law) in enumerate(siblings.draw(chance, row, row, self.children), 1):
                    score = parent.score * row[token]
                    kind: Kind = "lead" if law is None else "sampled"
                    node = Node((*parent.slots, slot), (*parent.tokens, token), kind, score, law)
                    heapq.heappush(heap, (-score, node.depth, node.slots, node))
            if not heap:
                return
            parent = heapq.heappop(heap)[-1]
            popped += 1
            yield parent
