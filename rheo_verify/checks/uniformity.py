"""The randomised probability integral transform, a uniformity test, and a head-and-tail chi-square. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BINS = 21


def transform(p: Array, emitted: int, order: Array, uniform: float) -> float:
    """U = F(x-) + U p(x), with F along `order`: uniform on [0, 1] and independent of the past if x ~ p."""
    place = int(np.flatnonzero(order == emitted)[0])
    ordered = p[order]
    return float((ordered[:place].sum() + uniform * ordered[place]) / ordered.sum())


@dataclass
class Uniformity:
    """Counts of transformed values in equal bins, and their chi-square."""

    counts: Array = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))

    def see(self, value: float) -> None:
        """Count one value of [0, 1]."""
        self.counts[min(int(value * BINS), BINS - 1)] += 1

    def see_all(self, values: Array) -> None:
        """Count many."""
        self.counts += np.bincount(np.minimum((values * BINS).astype(np.int64), BINS - 1), minlength=BINS)

    @property
    def statistic(self) -> float:
        """Pearson's chi-square against equal counts."""
        expected = self.counts.sum() / BINS
        return float(((self.counts - expected) ** 2 / expected).sum()) if expected else 0.0

    @property
    def p_value(self) -> float:
        """From the chi-square law with 20 degrees of freedom; 1 below 5 expected a bin."""
        return chi_square_tail(self.statistic, BINS - 1) if self.counts.sum() >= 5 * BINS else 1.0


def chi_square_tail(statistic: float, degrees: int) -> float:
    """P(chi-square >= statistic) for an even number of degrees of freedom: a finite sum.

    >>> round(chi_square_tail(31.41, 20), 4)
    0.05
    """
    assert degrees % 2 == 0
    half, term, total = statistic / 2, 1.0, 0.0
    for i in range(degrees // 2):
        total += term
        term *= half / (i + 1)
    return min(1.0, math.exp(-half) * total)


@dataclass(frozen=True)
class HeadTail:
    """A goodness-of-fit test at one context. `shown`: the head's tokens, expected and found counts; last, the tail."""

    draws: int
    statistic: float
    p_value: float
    shown: tuple[tuple[int | None, float, int], ...]


def head_tail(p: Array, drawn: Sequence[int], *, seed: int, simulations: int = 2000, least: float = 5.0) -> HeadTail:
    """Pearson's chi-square with the head (expected count at least `least`) token by token and the tail as one.

    Its p-value is Monte Carlo, (1 + as extreme) / (1 + simulations), so small expected counts do no harm.
    """
    n = len(drawn)
    head = np.flatnonzero(p * n >= least)
    head = head[np.argsort(-p[head], kind="stable")]
    q = np.append(p[head], max(0.0, 1.0 - float(p[head].sum())))
    q = q / q.sum()
    counts = np.bincount(np.asarray(drawn), minlength=len(p))
    found = np.append(counts[head], n - counts[head].sum())
    expected = q * n

    def statistic(observed: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(expected > 0, (observed - expected) ** 2 / expected, np.where(observed > 0, np.inf, 0.0))
        return np.asarray(parts.sum(-1))

    value = float(statistic(found))
    simulated = statistic(np.random.default_rng(seed).multinomial(n, q, size=simulations))
    p_value = (1 + int((simulated >= value * (1 - 1e-12)).sum())) / (1 + simulations)
    ids = [*head.tolist(), None]
    shown = tuple((t, float(e), int(f)) for t, e, f in zip(ids, expected, found, strict=True))
    return HeadTail(n, value, p_value, shown)
