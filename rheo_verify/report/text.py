"""Plain text for terminals: width, wrapping, and colour only where it is wanted."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.probability.rationals import decimal, text
from rheo_verify.report.terminal import NARROW, wrapped

_COLOURS = {"VERIFIED": "32", "REFUTED": "31", "INCONCLUSIVE": "33"}


@dataclass(frozen=True)
class Style:
    """How wide lines may be, and whether to colour."""

    width: int = 100
    colour: bool = False

    def verdict(self, verdict: Verdict, pad: int = 0) -> str:
        """The verdict's name in its colour, padded to a width."""
        name = str(verdict).ljust(pad)
        return f"\033[1;{_COLOURS[str(verdict)]}m{name}\033[0m" if self.colour else name

    def strong(self, words: str) -> str:
        """Bold."""
        return f"\033[1m{words}\033[0m" if self.colour else words

    def faint(self, words: str) -> str:
        """Dimmed."""
        return f"\033[2m{words}\033[0m" if self.colour else words

    def item(self, label: str, words: str, indent: int = 10) -> str:
        """A label in the margin and wrapped words beside it (below it on a narrow terminal)."""
        if self.width < NARROW:
            body = wrapped(words, max(20, self.width - 2))
            return "\n".join([*([label] if label else []), *("  " + line for line in body)])
        body = wrapped(words, self.width - indent) or [""]
        return "\n".join((label if i == 0 else "").ljust(indent) + line for i, line in enumerate(body))


def stdout_style() -> Style:
    """For stdout as it is now: `NO_COLOR` and pipes are honoured."""
    terminal = sys.stdout.isatty()
    width = max(30, min(shutil.get_terminal_size((100, 24)).columns, 110))
    return Style(width, terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def both(value: Any, digits: int = 4) -> str:
    """``0.1600 (4/25)``; a long fraction is given by the size of its parts, the JSON output has it whole."""
    exact = text(value)
    if "/" not in exact:
        return exact
    if len(exact) > 44:
        numerator, denominator = exact.split("/")
        exact = f"exactly, {len(numerator)} over {len(denominator)} digits"
    return f"{decimal(value, digits)} ({exact})"
