"""What the tests of foreign code share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from rheo_verify.foreign.answering import enumerate_call
from rheo_verify.probability.laws import collect
from rheo_verify.probability.rationals import Rational


def law(call: Callable[[], Hashable]) -> dict[Any, Rational]:
    """The exact law of a call."""
    return collect((path.result, path.probability) for path in enumerate_call(call))


def paths(call: Callable[[], Hashable]) -> int:
    """How many paths a call has."""
    return len(enumerate_call(call))


def agrees_with_samples(call: Callable[[], Hashable], draws: int) -> dict[Any, Rational]:
    """The exact law of a call, held against so many runs of the real functions.

    The total variation of n samples from their own law with k outcomes is below sqrt(k / n) / 2 on average, and above
    that by t with probability at most exp(-2 n t²) (McDiarmid): the bound here fails once in ten million.
    """
    ours = law(call)
    assert abs(float(sum(ours.values())) - 1) < 1e-12
    seen = Counter(call() for _ in range(draws))
    assert set(seen) <= set(ours), (seen, ours)
    apart = sum(abs(seen[x] / draws - float(p)) for x, p in ours.items()) / 2
    assert apart < math.sqrt(len(ours) / draws) / 2 + math.sqrt(16 / (2 * draws)), (seen, ours)
    return ours
