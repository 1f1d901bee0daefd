"""Contracts that explain a wrong law: read from what a failing case asked of its randomness and its models.

RV411: a draft was drawn under one law and tested as if drawn under another row of the draft model. RV412: siblings
were tested in another order than they were drawn in. RV413: a row was read as a distribution that is none.

A test ``u < t`` of a drafted token x says which draft probability it takes for granted: ``r(x) / t``, where r is the
target row, or the residual that the tests before it left. All three are looked for only where the law is wrong.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rheo_verify.errors import RheoVerifyError
from rheo_verify.foreign.judging import Breach, path_text
from rheo_verify.foreign.progress import say
from rheo_verify.foreign.reports import Finding
from rheo_verify.foreign.watching import Asked, Drawn, Event, Tested, Used, Watched, watch, wrong_with
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row, residual
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.rationals import ONE, ZERO, Rational

if TYPE_CHECKING:
    from rheo_verify.foreign.checking import Trial

MOST_PATHS = 2_000


@dataclass(frozen=True)
class Draft:
    """A drafted token that waits for its test: the law it was drawn under, where, and the line."""

    context: Context
    token: int
    law: Row
    line: str


@dataclass
class Cycle:
    """The drafts of a cycle that wait for their tests, in the order of their draws, and the residuals so far."""

    waiting: list[Draft] = field(default_factory=list)
    drawn: list[Draft] = field(default_factory=list)
    left: dict[Context, Row] = field(default_factory=dict)
    tested: bool = False


def broken_contracts(trial: Trial, finding: Finding, threshold: float) -> list[Finding]:
    """RV411, RV412 and RV413 on the case of a wrong law; at most `MOST_PATHS` of its paths are looked at."""
    if finding.code not in ("RV401", "RV405", "RV406", "RV407", "RV413"):
        return []
    found: dict[str, tuple[Rational, str, str]] = {}
    begun = time.monotonic()
    for number, path in enumerate(itertools.islice(enumerate_paths(trial.run), MOST_PATHS)):
        if time.monotonic() - begun > 1:
            say("paths looked at for a cause", number, 0)
        try:
            events = watch(trial, path.choices)[0].events
        except RheoVerifyError:
            continue
        for breach in {b.code: b for b in broken_on_path(trial, events, 100 * threshold)}.values():
            mass, message, name = found.get(breach.code, (ZERO, breach.message, path_text(path.choices)))
            found[breach.code] = (mass + path.probability, message, name)
    found.pop(finding.code, None)
    return [
        Finding(code, message, trial.text(), trial.data(), mass, name) for code, (mass, message, name) in found.items()
    ]


def broken_on_path(trial: Watched, events: Sequence[Event], tolerance: float) -> Iterator[Breach]:
    """The breaches that the events of one path show."""
    for event in events:
        if isinstance(event, Used):
            wrong = wrong_with(event.row, event.should, max(tolerance, 1e-6))
            if wrong:
                shown = ", ".join(f"{value:.6g}" for value in event.row)
                yield Breach("RV413", f"{event.function} at {event.line} was given ({shown}): {wrong}")
                break
    cycle, verifying = Cycle(), False
    context: Context | None = None
    given: Context = ()
    race: tuple[int, ...] = ()
    for event in events:
        if isinstance(event, Asked) and event.model == "draft":
            cycle, context = (Cycle() if cycle.tested or verifying else cycle), event.context
            verifying = False
        elif isinstance(event, Asked):
            context, verifying = None, True
        elif isinstance(event, Drawn) and not cycle.tested:
            race = race if set(event.racers) < set(race) else event.racers
            place = given if event.given else context
            if place is not None:
                _drawn(cycle, trial, place, _over_vocabulary(event, race))
            given = (*given, event.index) if event.given else given
        elif isinstance(event, Tested) and event.low == 0 and event.high == 1:
            cycle.tested = True
            breach = _tested(cycle, trial, event, Rational(tolerance)) if cycle.waiting else None
            if breach is not None:
                yield from [breach] if breach.code else []
                return


def _over_vocabulary(event: Drawn, race: tuple[int, ...]) -> tuple[Row, int, str]:
    """A draw as a row over all tokens: those that are out of a race have weight zero."""
    if not event.racers:
        return event.law, event.index, event.line
    row = [ZERO] * len(race)
    for variable, weight in zip(event.racers, event.law, strict=True):
        row[race.index(variable)] = weight
    return tuple(row), race.index(event.racers[event.index]), event.line


def _drawn(cycle: Cycle, trial: Watched, context: Context, draw: tuple[Row, int, str]) -> None:
    law, token, line = draw
    if len(law) == len(trial.target_at(context)):
        cycle.waiting.append(Draft(context, token, law, line))
        cycle.drawn.append(cycle.waiting[-1])


_UNKNOWN = Breach("", "")


def _tested(cycle: Cycle, trial: Watched, event: Tested, tolerance: Rational) -> Breach | None:
    """What the next test says of the first draft that waits; `_UNKNOWN` where it says nothing that is understood."""
    draft = cycle.waiting.pop(0)

    def ratio(other: Draft, law: Row) -> Rational | None:
        row = cycle.left.get(other.context) or trial.target_at(other.context)
        return row[other.token] / law[other.token] if law[other.token] else None

    own = ratio(draft, draft.law)
    if own is not None and _same(event.threshold, own, tolerance):
        if event.below:
            cycle.waiting = [other for other in cycle.waiting if other.context != draft.context]
            return None
        row = cycle.left.get(draft.context) or trial.target_at(draft.context)
        cycle.left[draft.context] = _without(residual(row, draft.law), set())
        return None
    first = next(other for other in cycle.drawn if other.context == draft.context)
    for other in cycle.waiting:
        for law in (other.law, first.law):
            theirs = ratio(other, law)
            if theirs is not None and abs(theirs - event.threshold) <= tolerance and theirs < 1:
                order = " ".join(str(each.token) for each in cycle.drawn)
                return Breach(
                    "RV412", f"drafts drawn in the order {order}; {event.line} tests {other.token} before {draft.token}"
                )
    return _another_row(cycle, trial, draft, event, tolerance) or _UNKNOWN


def _another_row(cycle: Cycle, trial: Watched, draft: Draft, event: Tested, tolerance: Rational) -> Breach | None:
    """RV411, where the test takes the probability of another row of the draft model for granted."""
    if not 0 < event.threshold < 1:
        return None
    row = cycle.left.get(draft.context) or trial.target_at(draft.context)
    taken = row[draft.token] / event.threshold
    if not taken:
        return None
    drawn = draft.law[draft.token]
    out = {other.token for other in cycle.drawn if other.context == draft.context and other is not draft}
    rows = trial.drafts_at(draft.context)
    rows += [(f"{name}, without {' '.join(map(str, out))}", _without(each, out)) for name, each in rows if out]
    rows += [("the law of an earlier draw", other.law) for other in cycle.drawn if other is not draft]
    for name, each in rows:
        for form, value in (("", each[draft.token]), (" in bfloat16", _bfloat16(each[draft.token]))):
            if value != drawn and abs(value - taken) <= tolerance < abs(value - drawn):
                return Breach(
                    "RV411",
                    f"token {draft.token} was drawn with probability {float(drawn):.6g}"
                    + (f" ({draft.line})" if draft.line else "")
                    + f", but {event.line} tests it as if with {float(taken):.6g}: {name}{form}",
                )
    return None


def _without(row: Row, tokens: set[int]) -> Row:
    kept = [ZERO if token in tokens else value for token, value in enumerate(row)]
    mass = sum(kept, ZERO)
    return tuple(value / mass if mass else value for value in kept)


def _same(threshold: Rational, ratio: Rational, tolerance: Rational) -> bool:
    return abs(threshold - ratio) <= tolerance or (threshold >= ONE and ratio >= ONE)


def _bfloat16(value: Any) -> Rational:
    """`value` rounded to eight significant bits, to nearest."""
    import math

    if not value:
        return ZERO
    mantissa, exponent = math.frexp(float(value))
    return Rational(math.ldexp(round(mantissa * 256) / 256, exponent))
