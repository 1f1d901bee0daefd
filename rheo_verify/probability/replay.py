"""Replay: one named path again. The name of a path is its list of choices, written ``2.0.1``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rheo_verify.errors import InputError
from rheo_verify.probability.enumeration import Path, positive_branches
from rheo_verify.probability.rationals import ONE, Rational
from rheo_verify.words import count

Result = TypeVar("Result")


class ReplayChance:
    """A `Chance` that follows given choices. `probability` is that of the path so far.

    Raises `InputError` RV109 where a choice is impossible or the choices run out.
    """

    def __init__(self, choices: Sequence[int]) -> None:
        self.choices = tuple(choices)
        self.position = 0
        self.probability: Rational = ONE

    def choose(self, weights: Sequence[Any]) -> int:
        """See `Chance`."""
        if self.position == len(self.choices):
            raise InputError("RV109", f"the path ends after {count(self.position, 'choice')}, but another one is asked")
        index = self.choices[self.position]
        branches = dict(positive_branches(weights))
        if index not in branches:
            possible = ", ".join(map(str, branches))
            raise InputError("RV109", f"choice {self.position + 1} of the path is {index}; possible are {possible}")
        self.position += 1
        self.probability = self.probability * branches[index]
        return index

    def flip(self, yes: Any, no: Any) -> bool:
        """See `Chance`."""
        return self.choose((yes, no)) == 0


def replay(function: Callable[[Any], Result], choices: Sequence[int]) -> Path[Result]:
    """Run `function` along one path. Raises `InputError` RV109 unless the path fits it exactly.

    >>> print(replay(lambda chance: chance.choose([1, 1, 2]), [2]).probability)
    1/2
    """
    chance = ReplayChance(choices)
    result = function(chance)
    if chance.position != len(chance.choices):
        raise InputError(
            "RV109",
            f"the path has {count(len(chance.choices), 'choice')}, but only {chance.position} asked for",
        )
    return Path(result, chance.probability, chance.choices)


def choices_text(choices: Sequence[int]) -> str:
    """``2.0.1``; the empty path is ``-``."""
    return ".".join(map(str, choices)) if choices else "-"


def read_choices(written: str) -> tuple[int, ...]:
    """The inverse of `choices_text`. Raises `InputError` RV109."""
    if written == "-":
        return ()
    parts = written.split(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InputError("RV109", f"a path is written like 2.0.1, not {written!r}")
    return tuple(map(int, parts))
