"""Exact values and tokens as markup: a decimal to read, the exact value beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import decimal, text
from rheo_verify.report.html.markup import Markup, escape, join, tag

LONGEST_EXACT = 44
LONGEST_ROW = 12


def number(value: Any) -> Markup:
    """``0.1600`` and, smaller, ``4/25``; an integer by itself; of a long fraction the number of its digits."""
    exact = text(value)
    if "/" not in exact:
        return escape(exact)
    if len(exact) > LONGEST_EXACT:
        above, below = exact.split("/")
        exact = f"{len(above)} over {len(below)} digits"
    return join(decimal(value), " ", tag("small", exact))


def brief(value: Any, longest: int = 7) -> str:
    """The exact value where it is short, else four decimals: for pictures, whose tooltips have it whole."""
    exact = text(value)
    return exact if len(exact) <= longest else decimal(value)


def visible(name: str, longest: int | None = None) -> str:
    """A token's name so that it can be seen: a blank one in quotes, a long one cut."""
    shown = name if name.strip() else repr(name)
    return shown if longest is None or len(shown) <= longest else shown[: longest - 1] + "…"


def token(model: Model, which: int) -> Markup:
    """A token's name; its direction of writing does not reach what stands beside it."""
    return tag("bdi", visible(model.name(which)))


def phrase(model: Model, tokens: Context) -> Markup:
    """Tokens in order; ``(empty)`` if there is none."""
    if not tokens:
        return escape("(empty)")
    return join(*([" "] * bool(place) + [token(model, which)] for place, which in enumerate(tokens)))


def law(model: Model, row: Row) -> Markup:
    """A row's tokens of positive probability, likeliest first where there are too many to list."""
    shown = [(which, p) for which, p in enumerate(row) if p]
    if len(shown) > LONGEST_ROW:
        kept = sorted(shown, key=lambda pair: (-pair[1], pair[0]))[:LONGEST_ROW]
        return join(_listed(model, kept), f" and {len(shown) - len(kept)} more")
    return _listed(model, shown) if shown else escape("nothing")


def _listed(model: Model, pairs: Sequence[tuple[int, Any]]) -> Markup:
    parts = [join(token(model, which), "\u00a0", brief(p, 15)) for which, p in pairs]
    return join(*([", "] * bool(place) + [part] for place, part in enumerate(parts)))
