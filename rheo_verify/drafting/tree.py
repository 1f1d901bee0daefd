"""Nodes and trees.

A tree is the tuple of its nodes in the order in which they were revealed; the context itself is not a node. A node is
named by its path of slots; its path of tokens, after the tree's context, is the context of its children.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import Rational

Kind: TypeAlias = Literal["lead", "sampled", "fill"]
SlotPath: TypeAlias = tuple[int, ...]
TokenPath: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One drafted token. Equal when in the same slot with the same tokens on the path to it.

    `law` is the law that verification takes the token to be drawn from, None when the token was chosen without
    chance. `score` is the product of factors along the path.
    """

    slots: SlotPath
    tokens: TokenPath
    kind: Kind = field(compare=False)
    score: Rational = field(compare=False)
    law: Row | None = field(compare=False, default=None, repr=False)

    @property
    def token(self) -> int:
        """The drafted token."""
        return self.tokens[-1]

    @property
    def depth(self) -> int:
        """1 for the children of the context."""
        return len(self.slots)


Tree: TypeAlias = tuple[Node, ...]


def children_of(tree: Iterable[Node], slots: SlotPath) -> list[Node]:
    """The children of a node in slot order."""
    return sorted((node for node in tree if node.slots[:-1] == slots), key=lambda node: node.slots)
