"""The exact law of exponential races: the probability of any set of constraints ``E_i <= c E_j`` is rational.

A race ``argmin s_i E_i`` won by i says ``E_i <= (s_j / s_i) E_j`` for all j. Several races on the same noise are just
more constraints, so their joint law is the measure of one polyhedral cone under independent unit exponentials.
The measure is found by integrating one variable after another (Fourier-Motzkin elimination under ``exp``).
"""

from __future__ import annotations

from collections.abc import Iterable

from rheo_verify.probability.rationals import ONE, ZERO, Rational

Bounds = dict[tuple[int, int], Rational]
"""``bounds[i, j] = c`` states ``E_i <= c E_j``."""


def tighten(bounds: Bounds, extra: Iterable[tuple[int, int, Rational]]) -> Bounds | None:
    """The bounds with more constraints; None when a constraint ``E_i <= c E_i`` with c < 1 empties the region."""
    joined = dict(bounds)
    for i, j, c in extra:
        if i == j:
            if c < 1:
                return None
            continue
        old = joined.get((i, j))
        if old is None or c < old:
            joined[i, j] = c
    return joined


def measure(variables: Iterable[int], bounds: Bounds) -> Rational:
    """The probability that independent Exp(1) variables satisfy all the bounds.

    >>> print(measure([0, 1], {(0, 1): ONE / 2}))
    1/3
    """
    return _integrate(dict.fromkeys(variables, ONE), bounds)


def _integrate(rates: dict[int, Rational], bounds: Bounds) -> Rational:
    """The integral of ``exp(-sum rates[v] E_v)`` over the positive E that satisfy the bounds."""
    if not rates:
        return ONE
    lower: dict[int, list[tuple[int, Rational]]] = {v: [] for v in rates}
    upper: dict[int, list[tuple[int, Rational]]] = {v: [] for v in rates}
    for (i, j), c in bounds.items():
        upper[i].append((j, c))
        lower[j].append((i, 1 / c))
    v = min(rates, key=lambda v: (max(1, len(lower[v])) * (1 + len(upper[v])), v))
    others = {w: rate for w, rate in rates.items() if w != v}
    rest = {pair: c for pair, c in bounds.items() if v not in pair}
    through = [(j, k, c / b) for j, b in lower[v] for k, c in upper[v]]
    base = tighten(rest, through)
    if base is None:
        return ZERO
    value = ZERO
    for low, region in _cases(lower[v], base, largest=True):
        value += _term(others, region, low, rates[v])
    for high, region in _cases(upper[v], base, largest=False):
        if high is not None:
            value -= _term(others, region, high, rates[v])
    return value / rates[v]


def _cases(
    limits: list[tuple[int, Rational]], base: Bounds, largest: bool
) -> Iterable[tuple[tuple[int, Rational] | None, Bounds]]:
    """One case per limit ``c E_j`` that can be the binding one, with the region where it is."""
    if not limits:
        yield None, base
    for j, c in limits:
        pairs = [(k, j, c / d) if largest else (j, k, d / c) for k, d in limits if (k, d) != (j, c)]
        region = tighten(base, pairs)
        if region is not None:
            yield (j, c), region


def _term(others: dict[int, Rational], region: Bounds, limit: tuple[int, Rational] | None, rate: Rational) -> Rational:
    if limit is None:
        return _integrate(others, region)
    j, c = limit
    return _integrate({**others, j: others[j] + rate * c}, region)
