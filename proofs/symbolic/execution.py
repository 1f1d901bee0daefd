"""Running a rule's `law` on symbols: numbers are fractions of polynomials, and a comparison splits the world in two.

`worlds(function)` runs a function once for every consistent way of answering its comparisons. In a world each
polynomial that was asked about is positive, or at most zero. The answers to `x > 0`, `x < y`, `x >= y` all follow from
that: where x = y the two branches of a minimum or a positive part are equal, so counting equality with either side
changes no value. So the worlds together are all reals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from sympy import QQ
from sympy.polys.fields import FracField, field

Result = TypeVar("Result")


class World:
    """Answers already given (`script`), then new ones; `signs` is what is assumed: polynomial to whether positive.

    What is known not to be negative (`known`) is never asked for: it counts as positive, right also where it is 0.
    """

    def __init__(self, script: list[bool], known: Sequence[Any] = ()) -> None:
        self.script = script
        self.known = known
        self.asked: list[bool] = []
        self.signs: dict[Any, bool] = {}

    def positive(self, polynomial: Any) -> bool:
        """Whether it is positive in this world; when neither it nor its negative was asked for, the world splits."""
        if polynomial in self.known:
            return True
        if polynomial in self.signs:
            return self.signs[polynomial]
        if -polynomial in self.signs:
            return not self.signs[-polynomial]
        place = len(self.asked)
        answer = self.script[place] if place < len(self.script) else True
        self.asked.append(answer)
        self.signs[polynomial] = answer
        return answer


class Number:
    """A fraction of polynomials, in a world that knows the signs of some of them."""

    __slots__ = ("value", "world")

    def __init__(self, value: Any, world: World) -> None:
        self.value = value
        self.world = world

    def _other(self, other: Any) -> Any:
        return other.value if isinstance(other, Number) else int(other)

    def __add__(self, other: Any) -> Number:
        return Number(self.value + self._other(other), self.world)

    def __sub__(self, other: Any) -> Number:
        return Number(self.value - self._other(other), self.world)

    def __mul__(self, other: Any) -> Number:
        return Number(self.value * self._other(other), self.world)

    def __rsub__(self, other: Any) -> Number:
        return Number(self._other(other) - self.value, self.world)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Number:
        return Number(self.value / self._other(other), self.world)

    def __gt__(self, other: Any) -> bool:
        difference = self.value - self._other(other)
        return bool(difference) and self.world.positive(difference)

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __ge__(self, other: Any) -> bool:
        difference = self.value - self._other(other)
        return not difference or self.world.positive(difference)

    def __eq__(self, other: object) -> bool:
        """Zero only as a polynomial: in the interior of a world an expression that is not, is not zero."""
        return not self.value - self._other(other)

    __hash__ = None  # type: ignore[assignment]


def symbols(*names: str) -> tuple[FracField, list[Any]]:
    """The field of fractions over the rationals in these symbols."""
    made, *generators = field(names, QQ)
    return made, generators


def worlds(function: Callable[[World], Result], known: Sequence[Any] = ()) -> Iterator[tuple[World, Result]]:
    """Every world that the function's questions open, with what it returns there."""
    scripts: list[list[bool]] = [[]]
    while scripts:
        script = scripts.pop()
        world = World(script, known)
        result = function(world)
        fresh = range(len(script), len(world.asked))
        scripts += [[*world.asked[:place], not world.asked[place]] for place in fresh]
        yield world, result
