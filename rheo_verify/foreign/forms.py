"""Numbers and forms under `Lazy`: reading plain numbers, and where on [0, 1] a monotone form takes a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rheo_verify.probability.rationals import ONE, ZERO, Rational

exact_float: Callable[[Any], Rational] = Rational  # a float, exactly: a dyadic rational
NEGLIGIBLE = 1e-7
"""A shift this small is taken for a guard against log(0), not for part of the law."""


def number(value: Any) -> float | None:
    """A plain real number (Python, NumPy, rational, or a tensor of one element), or None."""
    if isinstance(value, (int, float)):
        return value
    if getattr(type(value), "is_random", False):
        return None
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 0) == 0:
        value = item()
        return value if isinstance(value, (int, float)) else None
    return value if hasattr(value, "numerator") else None


def uniform_at(kind: str, x: Rational, power: Rational) -> Rational:
    """The U at which X takes the value x; outside [0, 1] where it never does."""
    if kind == "U":
        return x
    if kind == "E":
        return bounded_exp(-x)
    if kind == "G":
        return bounded_exp(-bounded_exp(-x))
    if x <= 0:  # 1/U, 1/E and U^k are positive
        return ONE if kind == "1/U" or power < 0 else ZERO
    if kind == "1/U":
        return 1 / x
    return bounded_exp(-1 / x) if kind == "1/E" else bounded_exp(exact_float(math.log(x)) / power)


def bounded_exp(x: Rational) -> Rational:
    """``exp(x)`` to double precision, between 0 and a number that is larger than any threshold."""
    return exact_float(math.exp(min(700.0, max(-745.0, float(x)))))


def is_negligible(value: Rational) -> bool:
    """Whether a shift is zero, or a guard against log(0)."""
    return not value or abs(value) <= NEGLIGIBLE
