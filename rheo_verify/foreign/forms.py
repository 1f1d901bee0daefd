"""Numbers and forms under `Lazy`: reading plain numbers, and where on [0, 1] a monotone form takes a value."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from rheo_verify.probability.rationals import ONE, ZERO, Rational, ratio


@functools.lru_cache(maxsize=1 << 16)
def exact_float(value: Any) -> Rational:
    """A float, exactly: a dyadic rational. Remembered, since every path of a case reads the same few numbers."""
    if isinstance(value, float):
        return ratio(*value.as_integer_ratio())
    return Rational(value)


NEGLIGIBLE = 1e-7
"""A shift this small is taken for a guard against log(0), not for part of the law."""


_MOST_REMEMBERED = 64


def exact_row(values: Sequence[float]) -> Sequence[Rational]:
    """Floats, exactly; short rows are remembered, since every path of a case reads the same few."""
    if len(values) > _MOST_REMEMBERED:
        return [exact_float(value) for value in values]
    return _exact_row(tuple(values))


@functools.lru_cache(maxsize=4096)
def _exact_row(values: tuple[float, ...]) -> tuple[Rational, ...]:
    return tuple(exact_float(value) for value in values)


@functools.lru_cache(maxsize=64)
def dtype_name(dtype: Any) -> str:
    """The name of a number format of NumPy; asking NumPy each time is slow."""
    return str(dtype)


def is_lazy(value: Any) -> bool:
    """Whether this is a `Lazy`, which passes for a float where code asks with `isinstance`."""
    return getattr(type(value), "is_random", False)


def number(value: Any) -> float | None:
    """A plain real number (Python, NumPy, rational, or a tensor of one element), or None."""
    kind = type(value)
    if kind is float or kind is int:
        return value  # type: ignore[no-any-return]
    if is_lazy(value):
        return None
    if isinstance(value, (int, float)):
        return value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 0) == 0:
        value = item()
        return value if isinstance(value, (int, float)) and not is_lazy(value) else None
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
