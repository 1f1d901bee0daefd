"""Sequential, anytime-valid tests: does each emitted token follow the target's row, given all before it?

An e-process is the wealth of a gambler who starts with 1 and bets on a tilt with fair odds under the target. Under a
lossless decoder the chance that the wealth *ever* reaches 1/alpha is at most alpha (Ville), so one may look after each
token and stop at will. The average of several e-processes is one too: it is what the verdict reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheo_verify.checks.batched_tilts import Measured
from rheo_verify.checks.tilts import LARGEST, STRATA, TILTS, Seen, in_stratum

Array = np.ndarray[Any, Any]
BETS = tuple((tilt, weight, stratum) for tilt in TILTS for weight in tilt.weights for stratum in range(len(STRATA)))

_TILT = np.array([TILTS.index(tilt) for tilt, _, _ in BETS])
_WEIGHT = np.array([weight for _, weight, _ in BETS])
_STRATUM = np.array([stratum for _, _, stratum in BETS])
_LEARNED = 256
_LEARNED_FIRST, _LEARNED_EVERY = 4096, 16
POWER_GRID: Array = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0])


@dataclass(frozen=True)
class Power:
    """What a bet on one tilt would have shown: the smallest weight that this many tokens reveal, and its distance.

    `total_variation` is the mean distance of the tilted rows from the target's; None when even weight 1 stays hidden.
    """

    tilt: str
    weight: float | None
    total_variation: float | None


@dataclass
class EProcess:
    """The running state: logarithmic wealth of each bet, and the highest average so far. Of constant size."""

    wealth: Array = field(default_factory=lambda: np.zeros(len(BETS)))
    tokens: int = 0
    highest: float = 0.0
    found_at: dict[float, int] = field(default_factory=dict)
    information: Array = field(default_factory=lambda: np.zeros((len(TILTS), len(POWER_GRID), 2)))
    impossible: int | None = None

    def see(self, seen: Seen, alphas: tuple[float, ...] = (0.05, 0.01, 0.001)) -> None:
        """Take in one token. `impossible` notes the first token that the target gives probability 0."""
        self.tokens += 1
        probability = float(seen.p[seen.emitted])
        if probability <= 0:
            self.impossible = self.impossible or self.tokens
            return
        rows = [tilt.row(seen) for tilt in TILTS]
        ratios = np.array([1.0 if row is None else float(row[seen.emitted]) / probability for row in rows])
        ratios = np.minimum(ratios, LARGEST)
        bets = np.array([in_stratum(seen, stratum) for stratum in range(len(STRATA))])[_STRATUM]
        with np.errstate(divide="ignore"):
            self.wealth += np.where(bets, np.log((1 - _WEIGHT) + _WEIGHT * ratios[_TILT]), 0)
        if self.tokens <= _LEARNED_FIRST or self.tokens % _LEARNED_EVERY == 0:
            self._learn(seen, rows, 1 if self.tokens <= _LEARNED_FIRST else _LEARNED_EVERY)
        now = self.log_wealth
        self.highest = max(self.highest, now)
        for alpha in alphas:
            if now >= -math.log(alpha) and alpha not in self.found_at:
                self.found_at[alpha] = self.tokens

    def see_all(self, batch: Sequence[Seen], numbers: Measured, alphas: tuple[float, ...]) -> None:
        """The same for many tokens at once, whose `numbers` are `batched_tilts.measured`'s."""
        possible = numbers.probability > 0
        bets = np.array([[in_stratum(seen, stratum) for stratum in range(len(STRATA))] for seen in batch])
        bets = bets[:, _STRATUM] & possible[:, None]
        with np.errstate(divide="ignore"):
            gains = np.where(bets, np.log((1 - _WEIGHT) + _WEIGHT * numbers.ratios[:, _TILT]), 0)
        wealth = np.cumsum(np.vstack((self.wealth, gains)), axis=0)[1:]
        top = wealth.max(1)
        now = top + np.log(np.exp(wealth - top[:, None]).mean(1))
        for alpha in alphas:
            reached = np.flatnonzero(possible & (now >= -math.log(alpha)))
            if len(reached) and alpha not in self.found_at:
                self.found_at[alpha] = self.tokens + 1 + int(reached[0])
        if not possible.all():
            self.impossible = self.impossible or self.tokens + 1 + int(np.argmin(possible))
        for seen, chance in zip(batch, possible, strict=True):
            self.tokens += 1
            if chance and (self.tokens <= _LEARNED_FIRST or self.tokens % _LEARNED_EVERY == 0):
                times = 1 if self.tokens <= _LEARNED_FIRST else _LEARNED_EVERY
                self._learn(seen, [tilt.row(seen) for tilt in TILTS], times)
        self.wealth, self.highest = wealth[-1].copy(), max(self.highest, float(np.fmax.reduce(now)))

    @property
    def log_wealth(self) -> float:
        """The logarithm of the average wealth of all bets, now."""
        top = float(self.wealth.max())
        return top + math.log(float(np.mean(np.exp(self.wealth - top))))

    @property
    def p_value(self) -> float:
        """An anytime-valid p-value: 1 over the highest wealth; 0 after an impossible token."""
        return 0.0 if self.impossible else math.exp(-max(0.0, self.highest))

    def best_bet(self) -> tuple[str, float]:
        """The tilt and stratum that pay best now, in words, and the logarithm of its wealth."""
        number = int(self.wealth.argmax())
        tilt, weight, stratum = BETS[number]
        return f"{tilt.name}, {STRATA[stratum]} (weight {weight:g})", float(self.wealth[number])

    def powers(self, alpha: float) -> tuple[Power, ...]:
        """For each tilt, what so many tokens would have revealed: expected growth against the price of all bets."""
        needed = math.log(len(BETS) / alpha)
        found = []
        for tilt, table in zip(TILTS, self.information, strict=True):
            enough = np.flatnonzero(table[:, 0] >= needed)
            if len(enough):
                distance = float(table[enough[0], 1]) / self.tokens
                found.append(Power(tilt.name, float(POWER_GRID[enough[0]]), distance))
            else:
                found.append(Power(tilt.name, None, None))
        return tuple(found)

    def _learn(self, seen: Seen, rows: list[Array | None], times: int) -> None:
        """Add `times` this row's Kullback-Leibler information and total variation of every tilt at every weight.

        Past the first thousands of tokens one in sixteen speaks for all: an estimate, on either side. Of a large
        vocabulary all but the likeliest tokens are one here, which can only understate both.
        """
        order = np.argsort(-seen.p)[:_LEARNED] if len(seen.p) > _LEARNED else np.flatnonzero(seen.p > 0)
        p = _lumped(seen.p, order)
        known = [number for number, row in enumerate(rows) if row is not None]
        tilted = np.stack([_lumped(row, order) for row in rows if row is not None])
        mixed = p + POWER_GRID[None, :, None] * (tilted - p)[:, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            growth = np.where(mixed > 0, mixed * np.log(mixed / p), 0)
        growth[~np.isfinite(growth)] = 0
        self.information[known, :, 0] += times * growth.sum(-1)
        self.information[known, :, 1] += times * POWER_GRID * (np.abs(tilted - p).sum(-1) / 2)[:, None]


def _lumped(row: Array, order: Array) -> Array:
    kept = row[order]
    return np.append(kept, max(0.0, 1.0 - float(kept.sum())))
