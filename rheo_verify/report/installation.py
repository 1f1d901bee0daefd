"""What `doctor` found, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rheo_verify.checks.installation import Installation, Part
from rheo_verify.report.text import Style

SCHEMA = {"schema": "rheo_verify/doctor", "version": 1}
_GROUPS = {"core": "core", "extra": "extras", "system": "programs"}


def to_text(found: Installation, missing: Sequence[Part], style: Style) -> str:
    """For people: what is there, and how to get the rest."""
    lines = [style.strong(f"rheo_verify {found.version}"), ""]
    lines.append(style.item("python", found.python, 12))
    lines.append(style.item("system", found.system, 12))
    lines.append(style.item("rationals", found.rationals, 12))
    lines.append(style.item("torch on", found.device or "no torch", 12))
    for group, title in _GROUPS.items():
        lines += ["", style.strong(title)]
        for part in found.parts:
            if part.group == group:
                lines += _part(part, style)
    lines.append("")
    if missing:
        lines.append(f"missing: {', '.join(part.name for part in missing)}")
    else:
        lines.append("all that is needed is there")
    return "\n".join(lines) + "\n"


def _part(part: Part, style: Style) -> list[str]:
    state = "missing" if part.found is None else part.found if part.fault is None else f"{part.found} {part.fault}"
    lines = [style.item(f"  {part.name}", f"{state}; for {part.serves}", 16)]
    return lines if part.usable else [*lines, style.item("", part.remedy, 16)]


def to_json(found: Installation, missing: Sequence[Part]) -> str:
    """One JSON object."""
    data = {
        **SCHEMA,
        "rheo_verify": found.version,
        "python": found.python,
        "system": found.system,
        "rationals": found.rationals,
        "device": found.device,
        "parts": [asdict(part) | {"usable": part.usable} for part in found.parts],
        "missing": [part.name for part in missing],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
