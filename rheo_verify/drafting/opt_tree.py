"""OPT-Tree: grow a deterministic tree while its expected acceptance length still grows.

Wang et al. 2025, "OPT-Tree: Speculative Decoding with Adaptive Draft Tree Structure", section 3.2. A node's weight is
the product of q on its path. The next layer holds the n best children of the last layer's nodes. After each layer the
n largest weights of all layers are summed; growth goes on while that sum rose by more than the threshold, and the n
best nodes are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheo_verify.drafting.priority import by_position
from rheo_verify.drafting.tree import Node
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import ranking
from rheo_verify.probability.rationals import ONE, ZERO, Rational, total


@dataclass(frozen=True)
class OptTree:
    """A way of drafting: at most `nodes` nodes, `depth` layers, and the least rise that pays for another layer."""

    nodes: int
    depth: int
    threshold: Rational = ZERO

    def __call__(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        """The kept nodes, best first."""
        layer, expected = [Node((), (), "lead", ONE)], ZERO
        tree: list[Node] = []
        for _ in range(self.depth):
            children = [child for parent in layer for child in self._children(parent, model, context)]
            layer = sorted(children, key=by_position)[: self.nodes]
            tree = sorted([*tree, *layer], key=by_position)[: self.nodes]
            longer = total(node.score for node in tree)
            if longer - expected <= self.threshold:
                break
            expected = longer
        yield from tree

    def _children(self, parent: Node, model: Model, context: Context) -> list[Node]:
        row = model.draft(context + parent.tokens)
        best = ranking(row)[: self.nodes]
        return [
            Node((*parent.slots, slot), (*parent.tokens, token), "lead", parent.score * row[token])
            for slot, token in enumerate(best, 1)
        ]
