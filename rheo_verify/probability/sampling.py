"""Sample: one run of a function, with NumPy's generator. Exact weights are drawn exactly, floats to their rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheo_verify.errors import MisuseError
from rheo_verify.probability.rationals import over_common_denominator
from rheo_verify.words import count

_LARGEST = 2**63 - 1


class SampleChance:
    """A `Chance` that draws. `seed` makes the run repeatable.

    >>> SampleChance(seed=0).choose([0, 1, 0])
    1
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        self.generator = np.random.default_rng(seed)

    def choose(self, weights: Sequence[Any]) -> int:
        """See `Chance`."""
        if isinstance(weights, np.ndarray) and weights.dtype != object:
            return self._choose_float(weights)
        if any(isinstance(weight, float) for weight in weights):
            return self._choose_float(np.asarray(weights, dtype=float))
        numerators, _ = over_common_denominator(list(weights))
        mass = sum(numerators)
        if mass <= 0 or min(numerators) < 0:
            raise MisuseError("RV301", f"no positive mass among {count(len(numerators), 'weight')}, or one is negative")
        point = self._below(mass)
        for index, numerator in enumerate(numerators):
            point -= numerator
            if point < 0:
                return index
        raise AssertionError("the point lies below the total mass")

    def flip(self, yes: Any, no: Any) -> bool:
        """See `Chance`."""
        return self.choose((yes, no)) == 0

    def _below(self, bound: int) -> int:
        """A uniform integer in [0, bound), by rejection where the bound exceeds a machine word."""
        if bound <= _LARGEST:
            return int(self.generator.integers(bound))
        size = (bound.bit_length() + 7) // 8
        while True:
            value = int.from_bytes(self.generator.bytes(size), "big") >> (8 * size - bound.bit_length())
            if value < bound:
                return value

    def _choose_float(self, weights: np.ndarray[Any, Any]) -> int:
        cumulative = np.cumsum(weights, dtype=float)
        if not cumulative[-1] > 0 or weights.min() < 0:
            raise MisuseError("RV301", f"no positive mass among {count(len(weights), 'weight')}, or one is negative")
        index = int(np.searchsorted(cumulative, self.generator.random() * cumulative[-1], side="right"))
        return min(index, int(np.flatnonzero(weights)[-1]))
