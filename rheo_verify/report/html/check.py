"""The page of `check`: the verdict, the minimal counterexample, expected against found, and its paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign import texts
from rheo_verify.foreign.paths import Question, SeenPath
from rheo_verify.foreign.recipes import WAYS
from rheo_verify.foreign.reports import CheckReport, Difference, Finding
from rheo_verify.probability.rationals import decimal
from rheo_verify.report.html.bars import Pair, compared
from rheo_verify.report.html.markup import Inside, Markup, escape, join, tag
from rheo_verify.report.html.numbers import number
from rheo_verify.report.html.page import Part, banner, code, facts, page
from rheo_verify.report.html.tables import Cell, table

MOST_ROWS, MOST_PATHS, MOST_ANSWERS = 24, 60, 12
SENTENCES = {
    Verdict.VERIFIED: "lossless on everything in the scope",
    Verdict.INCONCLUSIVE: "a limit ended the check before the end of its scope",
}


def to_html(report: CheckReport, paths: Sequence[SeenPath], found_at: str, command: str) -> str:
    """One self-contained page. `paths` are those of the first finding's case; `found_at`: where the code is (``MODULE:NAME``)."""
    first = report.findings[0] if report.findings else None
    sentence = f"{first.code}: {first.message}" if first else SENTENCES[report.verdict]
    head = banner(report.verdict, sentence, "rheo_verify check", join(report.way, " ", tag("b", report.name)))
    head.append(facts(_facts(report)))
    parts = []
    if first is not None:
        parts.append(Part("counterexample", "The smallest counterexample", _finding(report, first, found_at)))
        if paths:
            parts.append(Part("paths", "Its paths", _paths(report, paths)))
        others = [
            [tag("h3", f"{it.code}: {it.message}"), *_finding(report, it, found_at)] for it in report.findings[1:]
        ]
        if others:
            parts.append(Part("more", "What else is wrong there", others))
    if report.warnings:
        parts.append(Part("warnings", "Warnings", [_warnings(report)]))
    if first is None:
        parts.append(Part("scope", "What was done", [tag("p", done(report))]))
    return page(f"{report.verdict}: {report.way} {report.name}", head, parts, command)


def _facts(report: CheckReport) -> list[tuple[str, Inside]]:
    return [
        ("Scope", report.scope),
        ("Counts", f"{report.cases:,} cases, {report.paths:,} paths, each enumerated exactly"),
        ("Threshold", f"total variation {report.threshold:g} (rounding of the code's own arithmetic)"),
        ("Not said", report.not_covered),
    ]


def done(report: CheckReport) -> str:
    """What was done, in a sentence or two."""
    return (
        f"The code ran {report.paths:,} times, once for every way its random calls can be answered, on "
        f"{report.cases:,} cases. On each, the law of what it emits was compared with the target's."
    )


def _finding(report: CheckReport, finding: Finding, found_at: str) -> list[Inside]:
    parts: list[Inside] = []
    if finding.code in texts.HINTS:
        parts.append(tag("p", tag("b", "Hint: "), texts.HINTS[finding.code], "."))
    if finding.total_variation is None:
        parts.append(tag("p", "It happens with probability ", number(finding.probability), "."))
    if finding.differences:
        parts.append(differences(finding))
    parts.append(_case(finding))
    if found_at and report.way in WAYS:
        parts += [
            tag("p", "This case again, a path of it step by step:", class_="label"),
            code(texts.again(report, finding, found_at)),
        ]
    return parts


def differences(finding: Finding) -> Markup:
    """Expected against found, largest differences first."""
    rows = sorted(finding.differences, key=lambda it: (-abs(it.expected - it.found), it.outcome))[:MOST_ROWS]
    pairs = [Pair(_tokens(it.outcome), it.expected, it.found) for it in rows]
    left = len(finding.differences) - len(rows)
    caption = "Outputs whose probability is not the target's." + (f" {left} more are left out." if left > 0 else "")
    return compared(pairs, "output", caption)


def _case(finding: Finding) -> Inside:
    data = finding.data
    if not {"target", "draft"} <= set(data):
        return [tag("p", "On", class_="label"), tag("pre", finding.case, class_="case", tabindex="0")]
    rows = [(Cell(name), place, ", ".join(row)) for name in ("target", "draft") for place, row in _places(data[name])]
    caption = "The instance: probabilities of tokens 0, 1, … in each row."
    return table(("row of", "where", "probabilities"), rows, caption)


def _places(rows: Any) -> list[tuple[str, Sequence[str]]]:
    if isinstance(rows, dict):
        return [(f"after {context}" if context else "at the start", row) for context, row in rows.items()]
    return [(f"position {place}", row) for place, row in enumerate(rows)]


def _paths(report: CheckReport, paths: Sequence[SeenPath]) -> list[Inside]:
    shown = paths[:MOST_PATHS]
    wrong = [it for finding in report.findings for it in finding.differences]
    rows = [_path(wrong, place, path) for place, path in enumerate(shown, 1)]
    left = len(paths) - len(shown)
    caption = "Every way this run can go, most probable first" + (f"; {left} more are left out." if left > 0 else ".")
    heads = ("path", "probability", "emitted", "remark", "random calls and their answers")
    return [table(heads, rows, caption, sortable=True)]


def _path(wrong: Sequence[Difference], place: int, path: SeenPath) -> list[Any]:
    emitted = "could not be read" if path.emitted is None else _tokens(path.emitted)
    questions = tag("ol", *(tag("li", _question(it)) for it in path.questions), class_="questions")
    summary = " ".join(str(it.answer) for it in path.questions) or "none"
    return [
        Cell(str(place), place),
        Cell(number(path.probability), float(path.probability), number=True),
        Cell(emitted),
        Cell(_remark(wrong, path)),
        Cell(tag("details", tag("summary", summary), questions), summary),
    ]


def _remark(wrong: Sequence[Difference], path: SeenPath) -> Inside:
    if path.breaches:
        return tag("b", ", ".join(dict.fromkeys(breach.code for breach in path.breaches)))
    if path.emitted is None:
        return None
    size = len(path.emitted)
    below = [it for it in wrong if it.outcome[:size] == path.emitted[: len(it.outcome)]]
    if any(it.found > it.expected for it in below):
        return tag("b", "too often")
    return "too rarely" if any(it.found < it.expected for it in below) else None


def _question(question: Question) -> Markup:
    answers = ", ".join(decimal(p, 4).rstrip("0").rstrip(".") for p in question.law[:MOST_ANSWERS])
    more = ", …" if len(question.law) > MOST_ANSWERS else ""
    return join(tag("code", question.place), ": ", tag("b", str(question.answer)), f" of ({answers}{more})")


def _tokens(tokens: Sequence[int]) -> Markup:
    return escape(" ".join(map(str, tokens)) or "nothing")


def _warnings(report: CheckReport) -> Markup:
    rows = [tag("li", tag("b", name), f": {remark}. {texts.HINTS.get(name, '')}") for name, remark in report.warnings]
    return tag("ul", *rows)
