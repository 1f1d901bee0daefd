"""What the enumeration of a case found, path by path, kept while somebody asks for it (`keeping`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import Rational


@dataclass(frozen=True)
class PathRecord:
    """One path: its probability and choices, the tokens read from it (None: none could be), the codes it broke."""

    probability: Rational
    choices: tuple[int, ...]
    emitted: tuple[int, ...] | None
    faults: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """One case: in words and as data, the law that is wanted, and every path.

    `findings` has the probability of each fault above `threshold`, and the total variation (RV401) if that is above it.
    """

    case: str
    data: dict[str, Any] = field(hash=False)
    expected: Law[tuple[int, ...]]
    paths: tuple[PathRecord, ...]
    total_variation: Rational
    threshold: float
    findings: dict[str, Rational]


@dataclass
class Kept:
    """Evidence of the cases that were judged: of those without a finding the first ones, of `room` paths together."""

    room: int
    cases: list[Evidence] = field(default_factory=list)

    def add(self, evidence: Evidence) -> None:
        """Keep it if it shows a fault, or if there is room for it and was for all before it."""
        if not evidence.findings:
            self.room = self.room - len(evidence.paths) if len(evidence.paths) <= self.room else -1
        if evidence.findings or self.room >= 0:
            self.cases.append(evidence)


_KEPT: ContextVar[Kept | None] = ContextVar("kept", default=None)


@contextmanager
def keeping(most_paths: int) -> Iterator[Kept]:
    """Keep the evidence of what is judged while this is open; `most_paths` bounds that of cases without a finding."""
    kept = Kept(most_paths)
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def keep(evidence: Evidence) -> None:
    """Hand over what one case showed, if anybody asked."""
    kept = _KEPT.get()
    if kept is not None:
        kept.add(evidence)
