"""`Chance`: the one source of randomness an algorithm has.

An algorithm is a plain function whose first argument is a `Chance`. What the function then *is* depends on the
interpreter: `enumeration` gives its exact law, `sampling` one run, `replay` one named path again.

Weights are unnormalised. Accepting a drafted token with probability min(1, p/q) is
``chance.flip(min(p, q), max(q - p, 0))`` at that token: no division, no special case where q is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Chance(Protocol):
    """Answers every random question of an algorithm."""

    def choose(self, weights: Sequence[Any]) -> int:
        """An index i, with probability ``weights[i] / sum(weights)``. Weights are non-negative, not all zero."""

    def flip(self, yes: Any, no: Any) -> bool:
        """True with probability ``yes / (yes + no)``."""


class RowChance(Chance, Protocol):
    """A `Chance` that also answers a batch of questions at once."""

    def choose_rows(self, cumulative: Any) -> Any:
        """An index for each row, [n], drawn independently. `cumulative` [n, V]: the weights' running sums.

        V for a row without mass.
        """
