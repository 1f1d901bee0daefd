"""Two calls in a row: given what the first did, the second must have the law of a first.

Each case runs a call on state built anew, so that what one call leaves behind (a cache of answers, noise drawn once) is
seen by none. In use the calls follow one another. Here, after some paths of a first call, every path of a second on the
same object is enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from rheo_verify.errors import LimitReached, RheoVerifyError
from rheo_verify.foreign.judging import Tally, findings, path_text
from rheo_verify.foreign.reports import Finding
from rheo_verify.foreign.state import Rebuilder, Standing
from rheo_verify.models.model import Context
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.enumeration import Path, enumerate_paths
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE, decimal
from rheo_verify.probability.replay import ReplayChance, read_choices
from rheo_verify.words import count

if TYPE_CHECKING:
    from rheo_verify.foreign.cases import Case
    from rheo_verify.foreign.checking import Outcome, Trial

FIRST_CALLS = 6
"""Paths of a first call after which a second is enumerated."""


class _Then(ReplayChance):
    """The choices of a first call, and after them those of the second: noise that is kept is the first call's."""

    def __init__(self, choices: Sequence[int], live: Chance) -> None:
        super().__init__(choices)
        self._live = live

    def choose(self, weights: Sequence[Any]) -> int:
        over = self.position == len(self.choices)
        return self._live.choose(weights) if over else super().choose(weights)

    def flip(self, yes: Any, no: Any) -> bool:
        over = self.position == len(self.choices)
        return self._live.flip(yes, no) if over else super().flip(yes, no)


class SecondCall:
    """A trial whose every run is the second of two calls on one object; the first goes along the path `first`.

    `trial` runs what `standing` gives.
    """

    def __init__(self, trial: Trial, standing: Standing, first: Sequence[int]) -> None:
        self.trial, self.standing, self.first = trial, standing, tuple(first)
        self.case, self.door = trial.case, trial.door
        self.emitted: tuple[int, ...] | None = None

    def run(self, chance: Chance) -> Outcome:
        """Both calls; what came out of the second."""
        self.standing.restart()
        self.emitted = self.trial.run(_Then(self.first, chance))[0]
        self.door.joined = True
        try:
            return self.trial.run(chance)
        finally:
            self.door.joined = False

    def expected(self) -> Law[tuple[int, ...]]:
        """The law of any call."""
        return self.trial.expected()

    def compared(self, law: Law[tuple[int, ...]]) -> Law[tuple[int, ...]]:
        """See `checking.Trial`."""
        return self.trial.compared(law)

    def text(self) -> str:
        """The case, and what the first call did."""
        shown = "nothing that can be read" if self.emitted is None else " ".join(map(str, self.emitted))
        return f"{self.trial.text()}\nafter a call, path {path_text(self.first)}, that emitted {shown}"

    def data(self) -> dict[str, Any]:
        """The case as plain data."""
        return self.trial.data()

    def target_at(self, context: Context) -> Row:
        """See `watching.Watched`."""
        return self.trial.target_at(context)

    def drafts_at(self, context: Context) -> list[tuple[str, Row]]:
        """See `watching.Watched`."""
        return self.trial.drafts_at(context)


def read_second(path: str) -> tuple[tuple[int, ...] | None, str]:
    """The first call of a path written ``1.0+0.2/0.1``, None where it names one call, and the path of the last call."""
    first, plus, last = path.rpartition("+")
    return (read_choices(first) if plus else None), last


def for_two_calls(cases: Iterable[Case]) -> list[Case]:
    """Of each vocabulary size and number of drafts the case that leaves most open: in residuals, then in sequences."""
    best: dict[tuple[int, int], Case] = {}
    for case in cases:
        kind = (case.vocab, case.drafts)
        if kind not in best or _open(case) > _open(best[kind]):
            best[kind] = case
    return [best[kind] for kind in sorted(best)]


def _open(case: Case) -> tuple[int, int, int]:
    """How many tokens may replace a first draft, two being enough, and how many sequences target and draft may give."""
    draft = case.draft.get((), (ONE,) * case.vocab)
    replacing = sum(p > q for p, q in zip(case.target[()], draft, strict=True))
    return min(replacing, 2), _sequences(case.target), _sequences(case.draft)


def _sequences(rows: Mapping[Context, Row], before: Context = ()) -> int:
    if before not in rows:
        return 1
    return sum(_sequences(rows, (*before, token)) for token, value in enumerate(rows[before]) if value)


@dataclass(frozen=True)
class TwoCalls:
    """What two calls in a row showed: the findings on the first case that has any, and what could not be told."""

    findings: list[Finding]
    untold: list[str]
    refused: list[RheoVerifyError]


def calls_in_a_row(
    trial: Callable[[Standing, Case], Trial],
    built: Rebuilder,
    cases: Iterable[Case],
    threshold: float,
    most_runs: int,
) -> TwoCalls:
    """`second_call` on each of `cases`, with `most_runs` calls each."""
    told = TwoCalls([], [], [])
    for case in cases:
        standing = Standing(built)
        try:
            found = second_call(trial(standing, case), standing, threshold, most_runs)
        except RheoVerifyError as error:
            found = None
            if not isinstance(error, LimitReached):
                told.refused.append(error)
        if found:
            return replace(told, findings=found)
        if found is None:
            told.untold.append(f"{count(case.vocab, 'token')} and {count(case.drafts, 'draft')}")
    return told


def second_call(trial: Trial, standing: Standing, threshold: float, most_runs: int) -> list[Finding] | None:
    """What is wrong with a second call on one case; empty where nothing is, None if `most_runs` calls do not tell.

    `trial` runs what `standing` gives. RV416: the law of the second call, given the first, is not the target's.
    """
    calls = _paths_of_one(trial, standing, most_runs)
    if calls is None:
        return None
    chosen = calls[:: max(1, len(calls) // FIRST_CALLS)][:FIRST_CALLS]
    left = most_runs - len(calls)
    for first in chosen:
        second, tally = SecondCall(trial, standing, first.choices), Tally()
        for path in enumerate_paths(second.run):
            tally.add(*path.result, path.probability, path.choices)
            left -= 2
            if left < 0:
                return None
        law = trial.compared(tally.law)
        found = findings(tally, trial.expected(), law, threshold, second.text(), trial.data(), whole=False)
        if isinstance(standing.code, type) and any(it.code == "RV405" and it.probability == 1 for it in found):
            return []  # its objects serve one call each
        if found:
            return [_named(finding, first.choices) for finding in found]
    return []


def _paths_of_one(trial: Trial, standing: Standing, most: int) -> list[Path[Outcome]] | None:
    def run(chance: Chance) -> Outcome:
        standing.restart()
        return trial.run(chance)

    paths = list(islice(enumerate_paths(run), most + 1))
    return paths if len(paths) <= most else None


def _named(finding: Finding, first: Sequence[int]) -> Finding:
    path = f"{path_text(first)}+{finding.replay}"
    if finding.code != "RV401":
        return replace(finding, message=f"in the second of two calls in a row: {finding.message}", replay=path)
    message = f"what a call emits depends on the call before it: total variation {decimal(finding.probability, 6)}"
    return replace(finding, code="RV416", message=message, replay=path)
