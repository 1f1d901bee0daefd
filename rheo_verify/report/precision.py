"""The answer of `precision` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rheo_verify.checks.precision import PrecisionRow
from rheo_verify.report.text import Style


def to_text(found: Sequence[PrecisionRow], source: str, style: Style) -> str:
    """For people."""
    lines = [
        style.strong(f"Finite precision (claim residual-mass-rounding): {found[0].rows:,} rows, {source}"),
        "",
        f"  {'type':9} m  {'1 - lead':>9} {'mean TV':>9} {'largest':>9}  {'tail sum':>9}  {'ties':>7} {'unstable':>9}",
    ]
    lines += [
        f"  {it.dtype:9} {it.lead}  {it.broken:9.2%} {it.distance:9.1e} {it.largest:9.1e}  {it.remedied:9.2%}  "
        f"{it.ties:7.2%} {it.unstable:9.2%}"
        for it in found
    ]
    words = (
        "1 - lead, tail sum: rows in which the sampled slot's proxy falls below a fill, by how the residual mass is "
        "computed; TV: of the layer's output from p in the broken rows when m + 1 slots survive; ties: two of the K "
        "best scores are equal; unstable: top-k returned them in another order than by token id."
    )
    return "\n".join([*lines, "", style.item("", words, 2)]) + "\n"


def to_json(found: Sequence[PrecisionRow], source: str) -> str:
    """One JSON object."""
    data = {"schema": "rheo_verify/precision", "version": 1, "source": source, "rows": [asdict(it) for it in found]}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
