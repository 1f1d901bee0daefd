"""A tree whose topology is fixed before any of its tokens is drawn: chains, static trees, replayed shapes.

The shape may depend on the context at the root, never on a drawn token. Then the siblings at one node are independent
of everything else in the tree, and the exact engine needs each context's siblings only once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rheo_verify.drafting.shapes import Shape
from rheo_verify.drafting.siblings import Siblings
from rheo_verify.drafting.tree import Node, SlotPath, TokenPath
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.rationals import ONE


@dataclass(frozen=True)
class FrozenTree:
    """A way of drafting: the shape at a context, and how the siblings at each node are drawn."""

    shape: Callable[[Model, Context], Shape]
    siblings: Siblings

    def __call__(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        """The tree's nodes, layer by layer."""
        open_nodes: deque[tuple[SlotPath, TokenPath, Shape]] = deque([((), (), self.shape(model, context))])
        while open_nodes:
            slots, tokens, shape = open_nodes.popleft()
            if not shape:
                continue
            here = context + tokens
            drawn = self.siblings.draw(chance, model.draft(here), model.sampling_draft(here), len(shape))
            for slot, (token, law) in enumerate(drawn, 1):
                node = Node((*slots, slot), (*tokens, token), "lead" if law is None else "sampled", ONE, law)
                open_nodes.append((node.slots, node.tokens, shape[slot - 1]))
                yield node


def frozen(shape: Shape, siblings: Siblings) -> FrozenTree:
    """The same shape at every context."""
    return FrozenTree(lambda model, context: shape, siblings)
