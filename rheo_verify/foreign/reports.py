"""What a check of foreign code answers with: findings with stable codes, and a verdict over a stated scope."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rheo_verify.checks.showing import html_of
from rheo_verify.checks.verdict import Verdict
from rheo_verify.probability.rationals import Rational

THRESHOLDS = {"float64": 1e-9, "float32": 1e-6}
"""The total variation above which a law is wrong, by the number format that the code computed in.

Code that computes in less than single precision is held to the bound of single precision: its rounding is a bias.
"""


@dataclass(frozen=True)
class Difference:
    """One outcome whose probability is not what it should be."""

    outcome: tuple[int, ...]
    expected: Rational
    found: Rational


@dataclass(frozen=True)
class Finding:
    """One fault: its code, what happened, on which case, and how to see it again.

    `case` is the instance in words, `data` the same as plain data (rationals as strings); `replay` names paths that
    show the fault (``1.0/1.1``); `probability` is how likely a run shows it; `total_variation` is given where the law
    is wrong.
    """

    code: str
    message: str
    case: str
    data: dict[str, Any] = field(hash=False)
    probability: Rational
    replay: str
    total_variation: Rational | None = None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class CheckReport:
    """The answer of a check: VERIFIED, REFUTED or INCONCLUSIVE over `scope`; `cases` and `paths` were enumerated.

    `warnings` are remarks that do not change the verdict (code and text); `threshold` is the total variation below
    which a difference counts as rounding; `not_covered` says what the verdict does not speak about; `settings` are
    the options of the check that differ from their defaults, by name; `walk` is one path step by step, if asked for.
    """

    name: str
    way: str
    verdict: Verdict
    scope: str
    cases: int
    paths: int
    threshold: float
    findings: tuple[Finding, ...]
    warnings: tuple[tuple[str, str], ...]
    not_covered: str
    settings: tuple[tuple[str, Any], ...] = ()
    walk: str = ""

    @property
    def code(self) -> str | None:
        """The code of the first finding."""
        return self.findings[0].code if self.findings else None

    def _repr_html_(self) -> str | None:
        return html_of(self)


def threshold_for(dtypes: set[str]) -> float:
    """The bound for code whose decisions were computed in these formats."""
    low = dtypes & {"float32", "float16", "bfloat16"}
    return THRESHOLDS["float32" if low else "float64"]
