"""The three verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Verdict(IntEnum):
    """Ordered: REFUTED < INCONCLUSIVE < VERIFIED.

    VERIFIED only if everything in the stated scope was exhausted. `str` gives the name, `exit_code` the command line's.
    """

    REFUTED = 0
    INCONCLUSIVE = 1
    VERIFIED = 2

    def __str__(self) -> str:
        return self.name

    @property
    def exit_code(self) -> int:
        """0 verified, 1 counterexample, 3 inconclusive."""
        return {Verdict.VERIFIED: 0, Verdict.REFUTED: 1, Verdict.INCONCLUSIVE: 3}[self]

    @staticmethod
    def of(holds: bool) -> Verdict:
        """VERIFIED or REFUTED."""
        return Verdict.VERIFIED if holds else Verdict.REFUTED

    @staticmethod
    def worst(verdicts: Iterable[Verdict]) -> Verdict:
        """The smallest of the verdicts; VERIFIED when there is none."""
        return min(verdicts, default=Verdict.VERIFIED)
