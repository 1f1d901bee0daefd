"""The answer of `audit` as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

from rheo_verify.checks.transcripts import KEYS, Audit
from rheo_verify.checks.verdict import Verdict
from rheo_verify.report.terminal import wrapped
from rheo_verify.report.text import Style
from rheo_verify.words import count, meant, shortened


def to_text(audit: Audit, path: str, style: Style) -> str:
    """For people."""
    process = audit.process
    bet, wealth = process.best_bet()
    if audit.verdict is Verdict.REFUTED:
        at = f" after {count(audit.found_at, 'token')}" if audit.found_at else " by the transform test"
        says = f"what was emitted does not follow the stated law; found{at}"
    else:
        says = "no deviation was found; samples can refute, not verify"
    lines = [style.strong(f"{path}: {count(process.tokens, 'token')} in {count(audit.lines, 'line')}"), ""]
    lines.append(f"{style.verdict(audit.verdict)}: {says}")
    lines += [
        style.item(
            "scope",
            "these tokens, against the log-probabilities stated with them; a false alarm has a chance "
            f"of at most {audit.level:g}, whenever one looks",
        ),
        style.item("e-process", f"anytime-valid p {process.p_value:.3g}; best bet: {bet}, e^{wealth:.1f}"),
        style.item("transform", f"uniformity p {audit.by_target.p_value:.3g}"),
    ]
    if process.impossible:
        lines.append(style.item("", f"token {process.impossible} was stated to have probability 0"))
    lines += ["", style.strong("power: what so many tokens would have shown")]
    for power in process.powers(audit.level / 2) if process.tokens else ():
        seen = power.weight is not None and power.total_variation is not None
        words = (
            f"from {power.weight:.0%} on (total variation {power.total_variation:.3f})" if seen else "not even in full"
        )
        lines.append(f"  {power.tilt:28} {words}")
    if audit.unknown:
        lines += ["", style.strong("keys that are not read")]
        lines += [
            f"  {shortened(repr(key), 40)}, from line {line:,} on{meant(key, KEYS)}"
            for key, line in audit.unknown.items()
        ]
    if audit.cut_off:
        lines += ["", style.strong("the last line ends in the middle")]
        said = f"line {audit.lines + 1:,}, after {count(audit.cut_off, 'byte')}: not audited; "
        lines += wrapped(f"{said}--state reads on from its beginning when it is complete", style.width, "  ", "  ")
    if audit.broken:
        lines += ["", style.strong(f"{count(audit.broken, 'line')} could not be used")]
        lines += ["  " + fault for fault in audit.faults]
    return "\n".join(lines) + "\n"


def to_json(audit: Audit, path: str) -> str:
    """One JSON object."""
    process = audit.process
    data: dict[str, Any] = {
        "schema": "rheo_verify/audit",
        "version": 1,
        "file": path,
        "verdict": str(audit.verdict),
        "tokens": process.tokens,
        "lines": audit.lines,
        "broken": audit.broken,
        "faults": audit.faults,
        "unknown_keys": audit.unknown,
        "cut_off": audit.cut_off,
        "level": audit.level,
        "found_at": audit.found_at,
        "e_process_p": process.p_value,
        "best_bet": process.best_bet()[0],
        "uniformity_p": audit.by_target.p_value,
        "power": {
            power.tilt: {"weight": power.weight, "total_variation": power.total_variation}
            for power in (process.powers(audit.level / 2) if process.tokens else ())
        },
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
