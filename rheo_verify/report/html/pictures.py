"""Trees as SVG files: of an enumeration, the class that its page opens on; of a replay, the tree that was replayed."""

from __future__ import annotations

from rheo_verify.checks.class_walks import class_walks
from rheo_verify.checks.enumeration import Enumeration
from rheo_verify.checks.walkthrough import Walkthrough
from rheo_verify.limits import Limits
from rheo_verify.report.enumeration import headline
from rheo_verify.report.html.tree_svg import Picture, stand_alone
from rheo_verify.report.text import both


def class_svg(result: Enumeration, command: str, limits: Limits | None = None) -> str:
    """The class in which the loss shows, else the most probable one. `command` goes into the metadata.

    Raises `LimitReached`.
    """
    shown = next(class_walks(result, 1, limits))
    name = "The counterexample" if result.blame is not None else "The most probable class"
    title = f"{name}, of probability {both(shown.probability)}: {headline(result.model, result.design, result.rule)}"
    walk = shown.walk
    return stand_alone(Picture(walk.model, walk.tree, walk.pruned, shown.blamed, title), command)


def walk_svg(walk: Walkthrough, command: str) -> str:
    """The tree of a replay."""
    title = f"A tree of probability {both(walk.drafted)}: {headline(walk.model, walk.design, walk.rule)}"
    return stand_alone(Picture(walk.model, walk.tree, walk.pruned, None, title), command)
