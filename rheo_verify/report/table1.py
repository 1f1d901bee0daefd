"""Table 1 as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rheo_verify.checks.table1 import ProxyRow, Ranking
from rheo_verify.checks.verdict import Verdict
from rheo_verify.models.model import Model
from rheo_verify.probability.rationals import text
from rheo_verify.report.text import Style, both


def as_published(rows: Sequence[ProxyRow]) -> bool:
    """Whether the verdicts are the paper's: its proxy lossless, the ad-hoc one not."""
    return [row.result.verdict for row in rows] == [Verdict.VERIFIED, Verdict.REFUTED]


def to_text(rows: Sequence[ProxyRow], style: Style) -> str:
    """For people."""
    model = rows[0].model
    q = ", ".join(f"{model.name(v)} {text(p)}" for v, p in enumerate(model.draft(())))
    p = ", ".join(f"{model.name(v)} {text(x)}" for v, x in enumerate(model.target(())))
    lines = [
        style.strong("Table 1 (claim table-1): candidate pool and survival under two proxies"),
        style.item("", f"draft q: {q}; target p: {p}; m=1 K=3 R=2; [ ] marks what survives", 2),
    ]
    for row in rows:
        lines += ["", style.strong(f"proxy {row.proxy}: {text(row.factor)}")]
        for it in row.rankings:
            lines.append(f"  Y = {model.name(it.sampled)} with q~ {text(it.probability)}:  {_ranking(model, it)}")
        given = ", ".join(f"{model.name(v)} {text(x)}" for v, x in row.given_survival.items())
        lines.append(style.item("", f"law of Y given that its slot survives: {given}", 2))
        lines.append(f"  {style.verdict(row.result.verdict)}, total variation {both(row.result.total_variation)}")
        if row.result.blame is not None:
            lines.append(style.item("", f"blame: the sampled slot, {_blame(row)}", 2))
    return "\n".join(lines) + "\n"


def _ranking(model: Model, it: Ranking) -> str:
    names = [f"{'Y=' if c.kind == 'sampled' else ''}{model.name(c.token)}({text(c.factor)})" for c in it.ranked]
    return " ≥ ".join(["[" + " ≥ ".join(names[: it.kept]) + "]", *names[it.kept :]])


def _blame(row: ProxyRow) -> str:
    fault = row.result.blame.fault if row.result.blame else None
    if fault is None:
        return "no slot"
    stated = ", ".join(f"{row.model.name(v)} {text(p)}" for v, p in enumerate(fault.stated or ()) if p)
    return f"verified as if drawn from {stated}"


def to_json(rows: Sequence[ProxyRow]) -> str:
    """One JSON object; rationals are strings."""
    data: dict[str, Any] = {"schema": "rheo_verify/table1", "version": 1, "as_published": as_published(rows)}
    data["rows"] = [
        {
            "proxy": row.proxy,
            "factor": text(row.factor),
            "rankings": [
                {
                    "sampled": row.model.name(it.sampled),
                    "probability": text(it.probability),
                    "ranked": [[row.model.name(c.token), c.kind, text(c.factor)] for c in it.ranked],
                    "survive": it.kept,
                }
                for it in row.rankings
            ],
            "law_given_survival": {row.model.name(v): text(p) for v, p in row.given_survival.items()},
            "verdict": str(row.result.verdict),
            "total_variation": text(row.result.total_variation),
        }
        for row in rows
    ]
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
