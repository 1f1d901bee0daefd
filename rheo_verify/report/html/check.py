"""The page of `check`: the verdict, the minimal counterexample, expected against found, and its paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign import texts
from rheo_verify.foreign.paths import Question, SeenCase, SeenPath
from rheo_verify.foreign.reports import CheckReport, Difference, Finding
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, ZERO, decimal
from rheo_verify.report.html.bars import Pair, compared
from rheo_verify.report.html.markup import Inside, Markup, escape, join, tag
from rheo_verify.report.html.numbers import number
from rheo_verify.report.html.page import Part, banner, code, facts, page
from rheo_verify.report.html.tables import Cell, table
from rheo_verify.words import count

CALLS = "random calls and their answers"
MOST_ROWS, MOST_PATHS, MOST_ANSWERS = 24, 60, 12
SENTENCES = {
    Verdict.VERIFIED: "lossless on everything in the scope",
    Verdict.INCONCLUSIVE: "a limit ended the check before the end of its scope",
}
SAMPLER = "the law that it claims, on everything in the scope"


def to_html(report: CheckReport, seen: SeenCase | None, found_at: str, command: str) -> str:
    """One self-contained page. `seen`: the first finding's case from inside; `found_at`: ``MODULE:NAME``."""
    first = report.findings[0] if report.findings else None
    good = report.verdict is Verdict.VERIFIED and report.way == "sampler"
    sentence = f"{first.code}: {first.message}" if first else SAMPLER if good else SENTENCES[report.verdict]
    head = banner(report.verdict, sentence, "rheo_verify check", join(report.way, " ", tag("b", report.name)))
    head.append(facts(_facts(report)))
    parts = []
    if first is not None:
        one = seen is not None and max(map(len, seen.expected)) == 1
        shown = _finding(report, first, found_at, tokens(seen, report.threshold) if seen is not None and one else None)
        parts.append(Part("counterexample", "The smallest counterexample", shown))
        if seen is not None:
            if not one:
                parts.append(Part("law", "Expected against found, token by token", tokens(seen, report.threshold)))
            parts.append(Part("paths", "Its paths", _paths(report, seen)))
        elif report.way == texts.INTEGRATED:
            parts.append(Part("paths", "Its paths", [tag("p", "What is integrated is a volume, and has no paths.")]))
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
        ("Counts", texts.counts(report)),
        ("Threshold", texts.threshold(report)),
        ("Not said", report.not_covered),
    ]


def done(report: CheckReport) -> str:
    """What was done, in a sentence or two."""
    once = {"coins": "once in every box of its coins", texts.INTEGRATED: "at points spread over its coins"}
    how = once.get(report.way, "once for every way its random calls can be answered")
    law = "the processed row" if report.way == "sampler" else "the target's"
    ran = f"The code ran {count(report.paths, 'time')}, {how}, on {count(report.cases, 'case')}."
    return f"{ran} On each, the law of what it emits was compared with {law}."


def _finding(report: CheckReport, finding: Finding, found_at: str, law: Sequence[Inside] | None = None) -> list[Inside]:
    """One finding; `law` takes the place of the outputs that differ."""
    parts: list[Inside] = []
    hint = texts.hint(report, finding.code)
    if hint:
        parts.append(tag("p", tag("b", "Hint: "), hint, "."))
    if finding.total_variation is None:
        parts.append(tag("p", "It happens with probability ", number(finding.probability), "."))
    if law is not None:
        parts += law
    elif finding.differences:
        parts.append(differences(finding))
    parts.append(_case(finding))
    if "+" in finding.replay:
        parts.append(tag("p", "What is shown is a second call, ", finding.case.splitlines()[-1], "."))
    if found_at and texts.replayed(report):
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


def tokens(seen: SeenCase, threshold: float) -> list[Inside]:
    """For each position a table: how probable each token should be there, and how probable it is.

    What differs by no more than `threshold` is not marked.
    """
    length, parts = max(map(len, seen.expected)), list[Inside]()
    for place in range(length):
        expected, found = _at(seen.expected, place), _at(seen.found, place)
        pairs = [
            Pair(escape(str(token)), expected.get(token, ZERO), found.get(token, ZERO), threshold)
            for token in sorted(expected.keys() | found.keys())
        ]
        where = f"Token {place + 1} of {length}, whatever the others are." if length > 1 else "The token."
        parts.append(compared(pairs, "token", where))
    missing = ONE - sum(seen.found.values(), ZERO)
    if not seen.whole:
        parts.append(tag("p", f"Of the first {count(len(seen.paths), 'path')} alone: there are more."))
    elif missing > 0:
        parts.append(tag("p", "With probability ", number(missing), " nothing that can be read is emitted."))
    return parts


def _at(law: Law[tuple[int, ...]], place: int) -> Law[int]:
    return collect((outcome[place], mass) for outcome, mass in law.items() if len(outcome) > place)


def _paths(report: CheckReport, seen: SeenCase) -> list[Inside]:
    paths = seen.paths
    shown = paths[:MOST_PATHS]
    wrong = [it for finding in report.findings for it in finding.differences]
    rows = [_path(wrong, place, path) for place, path in enumerate(shown, 1)]
    left = len(paths) - len(shown)
    every = "Every box of the coins with one output" if report.way == "coins" else "Every way this run can go"
    caption = f"{every}, most probable first" + (f"; {left:,} more are left out." if left > 0 else ".")
    heads = ("path", "probability", "emitted", "remark", "drafts and coins" if report.way == "coins" else CALLS)
    return [table(heads, rows, caption, sortable=True)]


def _path(wrong: Sequence[Difference], place: int, path: SeenPath) -> list[Any]:
    emitted = "could not be read" if path.emitted is None else _tokens(path.emitted)
    questions = tag("ol", *(tag("li", _question(it)) for it in path.questions), class_="questions")
    summary = " ".join(it.said or str(it.answer) for it in path.questions) or "none"
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
    if question.said:
        share = decimal(question.law[0], 4).rstrip("0").rstrip(".")
        return join(tag("code", question.place), ": ", tag("b", question.said), f", {share} of its range")
    answers = ", ".join(decimal(p, 4).rstrip("0").rstrip(".") for p in question.law[:MOST_ANSWERS])
    more = ", …" if len(question.law) > MOST_ANSWERS else ""
    return join(tag("code", question.place), ": ", tag("b", str(question.answer)), f" of ({answers}{more})")


def _tokens(tokens: Sequence[int]) -> Markup:
    return escape(" ".join(map(str, tokens)) or "nothing")


def _warnings(report: CheckReport) -> Markup:
    rows = [tag("li", tag("b", name), f": {remark}. {texts.hint(report, name)}") for name, remark in report.warnings]
    return tag("ul", *rows)
