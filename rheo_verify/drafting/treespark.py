"""TreeSpark: best-first growth over slots by path survival, with early stopping, siblings without replacement.

Zhou, Wang and Wang, "TreeSpark". A slot's priority is the survival of its parent times the largest q not yet drawn
there, a bound that is known before the slot's token is; growth stops at the threshold, at the cap on nodes, and at the
cap on branches of a node. Only then is the token read, from an ordered draw without replacement. The published
calibration of edge probabilities is a function of what is revealed; here it is the identity. Nothing is pruned
afterwards: that is why a token may steer later growth but never its own survival.

`fault` plants what would break it: `drawn` (the slot's priority reads the token drawn for it), `dropped` (a token of
low survival is thrown away after its draw), `pruned` (the best cap - 1 nodes are kept after growing), `sorted`
(siblings are put in the order of q before verification).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rheo_verify.drafting.tree import Node, Tree
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row, normalise
from rheo_verify.probability.rationals import ONE, Rational

Fault: TypeAlias = Literal["none", "drawn", "dropped", "pruned", "sorted"]
_Slot: TypeAlias = tuple[Rational, tuple[int, ...], Node, tuple[int, ...], Row, int | None]
"""A hidden slot: priority negated, its slot path, parent, tokens drawn there before, law, and its token if drawn."""


@dataclass(frozen=True)
class TreeSpark:
    """A way of drafting. `threshold`: no slot of lower priority is revealed. Units: probabilities."""

    threshold: Rational
    nodes: int
    branches: int
    depth: int
    fault: Fault = "none"

    def __call__(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        """Reveal slots by decreasing survival."""
        tree = tuple(self._grow(chance, model, context))
        if self.fault == "pruned" and len(tree) == self.nodes:
            tree = _kept(tree, self.nodes - 1)
        if self.fault == "sorted":
            tree = _sorted(tree, model, context)
        yield from tree

    def _grow(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        hidden: list[_Slot] = []
        self._hide(hidden, chance, model, context, Node((), (), "lead", ONE), ())
        revealed = 0
        while hidden and revealed < self.nodes:
            negated, slots, parent, before, law, token = heapq.heappop(hidden)
            if -negated < self.threshold:
                return
            if token is None:
                token = chance.choose(law)
            survival = parent.score * model.sampling_draft(context + parent.tokens)[token]
            node = Node(slots, (*parent.tokens, token), "sampled", survival, law)
            if len(slots[-1:]) and slots[-1] < self.branches:
                self._hide(hidden, chance, model, context, parent, (*before, token))
            if self.fault == "dropped" and survival < self.threshold:
                continue
            revealed += 1
            if len(slots) < self.depth:
                self._hide(hidden, chance, model, context, node, ())
            yield node

    def _hide(
        self, hidden: list[_Slot], chance: Chance, model: Model, context: Context, parent: Node, before: tuple[int, ...]
    ) -> None:
        row = model.sampling_draft(context + parent.tokens)
        left = WITHOUT_REPLACEMENT.following(row, row, before, self.branches)
        if left is None or isinstance(left, int):
            return
        law = normalise(left)
        token = chance.choose(law) if self.fault == "drawn" else None
        bound = max(left) if token is None else row[token]
        slots = (*parent.slots, len(before) + 1)
        heapq.heappush(hidden, (-parent.score * bound, slots, parent, before, law, token))


def _kept(tree: Tree, count: int) -> Tree:
    """The nodes of highest survival (a child's never exceeds its parent's; ties by revelation)."""
    best = sorted(range(len(tree)), key=lambda index: (-tree[index].score, index))[:count]
    return tuple(tree[index] for index in sorted(best))


def _sorted(tree: Tree, model: Model, context: Context) -> Tree:
    """Siblings by decreasing q-hat, each given the law that the new order would have without replacement."""
    order: dict[tuple[int, ...], tuple[int, ...]] = {(): ()}
    result: list[Node] = []
    for depth in range(1, 1 + max((node.depth for node in tree), default=0)):
        by_parent: dict[tuple[int, ...], list[Node]] = {}
        for node in tree:
            if node.depth == depth:
                by_parent.setdefault(node.slots[:-1], []).append(node)
        for parent, children in by_parent.items():
            row = model.sampling_draft(context + children[0].tokens[:-1])
            children.sort(key=lambda node: (-row[node.token], node.token))
            for slot, node in enumerate(children, 1):
                before = tuple(sibling.token for sibling in children[: slot - 1])
                left = WITHOUT_REPLACEMENT.following(row, row, before, len(children))
                assert left is not None
                assert not isinstance(left, int)
                order[node.slots] = (*order[parent], slot)
                result.append(replace(node, slots=order[node.slots], law=normalise(left)))
    return tuple(result)
