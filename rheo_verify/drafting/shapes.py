"""Shapes of trees: a shape is the tuple of its children's shapes, so equal subtrees are equal values.

>>> chain(2)
(((),),)
>>> uniform(2, 1)
((), ())
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rheo_verify.drafting.tree import SlotPath

Shape: TypeAlias = "tuple[Shape, ...]"

LEAF: Shape = ()


def chain(length: int) -> Shape:
    """One path of `length` nodes."""
    return uniform(1, length)


def uniform(children: int, depth: int) -> Shape:
    """Every node down to `depth` has the same number of children."""
    return (uniform(children, depth - 1),) * children if depth else LEAF


def paths(count: int, length: int) -> Shape:
    """`count` separate paths of `length` nodes from the root."""
    return (chain(length - 1),) * count


def shape_of(slots: Iterable[SlotPath]) -> Shape:
    """The shape of a tree, given its nodes' slot paths (siblings in slot order; gaps between slots close up)."""
    below: dict[SlotPath, list[SlotPath]] = {}
    for path in sorted(slots):
        below.setdefault(path[:-1], []).append(path)

    def at(path: SlotPath) -> Shape:
        return tuple(at(child) for child in below.get(path, ()))

    return at(())


def size(shape: Shape) -> int:
    """The number of nodes below the root; a subtree that stands in many places is counted once and multiplied."""
    known: dict[int, int] = {}

    def below(here: Shape) -> int:
        if id(here) not in known:
            known[id(here)] = sum(1 + below(child) for child in here)
        return known[id(here)]

    return below(shape)


def depth_of(shape: Shape) -> int:
    """The length of the longest path from the root."""
    return max((1 + depth_of(child) for child in shape), default=0)
