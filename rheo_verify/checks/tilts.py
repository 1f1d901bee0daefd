"""Ways in which a decoder can be wrong, as alternatives to the target's row: what the e-processes bet on.

A tilt gives a row p' from what is known *before* the token comes out; the bet is the mixture (1-w) p + w p'. Its factor
at the emitted token x is (1-w) + w p'(x)/p(x), whose mean under p is at most 1 whatever p' is: so any tilt is valid,
and a good one only makes the test powerful.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TOP_P = 0.9
LARGEST = 1e300
"""The most that p'(x)/p(x) counts for: a smaller factor is as fair, and an infinite one would end the bet."""


@dataclass(frozen=True)
class Seen:
    """One emitted token and what was known before it: over n categories (tokens, or tokens and "the rest").

    p [n]: the target's row. emitted: the category that came out. drafted: the categories that drafting ranks first,
    best first, which no randomness of the drafting may have chosen; None when unknown. draft [n]: the draft's row or
    None. leaf: no drafted token was tested here; None when unknown.
    """

    p: Array
    emitted: int
    drafted: tuple[int, ...] | None = None
    draft: Array | None = None
    leaf: bool | None = None


@dataclass(frozen=True)
class Tilt:
    """A named alternative, with the weights w of its bets. `power`: it is p to this power, normalised."""

    name: str
    row: Callable[[Seen], Array | None]
    weights: tuple[float, ...]
    power: float | None = None


def _inside(count: int | None) -> Callable[[Seen], Array | None]:
    def row(seen: Seen) -> Array | None:
        if not seen.drafted:
            return None
        tilted = np.zeros_like(seen.p)
        chosen = list(seen.drafted[:count])
        tilted[chosen] = seen.p[chosen]
        return _normalised(tilted)

    return row


def _outside(count: int | None) -> Callable[[Seen], Array | None]:
    def row(seen: Seen) -> Array | None:
        if not seen.drafted:
            return None
        tilted = seen.p.copy()
        tilted[list(seen.drafted[:count])] = 0
        return _normalised(tilted)

    return row


def _temperature(name: str, power: float, weights: tuple[float, ...]) -> Tilt:
    return Tilt(name, lambda seen: _normalised(seen.p**power), weights, power)


def _top_p(mass: float) -> Callable[[Seen], Array | None]:
    def row(seen: Seen) -> Array | None:
        order = np.argsort(-seen.p, kind="stable")
        before = np.cumsum(seen.p[order]) - seen.p[order]
        tilted = np.zeros_like(seen.p)
        kept = order[before < mass]
        tilted[kept] = seen.p[kept]
        return _normalised(tilted)

    return row


def _draft(seen: Seen) -> Array | None:
    return None if seen.draft is None else _normalised(seen.draft)


def _normalised(row: Array) -> Array | None:
    mass = float(row.sum())
    return row / mass if mass > 0 else None


TILTS = (
    Tilt("drafted tokens too often", _inside(None), (0.05, 0.2, 0.6)),
    Tilt("drafted tokens too seldom", _outside(None), (0.05, 0.2, 0.6)),
    Tilt("best draft too often", _inside(1), (0.05, 0.2, 0.6)),
    Tilt("best draft too seldom", _outside(1), (0.05, 0.2, 0.6)),
    _temperature("colder", 1.25, (0.5, 1.0)),
    _temperature("much colder", 2.0, (0.3, 0.9)),
    _temperature("hotter", 0.8, (0.5, 1.0)),
    _temperature("much hotter", 0.5, (0.3, 1.0)),
    Tilt(f"cut to top-p {TOP_P}", _top_p(TOP_P), (0.2, 0.9)),
    Tilt("drawn from the draft", _draft, (0.05, 0.2, 0.6)),
)
STRATA = ("everywhere", "where drafts were tested", "where none was")


def in_stratum(seen: Seen, stratum: int) -> bool:
    """Whether a token belongs to a stratum; with `leaf` unknown, only to "everywhere"."""
    return stratum == 0 or (seen.leaf is not None and seen.leaf == (stratum == 2))
