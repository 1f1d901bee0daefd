"""What `inspect` found, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rheo_verify.checks.inspection import Inspection
from rheo_verify.report.text import Style


def to_text(found: Sequence[Inspection], pair: bool, misfit: str | None, style: Style) -> str:
    """For people."""
    lines = []
    for it in found:
        lines += [style.strong(f"{it.path}: {it.kind}")]
        lines += [style.item("  " + name, value, 28) for name, value in it.facts]
        lines += [style.item("  fault", fault, 28) for fault in it.faults]
    if pair and not any(it.faults for it in found):
        lines += ["", f"they do not fit: {misfit}" if misfit else "they fit"]
    return "\n".join(lines) + "\n"


def to_json(found: Sequence[Inspection], pair: bool, misfit: str | None) -> str:
    """One JSON object."""
    checkpoints = [
        {"path": it.path, "kind": it.kind, "facts": dict(it.facts), "faults": list(it.faults)} for it in found
    ]
    data = {"schema": "rheo_verify/inspect", "version": 1, "checkpoints": checkpoints}
    if pair:
        data |= {"fit": misfit is None and not any(it.faults for it in found), "misfit": misfit}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
