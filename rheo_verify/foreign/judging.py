"""From the paths of one case to findings: the law of the emitted tokens, and the contracts beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rheo_verify import words
from rheo_verify.foreign.cases import Case
from rheo_verify.foreign.evidence import Evidence, PathRecord, keep
from rheo_verify.foreign.reports import Difference, Finding
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law, law_total_variation
from rheo_verify.probability.rationals import ONE, ZERO, Rational, decimal
from rheo_verify.probability.replay import choices_text

RANK = ("RV412", "RV411", "RV413", "RV405", "RV406", "RV408", "RV409", "RV407", "RV410", "RV401", "RV416")
"""When a case shows several faults, the first of these is named first: causes before consequences."""


@dataclass(frozen=True)
class Breach:
    """A contract that one path broke."""

    code: str
    message: str


@dataclass
class Tally:
    """What the paths of one case add up to: the law so far, how probable each breach is, and paths that show them."""

    law: Law[tuple[int, ...]] = field(default_factory=dict)
    likeliest: dict[tuple[int, ...], list[tuple[Rational, Any]]] = field(default_factory=dict)
    breaches: dict[str, tuple[Rational, str, str]] = field(default_factory=dict)
    trail: list[PathRecord] = field(default_factory=list)

    @property
    def paths(self) -> int:
        """How many there are."""
        return len(self.trail)

    def add(
        self, outcome: tuple[int, ...] | None, breaches: Sequence[Breach], probability: Rational, choices: Any
    ) -> None:
        """One path: what it emitted (None if nothing could be read) and what it broke. `choices` names it."""
        broken = {breach.code: breach for breach in reversed(breaches)} if breaches else {}  # each contract once
        numbers = () if isinstance(choices, str) else tuple(choices)
        self.trail.append(PathRecord(probability, numbers, outcome, tuple(sorted(broken)) if broken else ()))
        if outcome is not None:
            self.law[outcome] = self.law.get(outcome, ZERO) + probability
            known = self.likeliest.get(outcome)
            if known is None:
                self.likeliest[outcome] = [(probability, choices)]
            elif len(known) < _SHOWN or known[-1][0] < probability:
                known.append((probability, choices))
                known.sort(key=_falling)
                del known[_SHOWN:]
        for breach in broken.values():
            mass, message, replay = self.breaches.get(breach.code, (ZERO, breach.message, path_text(choices)))
            self.breaches[breach.code] = (mass + probability, message, replay)

    def paths_to(self, outcome: tuple[int, ...]) -> str:
        """The likeliest paths whose emission begins, or is the beginning of, `outcome`, ``1.0/1.1.1``; or ``-``."""
        ways = self.likeliest.items()
        fitting = [known for emitted, known in ways if all(a == b for a, b in zip(emitted, outcome, strict=False))]
        chosen = [known[0] for known in fitting] if len(fitting) > 1 else [each for known in fitting for each in known]
        names = [path_text(choices) for _, choices in sorted(chosen, key=_falling)[:_SHOWN]]
        return "/".join(dict.fromkeys(names)) or "-"


_SHOWN = 3


def _falling(weighed: tuple[Rational, Any]) -> Rational:
    return -weighed[0]


def path_text(choices: Any) -> str:
    """The name of a path: its choices, or what the way in calls it."""
    return choices if isinstance(choices, str) else choices_text(choices)


def extended(law: Law[tuple[int, ...]], length: int, row: Callable[[Context], Row]) -> Law[tuple[int, ...]]:
    """The law of the first `length` tokens: what is emitted, cut or extended by draws from the target."""
    result: Law[tuple[int, ...]] = {}

    def spread(tokens: tuple[int, ...], mass: Rational) -> None:
        if len(tokens) >= length:
            cut = tokens[:length]
            result[cut] = result.get(cut, ZERO) + mass
            return
        for token, p in enumerate(row(tokens)):
            if p:
                spread((*tokens, token), mass * p)

    for tokens, mass in law.items():
        spread(tokens, mass)
    return result


def target_law(length: int, row: Callable[[Context], Row]) -> Law[tuple[int, ...]]:
    """The law of the first `length` tokens drawn from the target alone."""
    return extended({(): ONE}, length, row)


def verifier_breaches(case: Case, tokens: Sequence[int], emitted: tuple[int, ...], count: int | None) -> list[Breach]:
    """Contracts on what a verifier returned: ids, lengths, accepted prefix, count, positive probability."""
    found: list[Breach] = []
    if not 1 <= len(emitted) <= case.drafts + 1:
        return [Breach("RV406", f"{words.count(len(emitted), 'token')} emitted; 1 to {case.drafts + 1} are possible")]
    wrong = [token for token in emitted if not 0 <= token < case.vocab]
    if wrong:
        return [Breach("RV406", f"token {wrong[0]} is not below the vocabulary size {case.vocab}")]
    if emitted[:-1] != tuple(tokens[: len(emitted) - 1]):
        found.append(Breach("RV408", f"the tokens before the last are {emitted[:-1]}, the drafts were {tuple(tokens)}"))
    elif count is not None and count != len(emitted) - 1 and not found:
        found.append(
            Breach("RV409", f"the accepted count is {count}, but {words.count(len(emitted) - 1, 'draft')} emitted")
        )
    if not found:
        for place, token in enumerate(emitted):
            if not case.target[emitted[:place]][token]:
                found.append(Breach("RV407", f"token {token} at position {place} has target probability 0"))
                break
    return found


def findings(
    tally: Tally,
    expected: Law[tuple[int, ...]],
    found: Law[tuple[int, ...]],
    threshold: float,
    case: str,
    data: dict[str, Any],
    *,
    whole: bool = True,
) -> list[Finding]:
    """The findings of one case, causes first; empty when every contract holds and the law is right.

    whole: a case of the scope, whose evidence is kept even where it holds.
    """
    result = []
    for code, (mass, message, replay) in tally.breaches.items():
        if mass > threshold:
            result.append(Finding(code, message, case, data, mass, replay))
    distance = law_total_variation(expected, found)
    if distance > threshold:
        differences = tuple(
            Difference(outcome, expected.get(outcome, ZERO), found.get(outcome, ZERO))
            for outcome in sorted(expected.keys() | found.keys())
            if abs(expected.get(outcome, ZERO) - found.get(outcome, ZERO)) > threshold
        )
        message = f"the law of the emitted tokens is not the target's: total variation {decimal(distance, 6)}"
        most = max(differences, key=lambda d: d.found - d.expected, default=None)
        path = tally.paths_to(most.outcome) if most else "-"
        result.append(Finding("RV401", message, case, data, distance, path, distance, differences))
    shown = {finding.code: finding.probability for finding in result}
    if whole or shown:
        keep(Evidence(case, data, expected, tuple(tally.trail), distance, threshold, shown))
    return by_rank(result)


def by_rank(found: list[Finding]) -> list[Finding]:
    """Causes before consequences."""
    return sorted(found, key=lambda finding: RANK.index(finding.code))


def row_of(table: Mapping[Context, Row]) -> Callable[[Context], Row]:
    """A table as a function of the context."""
    return table.__getitem__
