"""Lazy drafting: grow the tree one node at a time, best first, and draw a sampled token only when its slot is reached.

This growth *is* the paper's equivalence-class argument: what has been revealed is T_k, the next slot is a function of
it, and one finished growth is one class. It is the published algorithm only under the conditions of claim
`eager-equals-lazy`; `validity.why_not_lazy` says where they fail.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import TypeAlias

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import Candidate, Pool, pool_at
from rheo_verify.drafting.tree import Node, SlotPath
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import draw
from rheo_verify.probability.rationals import ONE, Rational

_Hidden: TypeAlias = tuple[Rational, int, SlotPath, Node, Pool, int, int | None]
"""A heap entry: priority (score negated, depth, slots); then parent, pool, index in the pool, Y if drawn."""


def best_first(chance: Chance, model: Model, context: Context, design: TreeDesign) -> Iterator[Node]:
    """Yield up to R nodes by decreasing priority, drawing Y when its slot comes up."""
    growth = Growth(design, lambda tokens: pool_at(model, context + tokens, design))
    while not growth.finished:
        law = growth.next_law
        yield growth.reveal(None if law is None else draw(chance, law))


class Growth:
    """A tree being grown: the nodes revealed so far, and a heap with the best hidden slot of each expanded context.

    Within a pool the slots come up in their own order (lead by decreasing q, then the sampled slot, which outranks
    every fill, then fill), so one entry a pool is enough, and a fill is never looked at before Y is known.
    """

    def __init__(self, design: TreeDesign, pool_of: Callable[[Context], Pool]) -> None:
        self.design = design
        self.pool_of = pool_of
        self.revealed: list[Node] = []
        self._heap: list[_Hidden] = []
        self._popped = [0] * (design.depth + 1)
        self._expand(Node((), (), "lead", ONE))

    def copy(self) -> Growth:
        """An independent growth with the same past, for walking every future."""
        other = object.__new__(Growth)
        other.design = self.design
        other.pool_of = self.pool_of
        other.revealed = self.revealed.copy()
        other._heap = self._heap.copy()
        other._popped = self._popped.copy()
        return other

    @property
    def finished(self) -> bool:
        """Whether the budget is used up or no slot is left."""
        return len(self.revealed) == self.design.budget or not self._heap

    @property
    def next_law(self) -> tuple[Rational, ...] | None:
        """q-tilde if the next slot is a sampled one (its token is still to be drawn), else None."""
        _, _, _, _, pool, index, _ = self._heap[0]
        return pool.sampling_law if index == len(pool.lead) else None

    @property
    def next_outcomes(self) -> tuple[int, ...]:
        """The tokens that the next slot, if it is a sampled one, can have."""
        return self._heap[0][4].outcomes

    def reveal(self, drawn: int | None) -> Node:
        """Reveal the next slot (with token `drawn` when it is a sampled one) and return its node."""
        negated, depth, slots, parent, pool, index, sampled = heapq.heappop(self._heap)
        if index == len(pool.lead):
            sampled = drawn
        candidate = _visible(pool, sampled)[index]
        law = pool.verification_law if candidate.kind == "sampled" else None
        node = Node(slots, (*parent.tokens, candidate.token), candidate.kind, -negated, law)
        self.revealed.append(node)
        self._hide(parent, pool, index + 1, sampled)
        self._popped[depth] += 1
        if depth < self.design.depth and self._popped[depth] <= self.design.beam:
            self._expand(node)
        return node

    def _expand(self, node: Node) -> None:
        self._hide(node, self.pool_of(node.tokens), 0, None)

    def _hide(self, parent: Node, pool: Pool, index: int, sampled: int | None) -> None:
        visible = _visible(pool, sampled)
        if index < len(visible):
            candidate = visible[index]
            slots = (*parent.slots, candidate.slot)
            score = parent.score * candidate.factor
            heapq.heappush(self._heap, (-score, len(slots), slots, parent, pool, index, sampled))


def _visible(pool: Pool, sampled: int | None) -> tuple[Candidate, ...]:
    """The slots that can be looked at: up to the sampled one until Y is drawn. Its factor must not depend on Y."""
    if sampled is None and pool.sampling_law is not None:
        return pool.candidates(pool.outcomes[0])[: len(pool.lead) + 1]
    return pool.candidates(sampled)
