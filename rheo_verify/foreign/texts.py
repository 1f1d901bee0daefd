"""A check's answer as text and as JSON. Pure functions; the command line and pytest print what they return."""

from __future__ import annotations

import shlex
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.recipes import KINDS, TRANSFORMERS, WAYS, recipe
from rheo_verify.foreign.reports import CheckReport, Finding
from rheo_verify.probability.rationals import decimal, text
from rheo_verify.words import count

SCHEMA = {"schema": "rheo_verify/check", "version": 1}
HINTS = {
    "RV401": "compare the acceptance test, the residual and the bonus token with what drew the drafts",
    "RV405": "look at what happens when a probability is 0, or when the residual is empty (p = q)",
    "RV406": "return the accepted prefix and one more token, as ids below the vocabulary size",
    "RV407": "a token the target cannot emit was emitted: is the residual clamped at 0, and of the right row?",
    "RV408": "emitted tokens before the last must be the drafts, in order, up to the first rejection",
    "RV409": "count the accepted drafts only, not the token after them",
    "RV411": "hand over the row that the drafts were drawn from: after temperature and cuts, in the same precision",
    "RV412": "test the drafts in the order in which they were drawn",
    "RV413": "clamp a residual at 0, normalise it, and do not draw from an empty one (p = q is never rejected)",
    "RV410": "work on copies, or allow it (in_place=True, --in-place)",
    "RV415": "do not seed inside the loop, and give drafting and verification generators of their own",
    "RV416": "let nothing that was drawn outlive the call: no cache of answers, no noise drawn once",
    "RV421": "allow more --evaluations, more --strata, or a wider --within",
    "RV422": "state the changes along a coin (--changes B), or search for breakpoints (leave --strata out)",
    "RV414": "use u < p/q, or test p > 0 first",
}
_HINTS = {
    (
        "sampler",
        "RV401",
    ): "compare what is cut: temperature first, then top-k, top-p (with the token that crosses it), min-p",
    (
        "sampler",
        "RV405",
    ): "look at what happens when a probability is 0 (a logit of -inf), or when the cuts leave one token",
    ("sampler", "RV406"): "return one token id below the vocabulary size",
    ("sampler", "RV410"): "work on a copy of the row",
    ("sampler", "RV413"): "normalise after the cuts, and leave at least one token",
    ("decoder", "RV406"): "return the n tokens that were asked for (in a batch: n for each row), without the prompt",
    (
        "coins",
        "RV401",
    ): "compare the acceptance test, the residual and the bonus token, and which coin each of them reads",
}
"""Where a way in needs another hint than verifiers do."""
_MOST = 12
INTEGRATED = "coins by strata"


def report_text(report: CheckReport, code: str = "") -> str:
    """For people: the verdict, its scope, and every finding with its case, numbers and how to see it again.

    `code` is where the code under test is found (``MODULE:NAME`` or ``FILE.py:NAME``): without it nothing is replayed.
    """
    integrated = report.way == INTEGRATED
    code = _found_at(report, code)
    within = f" within {report.threshold:g}" if integrated and report.verdict is Verdict.VERIFIED else ""
    lines = [
        f"{report.verdict}{within}: {report.way} {report.name}",
        f"  scope      {report.scope}",
        f"  counts     {counts(report)}",
        f"  threshold  {threshold(report)}",
        f"  not said   {report.not_covered}",
    ]
    for finding in report.findings:
        lines += ["", *_finding(report, finding, code)]
    for warning, remark in report.warnings:
        lines += ["", f"warning {warning}: {remark}"]
        lines += [f"  hint       {hint(report, warning)}"] if hint(report, warning) else []
    lines += ["", report.walk.rstrip("\n")] if report.walk else []
    return "\n".join(lines) + "\n"


def counts(report: CheckReport) -> str:
    """How many cases and paths were run."""
    if report.way == INTEGRATED:
        return f"{count(report.cases, 'case')}, {count(report.paths, 'point')} evaluated"
    return f"{count(report.cases, 'case')}, {count(report.paths, 'path')}, each enumerated exactly"


def threshold(report: CheckReport) -> str:
    """What counts as wrong, and why not less."""
    what = "the error of the law included" if report.way == INTEGRATED else "rounding of the code's own arithmetic"
    return f"total variation {report.threshold:g} ({what})"


def hint(report: CheckReport, code: str) -> str:
    """What to do about a finding or a warning; empty where there is nothing to say."""
    way = "coins" if report.way == INTEGRATED else report.way
    return _HINTS.get((way, code), HINTS.get(code, ""))


def _found_at(report: CheckReport, code: str) -> str:
    return TRANSFORMERS if report.way == "huggingface" else code


def replayed(report: CheckReport) -> bool:
    """Whether findings of this way in have a replay command."""
    return KINDS.get(report.way, report.way) in WAYS and all(value is not None for _, value in report.settings)


def again(report: CheckReport, finding: Finding, code: str) -> str:
    """The shell command that shows one finding again, with a path that shows it."""
    return f"python -m rheo_verify replay {shlex.quote(recipe(report, finding, code).text())}"


def _finding(report: CheckReport, finding: Finding, code: str) -> list[str]:
    lines = [f"{finding.code}: {finding.message}"]
    if finding.total_variation is None:
        lines.append(f"  happens    with probability {both(finding.probability)}")
    lines.append("  on         " + finding.case.replace("\n", "\n             "))
    if finding.differences:
        lines.append(f"  {'tokens':10} {'expected':>22} {'found':>22}")
        for difference in finding.differences[:_MOST]:
            shown = " ".join(map(str, difference.outcome))
            lines.append(f"  {shown:10} {both(difference.expected):>22} {both(difference.found):>22}")
        if len(finding.differences) > _MOST:
            lines.append(f"  … and {len(finding.differences) - _MOST} more")
    if code and replayed(report):
        lines.append(f"  again      {again(report, finding, code)}")
    if hint(report, finding.code):
        lines.append(f"  hint       {hint(report, finding.code)}")
    return lines


def both(value: Any) -> str:
    """``1/4 = 0.25``; values that only floating point can make are shown as decimals."""
    if int(value.denominator) > 10**6:
        return decimal(value, 9).rstrip("0") if value * 10**6 >= 1 or not value else f"{float(value):.3g}"
    return text(value) if int(value.denominator) == 1 else f"{text(value)} = {decimal(value, 6).rstrip('0')}"


def report_json(report: CheckReport, code: str = "") -> dict[str, Any]:
    """One object with a schema name and version; rationals are strings. `code` as in `report_text`."""
    code = _found_at(report, code)
    return SCHEMA | {
        "name": report.name,
        "way": report.way,
        "verdict": str(report.verdict),
        "scope": report.scope,
        "cases": report.cases,
        "paths": report.paths,
        "threshold": report.threshold,
        "not_covered": report.not_covered,
        "findings": [
            finding_json(finding) | ({"again": again(report, finding, code)} if code and replayed(report) else {})
            for finding in report.findings
        ],
        "warnings": [{"code": code, "message": remark} for code, remark in report.warnings],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """One finding as plain data."""
    return {
        "code": finding.code,
        "message": finding.message,
        "case": finding.data,
        "probability": text(finding.probability),
        "total_variation": None if finding.total_variation is None else text(finding.total_variation),
        "replay": finding.replay,
        "differences": [
            {"tokens": list(d.outcome), "expected": text(d.expected), "found": text(d.found)}
            for d in finding.differences
        ],
    }
