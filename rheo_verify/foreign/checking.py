"""The loop that all ways in share: case by case, enumerate, judge, look at the contracts, make smaller, report."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError, LimitReached, MisuseError, RheoVerifyError
from rheo_verify.foreign.answering import Answering, answering
from rheo_verify.foreign.arrays_in_out import Unreadable, at_once
from rheo_verify.foreign.cases import Case, check_case
from rheo_verify.foreign.contracts import broken_contracts
from rheo_verify.foreign.judging import Breach, Tally, by_rank, findings
from rheo_verify.foreign.memory import check_memory
from rheo_verify.foreign.progress import followed, say
from rheo_verify.foreign.raising import Judged, raised_always
from rheo_verify.foreign.refusal import Refused, let_pass, raised
from rheo_verify.foreign.reports import CheckReport, Finding, threshold_for
from rheo_verify.foreign.second_call import SecondCall, calls_in_a_row, for_two_calls, read_second, second_call
from rheo_verify.foreign.shrinking import shrink
from rheo_verify.foreign.spreading import Progress, part_of, run_elsewhere, run_part
from rheo_verify.foreign.state import Rebuilder, Standing, rebuilding
from rheo_verify.foreign.walking import walk
from rheo_verify.foreign.watching import Watch, Watched, refused_row
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.enumeration import Path, enumerate_paths
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE
from rheo_verify.probability.replay import replay
from rheo_verify.words import count

Outcome = tuple[tuple[int, ...] | None, tuple[Breach, ...]]
_RERUN = 100
_FEWEST_RUNS = 400
"""Of two calls in a row, on each of their cases; where a check has many paths, their share of a tenth of them."""
_LOOKED_AT = 3_000
"""Cases among which those for two calls are chosen."""
_SECOND_TRIES = 100
"""Smaller cases of two calls that are tried; each has many paths."""
_LOOK_S = 0.05
"""Between two looks at the memory of one case."""
_AGAIN = 20
"""Paths of a case that fails are run again, so many or once each: an unanswered coin shows itself."""


class Trial(Watched, Protocol):
    """One case of a way in."""

    case: Case
    door: Answering

    def run(self, chance: Chance) -> Outcome:
        """One run of the code under test."""

    def expected(self) -> Law[tuple[int, ...]]:
        """The right law."""

    def compared(self, law: Law[tuple[int, ...]]) -> Law[tuple[int, ...]]:
        """The found law as it is compared."""

    def text(self) -> str:
        """The case in words."""

    def data(self) -> dict[str, Any]:
        """The case as plain data."""


@dataclass(frozen=True)
class Way:
    """What a way in brings: its name, the scope in words, what is not covered, and which cases have no stated law.

    `settings` are the options that differ from their defaults (for replays); `same_depth` keeps the number of drafts
    while a case is made smaller; `paths` bounds one case; `case` is the only one to run, if given, and `path` the one
    of its paths to walk through. `misread` says what all paths of a trial that was run returned amiss, if they did: a
    wrong law is then told as RV406, too.
    """

    name: str
    scope: Callable[[Progress], str]
    not_covered: str
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    skip: Callable[[Case], bool] = lambda case: False
    paths: int | None = None
    tries: int = 600
    same_depth: bool = False
    case: Case | None = None
    path: str | None = None
    misread: Callable[[Any], str] = lambda trial: ""


def settings_of(
    *, arrays: str, dtype: str, logits: bool = False, usual_logits: bool = False, in_place: bool = False, **others: Any
) -> dict[str, Any]:
    """The options of a check that differ from their defaults, by name."""
    named = {"arrays": (arrays, "torch"), "dtype": (dtype, "float64"), "logits": (logits, usual_logits)}
    named["in_place"] = in_place, False
    return {name: value for name, (value, usual) in named.items() if value != usual} | others


def guarded(
    door: Answering, chance: Chance, call: Callable[[], Any], read: Callable[[Any], Outcome], where: str = ""
) -> Outcome:
    """One run of the code under test, and what it returned. What it raises or gives unreadable is a breach."""
    if isinstance(chance, Watch):
        call = chance.attached(door, call)
    try:
        return read(at_once(door.run(chance, call)))
    except Unreadable as error:
        return None, (Breach("RV406", str(error)),)
    except RheoVerifyError as error:
        stops = isinstance(error, (Refused, MisuseError, LimitReached)) and error.code != "RV301"
        if error.code == "RV109" or stops:
            raise  # a path that does not fit; a refusal
        row = refused_row(error)
        return None, (Breach("RV413", where + row) if row else Breach("RV405", f"{where}{error}"),)
    except BaseException as error:  # the code under test may raise anything
        let_pass(error)
        row = refused_row(error)
        told = f"{where}{raised(error)}"
        return None, (Breach("RV413", f"{where}{row}") if row else Breach("RV405", told),)


def judge(
    trial: Trial, dtypes: set[str], limit: int | None = None, rerun: bool = False, until: float = math.inf
) -> Judged | None:
    """Enumerate one case: its findings, and how many paths it has; None when there are more than `limit`.

    `rerun` runs its last path a second time. `dtypes` are the number formats met so far. Raises `LimitReached` RV201
    after `until`, in seconds of `time.monotonic()`: a case may have paths without end; RV204 above the memory limit.
    """
    tally, last, begun = Tally(), None, time.monotonic()
    looked = begun
    check_memory()
    for path in _paths(trial):
        tally.add(*path.result, path.probability, path.choices)
        last = path
        if limit is not None and tally.paths > limit:
            return None
        now = time.monotonic()
        if now - begun > 1:
            say("paths of this case", tally.paths, 0)
        if now - looked > _LOOK_S:
            check_memory()
            looked = now
        if now > until:
            raise LimitReached("RV201", "the time limit was reached", f"{count(tally.paths, 'path')} of one case")
    if rerun and last is not None and not _repeats(trial, last):
        raise MisuseError(
            "RV404", "the same choices gave another result: there is randomness that is not answered here"
        )
    threshold, found = threshold_for(dtypes), trial.compared(tally.law)
    return findings(tally, trial.expected(), found, threshold, trial.text(), trial.data()), tally.paths


def _paths(trial: Trial) -> Iterator[Path[Outcome]]:
    """Every path of a trial. Raises `MisuseError` RV404 where a run asks for something else than before."""
    try:
        yield from enumerate_paths(trial.run)
    except MisuseError as error:
        if error.code != "RV302":
            raise
        message = "with the same choices the code asked for other random numbers: it keeps state from run to run"
        raise MisuseError("RV404", f"{message}, or there is randomness that is not answered here") from None


def _repeats(trial: Trial, path: Path[Outcome]) -> bool:
    """Whether the same choices are asked for again, and give the same."""
    try:
        return replay(trial.run, path.choices).result == path.result
    except InputError:
        return False


def _draws_again(trial: Trial, door: Answering) -> bool:
    """Whether a second call, after the first one, names a draw as the first did: its generator was set back."""
    try:
        door.names = set()
        path = next(enumerate_paths(trial.run))
        before = door.names
        replay(trial.run, path.choices)
        return not before.isdisjoint(door.names)
    except RheoVerifyError:
        return False
    finally:
        door.names = None


def check(
    way: Way,
    code: Callable[..., Any],
    trial: Callable[[Answering, Rebuilder, Case], Trial],
    cases: Iterable[Case],
    name: str | None,
) -> CheckReport:
    """Check `code`, whose random calls are answered, case by case. Raises as `verifier.check_verifier` does."""
    if way.case is not None:
        check_case(way.case, way.name)
    looked_at = list(itertools.islice(cases, _LOOKED_AT))
    kept = itertools.chain(looked_at, cases)
    twice = [way.case] if way.case else for_two_calls(itertools.filterfalse(way.skip, looked_at))
    part = part_of(kept)
    begun: Progress = Progress()
    left: Iterable[Case] = kept
    if part is None and way.case is None:
        begun, left = run_elsewhere(kept, way.seconds)
    with answering(code) as door, rebuilding(code) as rebuilder:
        last, until = -_RERUN, time.monotonic() + way.seconds

        def judged(case: Case, paths: int | None) -> Judged | None:
            nonlocal last
            rerun = paths is not None and paths - last >= _RERUN
            last = paths if rerun and paths is not None else last
            return judge(trial(door, rebuilder, case), door.dtypes, way.paths, rerun, until)

        if part is not None:
            run_part(part, way.skip, judged, door)
            return report(way, code, begun, [], 0.0, (), name)
        door.dtypes.update(begun.dtypes)
        door.warnings.update(begun.warnings)
        progress, found = search(way, left, judged, begun)
        if found:
            again = trial(door, rebuilder, read(found[0], way))
            _same_again(again, found, door)
            causes = [*_misread(way, again, found), *broken_contracts(again, found[0], threshold_for(door.dtypes))]
            found = by_rank([*found, *causes])
        if twice and _draws_again(trial(door, Standing(rebuilder), twice[0]), door):
            door.warnings["two calls in a row draw the same noise: each call seeds its generator"] = "RV415"
        threshold = threshold_for(door.dtypes)
        if not found and progress.cases and not progress.late:
            most = max(_FEWEST_RUNS, progress.paths // 10 // max(1, len(twice)))
            told = calls_in_a_row(functools.partial(trial, door), rebuilder, twice, threshold, most)
            found = told.findings
            if found and way.case is None:

                def second(case: Case, _: int | None) -> Judged | None:
                    standing = Standing(rebuilder)
                    answer = second_call(trial(door, standing, case), standing, threshold, most)
                    return None if answer is None else (answer, 0)

                found = smaller(replace(way, tries=_SECOND_TRIES), read(found[0], way), found, second)
            door.warnings.update({f"of two calls in a row: {error.message}": error.code for error in told.refused})
            if told.untold:
                way = replace(way, not_covered=f"{way.not_covered}; two calls in a row on {', '.join(told.untold)}")
        warnings = tuple((code_name, remark) for remark, code_name in door.warnings.items())
        answer = report(way, code, progress, found, threshold, warnings, name)
        if way.case is not None and way.path is not None:
            first, path = read_second(way.path)
            standing = rebuilder if first is None else Standing(rebuilder)
            walked = trial(door, standing, way.case)
            if isinstance(standing, Standing) and first is not None:
                walked = SecondCall(walked, standing, first)
            answer = replace(answer, walk=walk(walked, path))
    return answer


def _same_again(trial: Trial, found: list[Finding], door: Answering) -> None:
    """Raises `MisuseError` RV404 unless the case, enumerated again, shows the same faults as probably each time."""
    times = _AGAIN
    while times > 0:
        answer = judge(trial, door.dtypes)
        if answer is None or _shown(answer[0]) != _shown(found):
            raise MisuseError(
                "RV404",
                "the same case gave other findings when run again: there is randomness, or state that "
                "outlives a run, that is not answered here",
            )
        times -= max(1, answer[1])


def _misread(way: Way, trial: Trial, found: list[Finding]) -> list[Finding]:
    said, first = way.misread(trial), found[0]
    return [Finding("RV406", said, first.case, first.data, ONE, first.replay)] if said and first.code == "RV401" else []


def _shown(found: list[Finding]) -> set[Any]:
    return {(it.code, it.probability, it.differences) for it in found}


def search(
    way: Way,
    cases: Iterable[Case],
    judged: Callable[[Case, int | None], Judged | None],
    begun: Progress | None = None,
) -> tuple[Progress, list[Finding]]:
    """The first case with findings, made smaller; `judged` is given a case and the number of paths run so far."""
    started, progress = time.monotonic(), begun or Progress()
    left = iter(followed(cases, "cases") if way.case is None else [way.case])
    for case in left:
        if time.monotonic() - started > way.seconds:
            progress.late = True
            break
        if way.case is None and way.skip(case):
            progress.skipped += 1
            continue
        try:
            answer = judged(case, progress.paths)
        except LimitReached as limit:
            if limit.code == "RV204":
                limit.covered = f"{count(progress.cases, 'case')}, {count(progress.paths, 'path')}"
                raise
            progress.late = True
            break
        if answer is None:
            progress.large += 1
            continue
        progress.cases, progress.paths = progress.cases + 1, progress.paths + answer[1]
        if answer[0]:
            if way.case is None and progress.cases == 1:
                others = itertools.chain([case], (each for each in left if not way.skip(each)))
                raised_always(answer[0], others, lambda each: judged(each, None), started + way.seconds)
            return progress, answer[0] if way.case else smaller(way, case, answer[0], judged)
    return progress, []


def smaller(
    way: Way, case: Case, found: list[Finding], judged: Callable[[Case, int | None], Judged | None]
) -> list[Finding]:
    """The findings on a smaller case that fails with the same first code."""

    begun, tried = time.monotonic(), 0

    def fails(other: Case) -> list[Finding] | None:
        nonlocal tried
        tried += 1
        if time.monotonic() - begun > 1:
            say("smaller cases tried", tried, 0)
        if way.skip(other) or (way.same_depth and other.drafts != case.drafts):
            return None
        try:
            answer = judged(other, None)
        except RheoVerifyError:
            return None
        return answer[0] if answer and answer[0] and answer[0][0].code == found[0].code else None

    return shrink(case, found, fails, way.tries)


def read(finding: Finding, way: Way) -> Case:
    """The case of a finding."""
    from rheo_verify.foreign.cases import read_case

    return way.case or read_case(finding.data)


def report(
    way: Way,
    code: Any,
    progress: Progress,
    found: list[Finding],
    threshold: float,
    warnings: tuple[tuple[str, str], ...],
    name: str | None,
) -> CheckReport:
    """The answer: VERIFIED only when every case of the scope was run."""
    inconclusive = progress.late or progress.large or not progress.cases
    covered = way.scope(progress) if way.case is None else "this one case"
    if progress.late:
        covered += f"; the time limit of {way.seconds:g} s struck after {count(progress.cases, 'case')}"
    return CheckReport(
        name or str(getattr(code, "__name__", type(code).__name__)),
        way.name,
        Verdict.REFUTED if found else Verdict.INCONCLUSIVE if inconclusive else Verdict.VERIFIED,
        covered,
        progress.cases,
        progress.paths,
        threshold,
        tuple(found),
        warnings,
        way.not_covered,
        tuple(way.settings.items()),
    )
