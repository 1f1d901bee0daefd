"""The random variables of one run, known only as far as the run has asked about them.

Every variable is a uniform U on [0, 1). A comparison ``U < t`` splits the interval it is known to lie in, exactly, by
one question to `Chance`. The exponential ``E = -log U`` takes part in races; their exact joint law is in `races`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NoReturn, TypeVar

from rheo_verify.errors import MisuseError
from rheo_verify.foreign.races import Bounds, measure, tighten
from rheo_verify.foreign.refusal import Refused, searches_right, user_line
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.rationals import ONE, ZERO, Rational

Answer = TypeVar("Answer")


class _Region:
    """What is known of a set of racing variables. One won race is only remembered: few are ever asked about again."""

    __slots__ = ("_bounds", "_race")

    def __init__(
        self, bounds: Bounds | None, race: tuple[Sequence[int], Sequence[Rational], int] | None = None
    ) -> None:
        self._bounds = bounds
        self._race = race

    @property
    def bounds(self) -> Bounds:
        if self._bounds is None:
            assert self._race is not None
            self._bounds = wins({}, *self._race) or {}
        return self._bounds


def wins(known: Bounds, variables: Sequence[int], rates: Sequence[Rational], winner: int) -> Bounds | None:
    """The region where `winner` has the smallest ``E / rate``; None if it is empty. Rate zero never arrives."""
    if not rates[winner]:
        return None
    rate, first = rates[winner], variables[winner]
    pairs = enumerate(zip(variables, rates, strict=True))
    return tighten(known, [(first, v, rate / r) for j, (v, r) in pairs if j != winner and r])


class Over:
    """The `Chance` of a run that has ended: nothing is asked of it any more. Raises `MisuseError` RV404."""

    def choose(self, weights: Sequence[Any]) -> int:
        """See `Chance`."""
        message = f"{user_line()} uses a random number of an earlier run: it was kept where state is not put back"
        raise MisuseError("RV404", message)

    def flip(self, yes: Any, no: Any) -> bool:
        """See `Chance`."""
        return self.choose((yes, no)) == 0


class Noise:
    """What one run has asked of its random variables, and what it was told.

    `warnings` are remarks on the run, with their codes; `dtypes` the number formats of its decisions;
    `failure` the first refusal, which the code may have caught; `shared` the memory of random tensors (see
    `torch_memory`) into which ordinary ones may look, by its address.
    """

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.low: list[Rational] = []
        self.high: list[Rational] = []
        self.races: dict[int, _Region] = {}
        self.mirrored: dict[int, bool] = {}
        self.draws: dict[Hashable, tuple[Hashable, Any]] = {}
        self.warnings: dict[str, str] = {}
        self.dtypes: set[str] = set()
        self.failure: Exception | None = None
        self.shared: dict[int, Any] = {}

    def fresh(self) -> int:
        """A new variable."""
        self.low.append(ZERO)
        self.high.append(ONE)
        return len(self.low) - 1

    def below(self, variable: int, threshold: Rational) -> bool:
        """Whether ``U < threshold``."""
        low, high = self.low[variable], self.high[variable]
        if threshold <= low:
            return False
        if threshold >= high:
            return True
        if variable in self.races:
            self.refuse(
                "a comparison with a number", "the same noise already took part in a race (argmax, top-k, sort)"
            )
        if self.chance.flip(threshold - low, high - threshold):
            self.high[variable] = threshold
            return True
        self.low[variable] = threshold
        return False

    def arrive(self, variables: Sequence[int], rates: Sequence[Rational], mirrored: bool = False) -> int:
        """The index of the smallest ``E / rate``: index i wins a fresh race with probability rate_i / sum of rates."""
        known = self._join(variables, mirrored)
        if not known:
            winner = self.chance.choose(rates)
            self._store(variables, _Region(None, (variables, rates, winner)))
            return winner
        options = [wins(known, variables, rates, i) for i in range(len(rates))]
        winner = self._choose_region(variables, known, options)
        self._store({*variables, *(v for pair in known for v in pair)}, _Region(options[winner]))
        return winner

    def arrive_last(self, variables: Sequence[int], rates: Sequence[Rational], mirrored: bool = False) -> int:
        """The index of the largest ``E / rate``."""
        known = self._join(variables, mirrored)
        options = []
        for i, (v, r) in enumerate(zip(variables, rates, strict=True)):
            extra = [(w, v, s / r) for j, (w, s) in enumerate(zip(variables, rates, strict=True)) if j != i]
            options.append(tighten(known, extra))
        winner = self._choose_region(variables, known, options)
        self._store({*variables, *(v for pair in known for v in pair)}, _Region(options[winner]))
        return winner

    def _join(self, variables: Sequence[int], mirrored: bool) -> Bounds:
        """What is known of these variables from earlier races."""
        known: Bounds = {}
        for v in variables:
            if v in self.races:
                if self.mirrored[v] is not mirrored:
                    self.refuse("a race", "the noise of an earlier race is used with u replaced by 1 - u")
                known.update(self.races[v].bounds)
            elif self.low[v] != ZERO or self.high[v] != ONE:
                self.refuse("a race (argmax, top-k, sort)", "the same noise was already compared with a number")
            self.mirrored[v] = mirrored
        return known

    def _store(self, variables: Iterable[int], region: _Region) -> None:
        for v in variables:
            self.races[v] = region

    def _choose_region(self, variables: Sequence[int], known: Bounds, options: Sequence[Bounds | None]) -> int:
        touched = sorted({*variables, *(v for pair in known for v in pair)})
        return self.chance.choose([ZERO if option is None else measure(touched, option) for option in options])

    def draw(self, key: Hashable, call: Hashable, make: Callable[[], Answer]) -> Answer:
        """The answer to one draw from a generator whose state is `key`: the same state gives the same answer again."""
        found = self.draws.get(key)
        if found is None:
            answer = make()
            self.draws[key] = (call, answer)
            return answer
        if found[0] != call:
            self.refuse("a draw", "its generator was set back to an earlier state from which another call was answered")
        self.warnings[f"a generator was set back, and the same noise answered again: {user_line()}"] = "RV415"
        return found[1]  # type: ignore[no-any-return]

    def warn_zero(self) -> None:
        """Remark that ``u <= 0`` holds at u = 0, which real generators return now and then."""
        if searches_right(sys._getframe(3)):
            return
        self.warnings[f"u <= 0 accepts at u = 0: {user_line()}"] = "RV414"

    def refuse(self, call: str, hint: str) -> NoReturn:
        """Refuse a use of a random value (RV402), and remember it: the code under test may catch the exception."""
        self._stop("RV402", f"{call} at {user_line()} needs the value of a random number: {hint}")

    def refuse_call(self, call: str, hint: str) -> NoReturn:
        """Refuse a random function, or these arguments of it (RV403)."""
        self._stop("RV403", f"{call} at {user_line()} has no exact answer: {hint}")

    def _stop(self, code: str, message: str) -> NoReturn:
        error = Refused(code, message)
        self.failure = self.failure or error
        raise error
