"""The answers of `prove` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rheo_verify.checks.proofs import LEVELS, Proved
from rheo_verify.checks.verdict import Verdict
from rheo_verify.report.text import Style

SCHEMA = {"schema": "rheo_verify/prove", "version": 1}


def to_text(answers: Sequence[Proved], style: Style) -> str:
    """A table: claim, verdict, level reached, reference; below each the statement and its checks."""
    width = max(len(answer.claim.id) for answer in answers)
    lines = [style.strong(f"{'claim':{width}}  {'verdict':12}  level  reference")]
    for answer in answers:
        level = "–" if answer.level is None else str(answer.level)
        verdict = style.verdict(answer.verdict, 12)
        lines += ["", f"{answer.claim.id:{width}}  {verdict}  {level:5}  {answer.claim.paper}"]
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


def _summary(answers: Sequence[Proved]) -> str:
    by_level = {level: sum(answer.level == level for answer in answers) for level in sorted(LEVELS, reverse=True)}
    reached = ", ".join(f"{number} at level {level}" for level, number in by_level.items() if number)
    not_run = sum(step.verdict is Verdict.INCONCLUSIVE for answer in answers for step in answer.steps)
    failed = sum(step.verdict is Verdict.REFUTED for answer in answers for step in answer.steps)
    ends = [f"{failed} checks failed"] * bool(failed) + [f"{not_run} checks did not run"] * bool(not_run)
    return f"{len(answers)} claims: " + "; ".join([reached or "none was checked", *ends])


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
