"""One path of foreign code again, with everything that it asked of its randomness and of its models written down.

Enumeration itself writes nothing down: a failing case is run again under `Watch`, path by path. Walks and contracts
read the events.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from rheo_verify.errors import InputError
from rheo_verify.foreign import lazy_arrays
from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.refusal import is_users, line_text, user_line
from rheo_verify.models.model import Context
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ONE, ZERO, Rational
from rheo_verify.probability.replay import ReplayChance


@dataclass(frozen=True)
class Asked:
    """A model of the decoder was asked for the row after `context`."""

    model: str
    context: Context
    line: str


@dataclass(frozen=True)
class Drawn:
    """A categorical draw: `index` of `law`, which came with `probability`. `given`: a draft that the check drew.

    `racers` are the variables that raced for it, if any did; `law` is theirs as if the race were a fresh one.
    """

    law: tuple[Rational, ...]
    index: int
    probability: Rational
    line: str
    given: bool = False
    racers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tested:
    """A question ``U < threshold`` about a uniform known to lie in [low, high); None for a coin of its own."""

    variable: int | None
    threshold: Rational
    low: Rational
    high: Rational
    below: bool
    probability: Rational
    line: str


@dataclass(frozen=True)
class Used:
    """A row that a random function read as cumulative sums or as probabilities; its total should be `total`."""

    function: str
    row: tuple[float, ...]
    total: float
    should: float
    line: str


Event = Asked | Drawn | Tested | Used


class Watched(Protocol):
    """What can be run and watched. For a verifier a context is the drafts so far, for a decoder all tokens so far."""

    def run(self, chance: Chance) -> Any:
        """One run of the code under test."""

    def target_at(self, context: Context) -> Row:
        """The row that the token after a context should follow."""

    def drafts_at(self, context: Context) -> list[tuple[str, Row]]:
        """Rows that a test after a context may take for the draft's, right or wrong, each with its name."""


class Watch(ReplayChance):
    """Follows given choices and writes down `events`."""

    def __init__(self, choices: Sequence[int]) -> None:
        super().__init__(choices)
        self.events: list[Event] = []
        self.inside = self.quiet = False

    def attached(self, door: Any, call: Callable[[], Any]) -> Callable[[], Any]:
        """`call`, of which the random questions are written down as well."""

        def watched() -> Any:
            door.current().__class__ = _WatchedNoise
            self.inside = True
            return call()

        return watched

    def asked(self, model: str) -> Callable[[Context], None]:
        """What a toy model tells when it is asked."""
        return lambda context: self.events.append(Asked(model, context, user_line()))

    def choose(self, weights: Sequence[Any]) -> int:
        """See `Chance`."""
        before, index = self.probability, self._follow(weights)
        if not self.quiet:
            line = user_line() if self.inside else ""
            self._used(line)
            law = normalised(weights)
            self.events.append(Drawn(law, index, self.probability / before, line, not self.inside))
        return index

    def flip(self, yes: Any, no: Any) -> bool:
        """See `Chance`."""
        before = self.probability
        below = self._follow((yes, no)) == 0
        if not self.quiet:
            threshold = normalised((yes, no))[0]
            probability = self.probability / before
            self.events.append(Tested(None, threshold, ZERO, ONE, below, probability, user_line()))
        return below

    def _follow(self, weights: Sequence[Any]) -> int:
        """See `ReplayChance.choose`; where the path leaves the tree the line is named."""
        try:
            return super().choose(weights)
        except InputError as error:
            if error.code != "RV109":
                raise
            place = f"at {user_line()}" if self.inside else f"at draft {self.position + 1}"
            raise InputError("RV109", f"{error.message} ({place})") from None

    def _used(self, line: str) -> None:
        used = _row_in_use(line)
        if used is not None and (not self.events or self.events[-1] != used):
            self.events.append(used)


class _WatchedNoise(Noise):
    """The noise of a watched run."""

    chance: Watch

    def below(self, variable: int, threshold: Rational) -> bool:
        """See `Noise.below`."""
        watch, low, high, line = self.chance, self.low[variable], self.high[variable], user_line()
        watch._used(line)
        before, watch.quiet = watch.probability, True
        answer = super().below(variable, threshold)
        watch.quiet = False
        watch.events.append(Tested(variable, threshold, low, high, answer, watch.probability / before, line))
        return answer

    def arrive(self, variables: Sequence[int], rates: Sequence[Rational], mirrored: bool = False) -> int:
        """See `Noise.arrive`."""
        watch = self.chance
        before, watch.quiet = watch.probability, True
        winner = super().arrive(variables, rates, mirrored)
        watch.quiet = False
        probability = watch.probability / before
        watch.events.append(Drawn(normalised(rates), winner, probability, user_line(), False, tuple(variables)))
        return winner


