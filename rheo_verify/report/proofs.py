"""The answers of `prove` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rheo_verify.checks.proofs import LEVELS, Proved
from rheo_verify.checks.verdict import Verdict
from rheo_verify.report.tables import block, table
from rheo_verify.report.text import Style
from rheo_verify.words import count

HEAD = ("claim", "verdict", "level", "reference")
SCHEMA = {"schema": "rheo_verify/prove", "version": 1}


def to_text(answers: Sequence[Proved], style: Style) -> str:
    """A table: claim, verdict, level reached, reference; below each the statement and its checks."""
    rows = [_row(answer, style) for answer in answers]
    first, *shown = table(HEAD, rows, style, left=HEAD, indent=0, strong=True)
    fits = len(shown) == len(rows)
    lines = [first] if fits else []
    for number, (answer, row) in enumerate(zip(answers, rows, strict=True)):
        lines += ["", *([shown[number]] if fits else block(HEAD, row, style, 0))]
        lines.append(style.faint(style.item("", answer.claim.statement, 4)))
        for step in answer.steps:
            where = f"{step.level}, beside" if step.beside else f"{step.level}"
            told = {Verdict.VERIFIED: "", Verdict.REFUTED: "FAILS: ", Verdict.INCONCLUSIVE: "NOT RUN: "}[step.verdict]
            words = f"level {where}: {step.what} ({step.checker}, {step.seconds:.1f} s): {told}{step.answer}"
            lines.append(style.item("", words, 4))
        if answer.claim.missing:
            lines.append(style.item("", f"not proved: {answer.claim.missing}", 4))
    lines += ["", _summary(answers)]
    lines.append(style.faint("levels: " + ", ".join(f"{level} {words}" for level, words in LEVELS.items())))
    return "\n".join(lines) + "\n"


def _row(answer: Proved, style: Style) -> tuple[str, ...]:
    level = "–" if answer.level is None else str(answer.level)
    return answer.claim.id, style.verdict(answer.verdict), level, answer.claim.paper


def _summary(answers: Sequence[Proved]) -> str:
    by_level = {level: sum(answer.level == level for answer in answers) for level in sorted(LEVELS, reverse=True)}
    reached = ", ".join(f"{number} at level {level}" for level, number in by_level.items() if number)
    not_run = sum(step.verdict is Verdict.INCONCLUSIVE for answer in answers for step in answer.steps)
    failed = sum(step.verdict is Verdict.REFUTED for answer in answers for step in answer.steps)
    ends = [f"{count(failed, 'check')} failed"] * bool(failed) + [f"{count(not_run, 'check')} did not run"] * bool(
        not_run
    )
    return f"{count(len(answers), 'claim')}: " + "; ".join([reached or "none was checked", *ends])


def to_json(answers: Sequence[Proved]) -> str:
    """One JSON object."""
    data: dict[str, Any] = {**SCHEMA, "verdict": str(Verdict.worst(answer.verdict for answer in answers))}
    data["claims"] = [
        {
            "claim": answer.claim.id,
            "statement": answer.claim.statement,
            "reference": answer.claim.paper,
            "verdict": str(answer.verdict),
            "level": answer.level,
            "not_proved": answer.claim.missing,
            "checks": [
                {
                    "level": step.level,
                    "what": step.what,
                    "counterexample_beside": step.beside,
                    "checker": step.checker,
                    "verdict": str(step.verdict),
                    "answer": step.answer,
                    "seconds": round(step.seconds, 3),
                }
                for step in answer.steps
            ],
        }
        for answer in answers
    ]
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
