"""What somebody else needs to work the numbers of a check out again: its cases with every path that was enumerated.

Such a certificate takes the paths as given. It shows what follows from them, with the target's rows: the law of the
emitted tokens, its distance from the target's law, which faults are how probable, the verdict. It does not show that
the code under test has these paths: for that its random calls must be enumerated again. `report/paths_certificate.py`
writes it down.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError
from rheo_verify.foreign.cases import read_case
from rheo_verify.foreign.evidence import Evidence, PathRecord
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ZERO, Rational, exact
from rheo_verify.words import count

MOST_PATHS = 5_000
"""Paths of a failing case: rechecking takes Rocq about a second for a hundred."""
MOST_KEPT = 2_000
"""Paths of cases that hold, together: the first cases are stated."""
CODES = ("RV405", "RV406", "RV407", "RV408", "RV409", "RV410", "RV413")
"""What a path can break; RV401 is about all of them together."""


@dataclass(frozen=True)
class CaseClaim:
    """One case. `given` says in words what the code was given.

    target: the rows whose law the first `length` tokens should have (after processing), at every context of positive
    probability. draft: the rows that the first `drafts` choices of a path were drawn from (verifiers alone).
    """

    given: str
    vocab: int
    length: int
    drafts: int
    target: dict[Context, Row]
    draft: dict[Context, Row]
    paths: tuple[PathRecord, ...]
    total_variation: Rational
    threshold: Rational
    findings: dict[str, Rational]


@dataclass(frozen=True)
class PathsCertificate:
    """The smallest failing case of a check, or the first ones of `cases_in_all` that all hold.

    `scope` is that of the check, in words.
    """

    name: str
    way: str
    verdict: Verdict
    scope: str
    cases_in_all: int
    cases: tuple[CaseClaim, ...]

    def stated(self) -> str:
        """Which cases it has, in words."""
        if self.verdict is Verdict.REFUTED:
            return f" of 1 of {count(self.cases_in_all, 'case')} (the one shown)"
        if len(self.cases) == self.cases_in_all:
            return " of the one case" if self.cases_in_all == 1 else f" of all {self.cases_in_all:,} cases"
        return f" of the first {len(self.cases):,} of {self.cases_in_all:,} cases (the others are not in it)"


def paths_certificate(report: CheckReport, kept: Iterable[Evidence]) -> PathsCertificate:
    """The certificate of a check's answer, from the evidence that was kept while it ran.

    Raises `InputError` RV701 where nothing was decided, RV702 where a case has too many paths.
    """
    if report.verdict is Verdict.INCONCLUSIVE:
        raise InputError("RV701", "a certificate speaks of a verdict, and this check came to none")
    chosen = list(kept)
    if report.findings:
        chosen = [it for it in chosen if it.data == report.findings[0].data and it.findings][-1:]
    if not chosen or sum(len(it.paths) for it in chosen) > MOST_PATHS:
        raise InputError("RV702", f"the certificate would be too large to recheck: more than {MOST_PATHS:,} paths")
    threshold = max(it.threshold for it in chosen)  # what holds below a smaller one holds below this one
    cases = tuple(_claim(it, report.way, threshold) for it in chosen)
    return PathsCertificate(report.name, report.way, report.verdict, report.scope, report.cases, cases)


def _claim(it: Evidence, way: str, threshold: float) -> CaseClaim:
    target = _rows(it.expected, _vocab(it, way))
    case = read_case(it.data) if way == "verifier" else None
    return CaseClaim(
        given=it.case,
        vocab=_vocab(it, way),
        length=len(next(iter(it.expected))),
        drafts=0 if case is None else case.drafts,
        target=target,
        draft={} if case is None else dict(case.draft),
        paths=it.paths,
        total_variation=it.total_variation,
        threshold=exact(str(Fraction(repr(threshold)))),
        findings=it.findings,
    )


def _vocab(it: Evidence, way: str) -> int:
    return len(it.data["row"]) if way == "sampler" else read_case(it.data).vocab


def _rows(law: Law[tuple[int, ...]], vocab: int) -> dict[Context, Row]:
    """The rows of a law of sequences, at every context of positive probability."""
    reached: Law[Context] = {}
    for tokens, probability in law.items():
        for end in range(len(tokens) + 1):
            reached[tokens[:end]] = reached.get(tokens[:end], ZERO) + probability
    longest = max(map(len, law))
    return {
        context: tuple(reached.get((*context, token), ZERO) / mass for token in range(vocab))
        for context, mass in reached.items()
        if mass and len(context) < longest
    }