def watch(trial: Watched, choices: Sequence[int]) -> tuple[Watch, Any]:
    """Run one path again: the watch with its events, and what came out."""
    watching = Watch(choices)
    return watching, trial.run(watching)


def normalised(weights: Sequence[Any]) -> tuple[Rational, ...]:
    """Weights as exact probabilities."""
    exact = [Rational(weight) for weight in weights]
    mass = sum(exact, ZERO)
    return tuple(weight / mass if mass else weight for weight in exact)


def _row_in_use(line: str) -> Used | None:
    """The row that a random function above this frame reads, if it is one whose total is taken for granted."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(12):
        if frame is None:
            return None
        code, names = frame.f_code, frame.f_locals
        if code is lazy_arrays.search.__code__ and isinstance(names["value"], Lazy):
            value: Lazy = names["value"]
            if value.kind != "U":
                return None
            row = [float(entry) for entry in names["sorted_row"]]
            top = float(value.shift + max(value.scale, ZERO))
            return Used("searchsorted", _steps(row), row[-1] if row else 0.0, top, line)
        if code is random.Random.choices.__code__ and names.get("cum_weights") is not None:
            sums = [float(entry) for entry in names["cum_weights"]]
            return Used("random.choices", _steps(sums), sums[-1], sums[-1], line)
        if code.co_name == "multinomial" and "pvals" in names:
            values = tuple(float(entry) for entry in names["pvals"])
            return Used("numpy multinomial", values, sum(values), 1.0, line)
        frame = frame.f_back
    return None


def _steps(sums: Sequence[float]) -> tuple[float, ...]:
    return tuple(b - a for a, b in zip((0.0, *sums), sums, strict=False))


_WEIGHTS = {
    "multinomial": ("input", 0, None),
    "numpy multinomial": ("pvals", 1, 1.0),
    "numpy choice": ("p", 3, 1.0),
    "random.choices": ("", 0, None),
}
"""Where the weights stand among the arguments, and what they must sum to (None: anything positive)."""


def refused_row(error: BaseException) -> str | None:
    """Which row a random function refused when it raised `error`: no distribution. None if that was not the reason."""
    trace, line = error.__traceback__, "an unknown line"
    while trace is not None:
        names, code = trace.tb_frame.f_locals, trace.tb_frame.f_code
        line = line_text(trace.tb_frame, trace.tb_lineno) if is_users(trace.tb_frame) else line
        row = _refused_weights(code, names)
        if row is not None:
            function, values = row
            wrong = wrong_with(values, _WEIGHTS[function][2])
            shown = ", ".join(f"{x:.6g}" for x in values)
            return f"{function} at {line} was given ({shown}): {wrong}" if wrong else None
        trace = trace.tb_next
    return None


def _refused_weights(code: Any, names: dict[str, Any]) -> tuple[str, tuple[float, ...]] | None:
    values, function = None, ""
    if code is random.Random.choices.__code__:
        sums = names.get("cum_weights")
        values = names.get("weights") if sums is None else _steps([float(x) for x in sums])
        function = "random.choices"
    elif code.co_name == "__torch_function__" and "func" in names and "args" in names:
        function = getattr(names["func"], "__name__", "")
        values = _weights(function, names["args"], names.get("kwargs") or {})
    elif code.co_name in ("_draw", "real_form") and "name" in names and "args" in names:
        function = f"numpy {names['name']}"
        values = _weights(function, names["args"], names["kwargs"])
    if values is None:
        return None
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if values and isinstance(values[0], list):
        values = next((row for row in values if wrong_with(row, None)), values[0])
    return (function, tuple(float(x) for x in values)) if values else None


def _weights(function: str, args: Any, kwargs: Any) -> Any:
    if function not in _WEIGHTS:
        return None
    name, index, _ = _WEIGHTS[function]
    return args[index] if len(args) > index else kwargs.get(name)


def wrong_with(row: Sequence[float], should: float | None, tolerance: float = 1e-6) -> str | None:
    """Why a row is not a distribution (its entries should sum to `should`, or to anything positive), or None."""
    bad = [value for value in row if value != value or value in (float("inf"), -float("inf"))]
    if bad:
        return f"{bad[0]} is no probability"
    if min(row, default=0.0) < -tolerance:
        return f"{min(row):.6g} is negative"
    if should is None:
        return None if sum(row) > 0 else "they sum to 0"
    total = sum(row)
    return None if abs(total - should) <= tolerance else f"they sum to {total:.6g}, not to {should:.6g}"
