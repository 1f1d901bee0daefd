"""Coins as inputs, by stratified integration: for kernels on any device, many coins, and outputs that come and go.

The law is known up to a bound (see `strata`). REFUTED: the law is off by more than the bound, so that it is wrong
whatever happens inside the cells. VERIFIED: deviation and bound together are at most `within`. Else INCONCLUSIVE.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.foreign.arrays_in_out import Maker, Unreadable, at_once, read_tokens
from rheo_verify.foreign.cases import Case, check_case
from rheo_verify.foreign.checking import settings_of
from rheo_verify.foreign.coins import Outcome, drafts_of, one_point
from rheo_verify.foreign.interrupts import watching
from rheo_verify.foreign.judging import Breach, Tally, extended, findings, row_of, target_law, verifier_breaches
from rheo_verify.foreign.memory import check_memory
from rheo_verify.foreign.progress import followed
from rheo_verify.foreign.raising import raised_always
from rheo_verify.foreign.refusal import let_pass, raised
from rheo_verify.foreign.reports import THRESHOLDS, CheckReport, Finding
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.signatures import check_call
from rheo_verify.foreign.strata import Evaluate, Integral, Point, by_corners, by_middles
from rheo_verify.foreign.verifier import cases_of
from rheo_verify.probability.laws import law_total_variation
from rheo_verify.probability.rationals import ONE, ZERO, Rational
from rheo_verify.words import count

WAY = "coins by strata"
_CHUNK = 4096


@dataclass(frozen=True)
class Strata:
    """How to integrate: `cells` (a power of two) per coin at first, at most `most` evaluations for each drafts.

    `changes` is the assumption: at most so many changes of the output along each coin; None: each output is one
    interval of each coin. `within` is the total variation that VERIFIED allows; None: rounding alone.
    """

    cells: int = 2
    changes: int | None = None
    within: float | None = None
    most: int = 5_000

    def __post_init__(self) -> None:
        """Raises `InputError` RV106."""
        if self.cells < 1 or self.cells & (self.cells - 1):
            raise InputError("RV106", f"strata must be a power of two, not {self.cells}")
        if self.most < 1 or (self.changes is not None and self.changes < 0):
            raise InputError("RV106", "evaluations must be at least 1, and changes at least 0")
        if self.within is not None and not 0 < self.within < 1:
            raise InputError("RV106", f"within must lie between 0 and 1, not {self.within}")

    def text(self) -> str:
        """The assumption in words."""
        if self.changes is None:
            return "each output is one interval of each coin, the others held"
        return f"at most {self.changes} changes of the output along each coin"

    def integral(self, evaluate: Evaluate, coins: int, enough: float, dtype: str) -> Integral:
        """Integrate under the assumption."""
        if self.changes is not None:
            return by_middles(evaluate, coins, self.cells, self.most, self.changes)
        return by_corners(evaluate, coins, self.cells, self.most, enough, dtype)


@watching()
def check_strata(
    code: Callable[..., Any],
    *,
    strata: Strata | None = None,
    arrays: str = "torch",
    dtype: str = "float64",
    device: str = "cpu",
    batched: bool = False,
    scope: Scope | None = None,
    coins: int | None = None,
    name: str | None = None,
    case: Case | None = None,
) -> CheckReport:
    """Decide, up to a stated bound, whether a verifier that is given its coins is lossless.

    `code(target, draft, tokens, uniforms)` as in `check_coins`; with `batched` every argument has a leading batch axis
    (uniforms [B, coins]) and what is returned too (tokens [B, n + 1], padded with -1; counts [B]). `device` is torch's.
    Raises `InputError` RV106.
    """
    check_call(code, "coins")
    if case is not None:
        check_case(case, "coins")
    strata, scope = strata or Strata(), scope or Scope(vocab=2, denominator=3, drafts=1, random=6)
    if coins is not None and coins < 1:
        raise InputError("RV106", f"a verifier that is given its coins needs at least one, not {coins}")
    maker = Maker(arrays, False, dtype, device)
    given = {"device": device, "batched": batched, "coins": coins}
    given |= {"cells": strata.cells, "changes": strata.changes, "within": strata.within, "most": strata.most}
    usual = {"device": "cpu", "batched": False, "cells": 2, "most": 5_000}
    settings = settings_of(arrays=arrays, dtype=dtype) | {k: v for k, v in given.items() if v != usual.get(k)}
    rounding = THRESHOLDS["float32" if dtype == "float32" else "float64"]
    within = rounding if strata.within is None else strata.within
    started, done, runs, late, open_cases = time.monotonic(), 0, 0, False, 0
    worst, found, warnings = ZERO, list[Finding](), dict[str, str]()

    def judged(each: Case) -> tuple[list[Finding], int]:
        return judge(each).found, 0

    def judge(each: Case) -> _Judged:
        return _judge(code, each, maker, batched, strata, coins or each.drafts + 1, within, rounding, until)

    until = started + scope.seconds
    cases = iter(followed(cases_of(scope), "cases") if case is None else [case])
    for each in cases:
        try:
            answer = judge(each)
        except LimitReached as limit:
            if limit.code == "RV204":
                raise
            late = True
            break
        done, runs, worst = done + 1, runs + answer.evaluations, max(worst, answer.bound)
        if answer.contradiction is not None:
            warnings[f"{strata.text()}: {answer.contradiction}"] = "RV422"
            break
        if answer.found:
            found = answer.found
            if done == 1 and case is None:
                raised_always(found, itertools.chain([each], cases), judged, until)
            break
        if answer.deviation + answer.bound > within:
            open_cases += 1
            low, high = max(0.0, float(answer.deviation - answer.bound)), float(answer.deviation + answer.bound)
            if open_cases == 1:
                place = each.text().replace("\n", "; ")
                remark = f"total variation between {low:.3g} and {high:.3g}, wanted within {within:g}, on {place}"
                warnings[remark] = "RV421"
    decided = not (late or open_cases or warnings)
    verdict = Verdict.REFUTED if found else Verdict.VERIFIED if decided else Verdict.INCONCLUSIVE
    covered = scope.text() if case is None else "this one case"
    covered += f"; error of the law at most {float(worst):.3g} in total variation, assuming: {strata.text()}"
    covered += f"; the time limit of {scope.seconds:g} s struck after {count(done, 'case')}" if late else ""
    covered += f"; {open_cases} of {count(done, 'case')} not decided" if open_cases else ""
    return CheckReport(
        name or str(getattr(code, "__name__", type(code).__name__)),
        WAY,
        verdict,
        covered,
        done,
        runs,
        within,
        tuple(found),
        tuple((number, text) for text, number in warnings.items()),
        "code that breaks the assumption; biases below the threshold; larger vocabularies and more drafts",
        tuple(settings.items()),
    )


@dataclass(frozen=True)
class _Judged:
    found: list[Finding]
    deviation: Rational
    bound: Rational
    evaluations: int
    contradiction: str | None


def _judge(
    code: Callable[..., Any],
    case: Case,
    maker: Maker,
    batched: bool,
    strata: Strata,
    coins: int,
    within: float,
    rounding: float,
    until: float,
) -> _Judged:
    all_of, sure, bound, evaluations = Tally(), Tally(), ZERO, 0
    for tokens, weight in drafts_of(case):
        evaluate = evaluator(code, case, tokens, maker, batched, until)
        integral = strata.integral(evaluate, coins, within / 4, maker.dtype)
        evaluations, bound = evaluations + integral.evaluations, bound + weight * integral.bound
        if integral.contradiction is not None:
            return _Judged([], ZERO, ONE, evaluations, f"{integral.contradiction} (drafts {tokens})")
        for tally, masses in ((all_of, integral.masses), (sure, integral.sure)):
            for (emitted, breaches), mass in masses.items():
                tally.add(emitted, breaches, weight * mass, "-")
    row, length = row_of(case.target), case.drafts + 1
    expected, law = target_law(length, row), extended(all_of.law, length, row)
    above = rounding + float(bound)
    found = findings(all_of, expected, law, above, case.text(), case.data())
    surely = findings(sure, expected, expected, rounding, case.text(), case.data())
    found += [each for each in surely if each.code not in {other.code for other in found}]
    error = f" (its error is at most {float(bound):.3g})"
    found = [replace(each, message=each.message + error) if each.code == "RV401" else each for each in found]
    unread = ONE - sum(all_of.law.values(), ZERO)
    return _Judged(found, law_total_variation(expected, law) + unread / 2, bound, evaluations, None)


def evaluator(
    code: Callable[..., Any],
    case: Case,
    tokens: tuple[int, ...],
    maker: Maker,
    batched: bool,
    until: float = math.inf,
) -> Callable[[list[Point]], list[Outcome]]:
    """The code on one case and drafts as a function of many points: one call each, or batches of them.

    Raises `LimitReached` RV201 after `until`, in seconds of `time.monotonic()`.
    """
    if not batched:
        function = one_point(code, case, tokens, maker, until)
        return lambda points: [function(point) for point in points]
    target = maker.rows([case.target[tokens[:i]] for i in range(case.drafts + 1)])
    draft = maker.rows([case.draft[tokens[:i]] for i in range(case.drafts)])
    drafted = maker.tokens(tokens)

    def batch(points: Sequence[Point]) -> list[Outcome]:
        if time.monotonic() > until:
            raise LimitReached("RV201", "the time limit was reached")
        check_memory()
        given = [maker.repeated(array, len(points)) for array in (target, draft, drafted)]
        try:
            rows = _rows(at_once(code(*given, maker.numbers(points))), len(points))
        except Unreadable as error:
            return [(None, (Breach("RV406", str(error)),))] * len(points)
        except BaseException as error:  # the code under test may raise anything
            let_pass(error)
            return [(None, (Breach("RV405", f"drafts {tokens}: {raised(error)}"),))] * len(points)
        return [_read(case, tokens, row) for row in rows]

    return lambda points: [
        outcome for start in range(0, len(points), _CHUNK) for outcome in batch(points[start : start + _CHUNK])
    ]


def _rows(returned: Any, size: int) -> list[Any]:
    """What a batch returned, row by row: tokens, or tokens and their count. Raises `Unreadable`."""
    parts = list(returned) if isinstance(returned, tuple) and len(returned) == 2 else [returned]
    lists = [part.tolist() if hasattr(part, "tolist") else part for part in parts]
    if any(not isinstance(part, list) or len(part) != size for part in lists):
        raise Unreadable(f"a batch of {size} did not return {count(size, 'row')}")
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def _read(case: Case, tokens: tuple[int, ...], row: Any) -> Outcome:
    try:
        emitted, count = read_tokens(row)
    except Unreadable as error:
        return None, (Breach("RV406", str(error)),)
    breaches = tuple(verifier_breaches(case, tokens, emitted, count))
    return (None if breaches and breaches[0].code == "RV406" else emitted), breaches
