"""What temperature, top-k, top-p and min-p do to a row: the law that a sampler claims, exact where it can be.

Temperatures 1/k are exact; others are computed in double precision. Cut rules follow the usual order: temperature,
top-k, top-p, min-p. A row on which a cut rule is undecided (a tie at the cut) has no claimed law: `ambiguous`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.probability.distributions import Row, normalise, ranking
from rheo_verify.probability.rationals import ZERO, Rational, exact

PROCESSING = ("temperature", "top_k", "top_p", "min_p")
_CLOSE = Fraction(1, 10**6)


@dataclass(frozen=True)
class Processing:
    """A chain of logit processors. None leaves one out; temperature 0 is greedy."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None

    def __post_init__(self) -> None:
        checks = (
            (
                "temperature",
                self.temperature in (None, 0) or 1e-3 <= self.temperature <= 1e3,
                "0, or from 1/1000 to 1000",
            ),
            ("top_k", self.top_k is None or self.top_k >= 1, "at least 1"),
            ("top_p", self.top_p is None or 0 < self.top_p <= 1, "above 0 and at most 1"),
            ("min_p", self.min_p is None or 0 <= self.min_p <= 1, "from 0 to 1"),
        )
        for name, good, wanted in checks:
            if not good:
                flag = name.replace("_", "-")
                raise InputError("RV106", f"--{flag} {getattr(self, name)} is out of range: it must be {wanted}")

    def options(self) -> dict[str, Any]:
        """The options that are set, by name."""
        named = {name: getattr(self, name) for name in PROCESSING}
        return {name: value for name, value in named.items() if value is not None}

    def apply(self, row: Row) -> Row:
        """The processed row."""
        row = _temper(row, self.temperature)
        if self.top_k is not None:
            row = _keep(row, set(ranking(row)[: self.top_k]))
        if self.top_p is not None:
            row = _keep(row, _nucleus(row, _rational(self.top_p)))
        if self.min_p is not None:
            floor = _rational(self.min_p) * max(row)
            row = _keep(row, {token for token, value in enumerate(row) if value >= floor})
        return row

    def ambiguous(self, row: Row) -> bool:
        """Whether rounding or the order of equal tokens decides what is cut."""
        row = _temper(row, self.temperature)
        if self.temperature == 0:
            return sum(value == max(row) for value in row) > 1
        if self.top_k is not None and self.top_k < len(row):
            order = ranking(row)
            if abs(row[order[self.top_k - 1]] - row[order[self.top_k]]) < _CLOSE:
                return True
            row = _keep(row, set(order[: self.top_k]))
        if self.top_p is not None:
            sums, mass = [], ZERO
            for token in ranking(row):
                mass = mass + row[token]
                sums.append(mass)
            if any(abs(mass - _rational(self.top_p)) < _CLOSE for mass in sums):
                return True
            kept = _nucleus(row, _rational(self.top_p))
            edge = [row[token] for token in kept if row[token]]
            rest = [value for token, value in enumerate(row) if token not in kept and value]
            if edge and rest and abs(min(edge) - max(rest)) < _CLOSE:
                return True
            row = _keep(row, kept)
        return self.min_p is not None and any(abs(v - _rational(self.min_p) * max(row)) < _CLOSE for v in row if v)


def _rational(value: float) -> Rational:
    return exact(str(Fraction(value).limit_denominator(10**6)))


def _temper(row: Row, temperature: float | None) -> Row:
    if temperature is None or temperature == 1:
        return row
    if temperature == 0:
        best = ranking(row)[0]
        return tuple(exact(int(token == best)) for token in range(len(row)))
    power = 1 / temperature
    if abs(power - round(power)) < 1e-12:
        return normalise([value ** round(power) for value in row])
    top = max(row)  # then one weight is 1, however small the temperature
    return normalise([exact(str(Fraction(float(value / top) ** power))) if value else ZERO for value in row])


def _nucleus(row: Row, top_p: Rational) -> set[int]:
    kept, mass = set(), ZERO
    for token in ranking(row):
        if mass >= top_p:
            break
        kept.add(token)
        mass = mass + row[token]
    return kept


def _keep(row: Row, kept: set[int]) -> Row:
    return normalise([value if token in kept else ZERO for token, value in enumerate(row)])
