"""The answer of `precision` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rheo_verify.checks.precision import PrecisionRow
from rheo_verify.errors import LimitReached
from rheo_verify.report.tables import table
from rheo_verify.report.text import Style
from rheo_verify.words import count

HEAD = ("type", "m", "1 - lead", "mean TV", "largest", "tail sum", "ties", "unstable")


def to_text(found: Sequence[PrecisionRow], source: str, style: Style, stopped: LimitReached | None = None) -> str:
    """For people. `stopped`: the limit that ended the work after these rows."""
    lines = [
        style.strong(f"Finite precision (claim residual-mass-rounding): {count(found[0].rows, 'row')}, {source}"),
        "",
        *table(HEAD, [_cells(it) for it in found], style),
    ]
    words = (
        "1 - lead, tail sum: rows in which the sampled slot's proxy falls below a fill, by how the residual mass is "
        "computed; TV: of the layer's output from p in the broken rows when m + 1 slots survive; ties: two of the K "
        "best scores are equal; unstable: top-k returned them in another order than by token id."
    )
    lines += ["", style.item("", words, 2)]
    if stopped is not None:
        lines += ["", style.item("stopped", f"{stopped.message}: {stopped.covered}; the rest is not shown")]
    return "\n".join(lines) + "\n"


def _cells(it: PrecisionRow) -> tuple[str, ...]:
    shares = (f"{it.remedied:.2%}", f"{it.ties:.2%}", f"{it.unstable:.2%}")
    return it.dtype, str(it.lead), f"{it.broken:.2%}", f"{it.distance:.1e}", f"{it.largest:.1e}", *shares


def to_json(found: Sequence[PrecisionRow], source: str, stopped: LimitReached | None = None) -> str:
    """One JSON object. `unfinished`: which limit ended the work, after these rows."""
    data = {
        "schema": "rheo_verify/precision",
        "version": 1,
        "source": source,
        "rows": [asdict(it) for it in found],
        "unfinished": None if stopped is None else {"why": stopped.message, "covered": stopped.covered},
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
