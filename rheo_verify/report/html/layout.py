"""Where the nodes of a drawn tree stand: depth from left to right, leaves from top to bottom, parents in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_verify.drafting.tree import Node, SlotPath

WIDTH, HEIGHT = 138, 60
ACROSS, DOWN = 38, 12
ROOT = 74
MARGIN = 8


@dataclass(frozen=True)
class Layout:
    """`places` maps slot paths, () the context, to the upper left corner of a node's box; the size is of the whole."""

    places: dict[SlotPath, tuple[int, int]]
    width: int
    height: int


def lay_out(nodes: Sequence[Node]) -> Layout:
    """Places for nodes, all of whose parents are among them, and for the context."""
    below: dict[SlotPath, list[SlotPath]] = {(): []}
    for slots in sorted(node.slots for node in nodes):
        below.setdefault(slots[:-1], []).append(slots)
        below.setdefault(slots, [])
    tops: dict[SlotPath, int] = {}
    leaves = 0
    stack: list[tuple[SlotPath, bool]] = [((), False)] if nodes else []
    while stack:
        slots, children_done = stack.pop()
        if not below[slots]:
            tops[slots] = MARGIN + leaves * (HEIGHT + DOWN)
            leaves += 1
        elif children_done:
            tops[slots] = (tops[below[slots][0]] + tops[below[slots][-1]]) // 2
        else:
            stack.append((slots, True))
            stack.extend((child, False) for child in reversed(below[slots]))
    if not nodes:
        tops[()], leaves = MARGIN, 1
    places = {slots: (_left(len(slots)), top) for slots, top in tops.items()}
    deepest = max(map(len, places))
    width = _left(deepest) + (WIDTH if deepest else ROOT) + MARGIN
    return Layout(places, width, 2 * MARGIN + leaves * (HEIGHT + DOWN) - DOWN)


def _left(depth: int) -> int:
    return MARGIN + (ROOT + ACROSS + (depth - 1) * (WIDTH + ACROSS) if depth else 0)
