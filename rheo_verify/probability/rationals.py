"""Exact rationals: `gmpy2.mpq` inside when it is installed, `fractions.Fraction` at the API.

The two compare equal and hash alike, so dictionaries and tests may mix them. Floats never enter: a float that looks
like 0.1 is not 1/10, and one such value would make every verdict false in silence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from rheo_verify.errors import InputError
from rheo_verify.words import shortened

if TYPE_CHECKING:
    Rational: TypeAlias = Fraction
    """What exact values are typed as. At run time they may be `gmpy2.mpq`, which has the same operations."""
    _make = Fraction
else:
    try:
        from gmpy2 import mpq as _make
    except ImportError:  # pragma: no cover - exercised by the Fraction-only run of the tests
        _make = Fraction
    Rational = _make

RATIONAL_TYPE = f"{_make.__module__}.{_make.__name__}"
ZERO: Rational = _make(0)
ONE: Rational = _make(1)

_FORM = re.compile(r"\s*[+-]?(\d+(\.\d+)?|\d+/\d+)\s*", re.ASCII)
_MOST_DIGITS = 1000


def ratio(numerator: Any, denominator: Any) -> Rational:
    """`numerator / denominator` as a rational, for any mix of Python integers, NumPy integers and rationals."""
    if isinstance(numerator, int) and isinstance(denominator, int):
        return _make(numerator, denominator)
    return exact(numerator) / exact(denominator)


def exact(value: Any, where: str = "value") -> Rational:
    """Read an exact rational from an integer, a rational, or a string such as ``"3/10"`` or ``"0.3"``.

    Raises `InputError` RV101 for floats (NaN included), booleans and anything else, naming `where`.

    >>> print(exact("3/10") + exact(1))
    13/10
    """
    if type(value) is _make:
        return value
    if isinstance(value, str):
        if len(value) > _MOST_DIGITS or not _FORM.fullmatch(value):
            raise InputError("RV101", f'{where}: {_short(value)} is not a rational; write it as an integer or "3/10"')
        try:
            read = Fraction(value)
        except ZeroDivisionError:
            raise InputError("RV101", f"{where}: {_short(value)} divides by zero") from None
        return _make(read.numerator, read.denominator)
    if isinstance(value, (bool, float)) or not hasattr(value, "numerator"):
        hint = '; write the exact value as an integer or as a string like "3/10"' if isinstance(value, float) else ""
        raise InputError("RV101", f"{where}: {_short(value)} is not an exact rational{hint}")
    if isinstance(value, int) and value.bit_length() > 4 * _MOST_DIGITS:
        raise InputError("RV101", f"{where}: an integer of more than {_MOST_DIGITS} digits")
    return _make(int(value.numerator), int(value.denominator))


def fraction(value: Any) -> Fraction:
    """The same value as a `fractions.Fraction`, for results that leave the project."""
    return Fraction(int(value.numerator), int(value.denominator))


def text(value: Any) -> str:
    """``"3/10"``, or ``"2"`` for integers: the form in JSON output and model files."""
    numerator, denominator = int(value.numerator), int(value.denominator)
    return str(numerator) if denominator == 1 else f"{numerator}/{denominator}"


def decimal(value: Any, digits: int = 4) -> str:
    """A decimal for people, rounded half to even; ``~`` never appears: the exact form stands beside it.

    >>> decimal(Fraction(2, 3))
    '0.6667'
    """
    scaled = round(Fraction(int(value.numerator), int(value.denominator)) * 10**digits)
    sign, scaled = ("-" if scaled < 0 else ""), abs(scaled)
    whole, part = divmod(scaled, 10**digits)
    return f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"


def about(number: int) -> str:
    """A count for people: ``1,000``, or ``about 10^23`` where nobody would read its digits."""
    return f"{number:,}" if number < 10**15 else f"about 10^{round(number.bit_length() * math.log10(2))}"


def over_common_denominator(values: Sequence[Any]) -> tuple[list[int], int]:
    """The same values as integers over their least common denominator: ``(numerators, denominator)``."""
    denominator = math.lcm(1, *(int(v.denominator) for v in values))
    return [int(v.numerator) * (denominator // int(v.denominator)) for v in values], denominator


def total(values: Iterable[Rational]) -> Rational:
    """The exact sum (a rational even when there is nothing to add)."""
    return sum(values, ZERO)


def _short(value: Any) -> str:
    return shortened(repr(value), 40)
