"""Laws: dictionaries from outcome to probability. Outcomes of probability zero are left out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeAlias, TypeVar

from rheo_verify.probability.rationals import ZERO, Rational, total

Outcome = TypeVar("Outcome", bound=Hashable)
Image = TypeVar("Image", bound=Hashable)
Law: TypeAlias = dict[Outcome, Rational]


def collect(pairs: Iterable[tuple[Outcome, Rational]]) -> Law[Outcome]:
    """Add up the probabilities of equal outcomes.

    >>> collect([("a", 1), ("b", 2), ("a", 3)])
    {'a': 4, 'b': 2}
    """
    law: Law[Outcome] = {}
    for outcome, probability in pairs:
        if probability:
            law[outcome] = law[outcome] + probability if outcome in law else probability
    return law


def push_forward(law: Law[Outcome], function: Callable[[Outcome], Image]) -> Law[Image]:
    """The law of `function(X)` for X with law `law`."""
    return collect((function(outcome), probability) for outcome, probability in law.items())


def law_total_variation(left: Law[Outcome], right: Law[Outcome]) -> Rational:
    """Total variation between two laws on any outcomes."""
    return total(abs(left.get(x, ZERO) - right.get(x, ZERO)) for x in left.keys() | right.keys()) / 2
