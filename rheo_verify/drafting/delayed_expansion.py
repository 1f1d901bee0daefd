"""Delayed expansion: one path first, then i.i.d. paths from its end (Thomas et al., arXiv 2602.16994).

(K, L1, L2): a path of length L1, then K i.i.d. paths of length L2. Equal prefixes merge and child lists keep their
multiplicity: siblings with the same token are separate candidates that lead to the same children, which are all the
continuations drafted after that prefix. So each copy is given a copy of the children.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheo_verify.drafting.tree import Node, SlotPath, TokenPath
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.rationals import ONE


@dataclass(frozen=True)
class DelayedExpansion:
    """A way of drafting; the numbers could depend on the root's context, never on drawn tokens."""

    paths: int
    before: int
    after: int

    def __call__(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        """The nodes, layer by layer."""
        copies: dict[TokenPath, list[SlotPath]] = {(): [()]}
        ends: list[TokenPath] = [()]
        for depth in range(1, self.before + self.after + 1):
            if depth == self.before + 1:
                ends = ends * self.paths
            counts: dict[TokenPath, int] = {}
            longer: list[TokenPath] = []
            following: dict[TokenPath, list[SlotPath]] = {}
            for end in ends:
                law = model.sampling_draft(context + end)
                counts[end] = counts.get(end, 0) + 1
                tokens = (*end, chance.choose(law))
                longer.append(tokens)
                for parent in copies[end]:
                    node = Node((*parent, counts[end]), tokens, "sampled", ONE, law)
                    following.setdefault(tokens, []).append(node.slots)
                    yield node
            ends, copies = longer, following
