"""What the tests of foreign code share."""

from __future__ import annotations

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
