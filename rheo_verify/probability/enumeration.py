"""Enumerate: run a function once per path of choices, and so turn it into its exact law.

The function is run again from its start for every path (it needs no support for going back), following the choices
made so far and taking the first open branch from there on, depth first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rheo_verify.errors import LimitReached, MisuseError
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, Rational, ratio

Result = TypeVar("Result")
Outcome = TypeVar("Outcome", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Path(Generic[Result]):
    """One way a function can run: what it returned, how probable that is, and the choices that lead there."""

    result: Result
    probability: Rational
    choices: tuple[int, ...]


def positive_branches(weights: Sequence[Any]) -> list[tuple[int, Any]]:
    """The indices of positive weight with their probabilities. Raises `MisuseError` RV301 on bad weights."""
    mass: Any = 0
    for weight in weights:
        if weight < 0:
            raise MisuseError("RV301", f"a weight is negative: {weight}")
        mass = mass + weight
    if not mass > 0:
        raise MisuseError("RV301", f"no weight is positive among {len(weights)}")
    if isinstance(mass, float):
        return [(index, weight / mass) for index, weight in enumerate(weights) if weight > 0]
    return [(index, ratio(weight, mass)) for index, weight in enumerate(weights) if weight > 0]


MOST_CHOICES = 10_000
"""Of one path: a loop that ends only by chance has a path without end."""


class _Enumerator:
    """A `Chance` that follows a script of choices and remembers the branches it left open."""

    def __init__(self) -> None:
        self.branches: list[list[tuple[int, Any]]] = []
        self.sizes: list[int] = []
        self.taken: list[int] = []
        self.masses: list[Any] = [ONE]  # of the path up to each choice
        self.position = 0

    def choose(self, weights: Sequence[Any]) -> int:
        position = self.position
        if position == len(self.taken):
            if position == MOST_CHOICES:
                raise LimitReached("RV202", f"a path has more than {MOST_CHOICES:,} random choices", "")
            self.branches.append(positive_branches(weights)[::-1])
            self.sizes.append(len(weights))
            self._take()
        elif self.sizes[position] != len(weights):
            raise MisuseError("RV302", "the function chose differently when run again: it is not a function of Chance")
        self.position = position + 1
        return self.taken[position]

    def flip(self, yes: Any, no: Any) -> bool:
        return self.choose((yes, no)) == 0

    def _take(self) -> None:
        index, share = self.branches[-1][-1]
        self.taken.append(index)
        self.masses.append(self.masses[-1] * share)

    def advance(self) -> bool:
        """Leave the path just run; False when none is left."""
        while self.branches:
            self.branches[-1].pop()
            self.taken.pop()
            self.masses.pop()
            if self.branches[-1]:
                self._take()
                self.position = 0
                return True
            self.branches.pop()
            self.sizes.pop()
        return False


def enumerate_paths(function: Callable[[Any], Result]) -> Iterator[Path[Result]]:
    """Every path of `function(chance)`, in the order of its choices; the probabilities sum to one.

    >>> [(path.result, str(path.probability)) for path in enumerate_paths(lambda chance: chance.flip(1, 2))]
    [(True, '1/3'), (False, '2/3')]
    """
    chance = _Enumerator()
    while True:
        result = function(chance)
        if chance.position != len(chance.taken):
            raise MisuseError("RV302", "the function made fewer choices when run again: it is not a function of Chance")
        yield Path(result, chance.masses[-1], tuple(chance.taken))
        if not chance.advance():
            return


def law_of(function: Callable[[Any], Outcome]) -> Law[Outcome]:
    """The exact law of what `function(chance)` returns.

    >>> law = law_of(lambda chance: chance.choose([1, 2]) + chance.choose([1, 1]))
    >>> {outcome: str(probability) for outcome, probability in sorted(law.items())}
    {0: '1/6', 1: '1/2', 2: '1/3'}
    """
    return collect((path.result, path.probability) for path in enumerate_paths(function))
