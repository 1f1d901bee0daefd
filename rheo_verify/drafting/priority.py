"""The order in which nodes outrank each other: in the beam, in pruning, in best-first growth (SPEC 1.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Node

Priority: TypeAlias = Callable[[Node], tuple[Any, ...]]


def by_position(node: Node) -> tuple[Any, ...]:
    """Score descending, then depth ascending, then left to right by slots: never by what the tokens are."""
    return (-node.score, node.depth, node.slots)


def by_token(node: Node) -> tuple[Any, ...]:
    """The broken order of claim `tie-rule`: ties go by the token path, so a drawn token decides its own survival."""
    return (-node.score, node.depth, node.tokens)


def priority_of(design: TreeDesign) -> Priority:
    """The design's order; smaller sorts first, that is outranks."""
    return by_position if design.ties == "position" else by_token
