"""The table of decoders, and one decoder by itself, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from rheo_verify.checks.adapted_growth import AdaptedGrowth, Step
from rheo_verify.checks.decoders import Evaluation, Unfinished
from rheo_verify.checks.verdict import Verdict
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.rationals import Rational, decimal, text
from rheo_verify.report.tables import table
from rheo_verify.report.text import Style, both
from rheo_verify.words import count

SCHEMA = {"schema": "rheo_verify/decoders", "version": 1}
SHOWN = 6
NOT_WATCHED = "not watched: the drafting has too many outcomes to be watched, or no time was left"
WHAT_BROKE = {
    "emission": "averaged over that, the law of what is emitted is not the target's",
    "descent": "averaged over that, a sibling is reached with another probability than before",
    "orphan": "it is revealed before its parent",
    "undefined": "the rule is not defined for such a tree",
}
Row: TypeAlias = Evaluation | Unfinished
Curve: TypeAlias = Sequence[tuple[Rational, Rational]]


def table_text(rows: Sequence[Row], model: Model, context: Context, levels: int, length: int, style: Style) -> str:
    """One line a decoder, then what the lossy ones are to blame for."""
    lines = table(
        HEAD, [_cells(row, style) for row in rows], style, left=("verdict", "accepted"), indent=0, strong=True
    )
    lines += ["", *_legend(model, context, levels, length, style)]
    refuted = [row for row in rows if isinstance(row, Evaluation) and row.blame is not None]
    if refuted:
        lines += ["", style.strong("why they are lossy")]
        lines += [style.item("", f"{row.entry.name}: {blame(row)}", 2) for row in refuted]
    odd = [row for row in rows if isinstance(row, Evaluation) and not row.as_expected]
    if odd:
        lines += ["", style.strong("not as expected")]
        lines += [style.item("", _odd(row), 2) for row in odd]
    return "\n".join(lines) + "\n"


def _cells(row: Row, style: Style) -> tuple[str, ...]:
    verdict = style.verdict(row.verdict)
    if isinstance(row, Unfinished):
        return row.entry.name, verdict, f"{row.why}: {row.covered}"
    accepted = " ".join(decimal(p, 3) for p in row.accepted_by_depth) or "-"
    optimum = "-" if row.optimum is None else decimal(row.optimum, 3)
    calls, tokens = decimal(row.target_calls, 3), decimal(row.tokens_per_cycle, 3)
    return row.entry.name, verdict, short(row.total_variation), tokens, accepted, optimum, calls, f"{row.paths:,}"


HEAD = ("decoder", "verdict", "TV", "tokens", "accepted", "optimum", "calls", "paths")
COLUMNS = (
    "TV: total variation of those tokens' law from the target's, exact. tokens: emitted in the first cycle, on "
    "average. accepted: probability that at least 1, 2, … drafted tokens are. optimum: the most that any rule can "
    "accept at the root, where the number of drafts is fixed. calls: of the target, for LENGTH. paths: "
    "outcomes told apart."
)


def scope(model: Model, context: Context, levels: int, length: int) -> str:
    """What the verdicts speak of, and what they do not."""
    return (
        f"the first {count(length, 'token')} after {model.phrase(context)}, over as many cycles as they take; trees of "
        f"{count(levels, 'level')}; model: {model.source}, {count(model.vocab, 'token')}. Other contexts and "
        "models are not covered."
    )


def _legend(model: Model, context: Context, levels: int, length: int, style: Style) -> list[str]:
    said = scope(model, context, levels, length)
    return [style.item("scope", said), style.item("columns", columns(length))]


def columns(length: int) -> str:
    """What the columns of the table mean."""
    return COLUMNS.replace("LENGTH", count(length, "token"))


def short(value: Rational) -> str:
    """Four decimals; what is positive never reads as zero."""
    return "0" if value == 0 else "<0.0001" if value * 20_000 < 1 else decimal(value)


def blame(row: Evaluation) -> str:
    """Who is to blame for a loss, in a sentence."""
    assert row.blame is not None
    growth, model = row.blame.growth, row.model
    if growth is None or growth.blamed is None:
        return f"the cycle after {model.phrase(row.blame.context)} ({NOT_WATCHED})"
    step = growth.blamed
    where = model.phrase(row.blame.context + step.tokens)
    if growth.culprit == "slot":
        return f"the slot {_slot(step)} after {where}: {_laws(step, model)}"
    broke = WHAT_BROKE[step.broken or "emission"]
    return f"the rule, after {where}: every sampled token has the law that verification uses, but {broke}"


def _slot(step: Step) -> str:
    return ".".join(map(str, step.slot)) or "(root)"


def _laws(step: Step, model: Model) -> str:
    stated = {token: p for token, p in enumerate(step.stated or ()) if p}
    return f"verified as drawn from {_law(stated, model)}, given the past it is drawn from {_law(step.found, model)}"


def _law(law: dict[int, Rational], model: Model) -> str:
    parts = [f"{model.name(token)} {_brief(p)}" for token, p in sorted(law.items(), key=lambda item: -item[1])]
    more = [f"and {len(parts) - SHOWN} more"] if len(parts) > SHOWN else []
    return ", ".join([*parts[:SHOWN], *more])


def _brief(value: Rational) -> str:
    exact = text(value)
    return exact if len(exact) <= 11 else decimal(value)


def _odd(row: Evaluation) -> str:
    if row.entry.lossless:
        return f"{row.entry.name} is expected to be lossless"
    return f"{row.entry.name} is lossy in general, but does no harm on this model"


def unfinished_text(row: Unfinished, style: Style) -> str:
    """One decoder that a limit ended."""
    return f"{style.strong(row.entry.name)}\n\n{style.verdict(row.verdict)}: {row.why}; {row.covered}\n"


def one_text(row: Evaluation, growth: AdaptedGrowth | None, curve: Curve, style: Style) -> str:
    """One decoder: what it is, where it is from, what is exact about it, and the numbers."""
    entry = row.entry
    expected = "lossless" if entry.lossless else "lossy"
    what = "lossless" if row.verdict is Verdict.VERIFIED else "lossy"
    lines = [
        style.strong(entry.name),
        "",
        f"{style.verdict(row.verdict)}: {what}, total variation {both(row.total_variation)}; expected: {expected}",
        "",
        style.item("what", entry.description),
        style.item("source", entry.source),
        style.item("exact", entry.exactness),
        *_legend(row.model, row.context, row.levels, row.length, style)[:1],
        "",
        style.item("tokens", f"{both(row.tokens_per_cycle)} emitted in the first cycle, on average"),
    ]
    depths = ", ".join(f"≥{depth}: {both(p)}" for depth, p in enumerate(row.accepted_by_depth, 1))
    lines.append(style.item("accepted", depths or "nothing is drafted"))
    if row.optimum is not None:
        lines.append(style.item("optimum", f"{both(row.optimum)} at the root: no rule can accept more of these drafts"))
    lines.append(style.item("calls", f"{both(row.target_calls)} of the target for {count(row.length, 'token')}"))
    lines.append(style.item("paths", f"{count(row.paths, 'outcome')} told apart"))
    lines.append(style.item("growth", growth_words(growth, row)))
    if row.blame is not None:
        lines.append(style.item("blame", blame(row)))
    for tokens in row.comparison.differences[:3]:
        names = row.model.phrase(tokens.tokens)
        lines.append(style.item("differs", f"{names}: expected {both(tokens.expected)}, found {both(tokens.found)}"))
    if curve:
        points = ", ".join(f"l = {text(factor)}: {short(distance)}" for factor, distance in curve)
        lines.append(style.item("factor", f"total variation by factor: {points}"))
    return "\n".join(lines) + "\n"


def growth_words(growth: AdaptedGrowth | None, row: Evaluation) -> str:
    """What was seen of how the tree is revealed, in a sentence."""
    if growth is None:
        return f"{NOT_WATCHED} (claim adapted-growth not checked)"
    seen = f"{count(growth.pasts, 'past')} and {count(growth.steps, 'next slot')} after {row.model.phrase(row.context)}"
    if growth.unfaithful:
        slots = count(len(growth.unfaithful), "slot")
        tokens = f"the tokens of {slots} do not have the law that verification uses"
    else:
        tokens = "every sampled token has the law that verification uses, given what was revealed before it"
    rule = (
        "the rule stands every step, which proves it lossless there"
        if not growth.broken
        else "the rule does not stand it"
    )
    return f"{seen}: {tokens}; {rule} (claim adapted-growth, {growth.by} by {growth.by})"


def table_json(rows: Sequence[Row], model: Model, context: Context, levels: int, length: int) -> str:
    """One JSON object with the list `decoders`; rationals are strings."""
    data = {
        **SCHEMA,
        "model": model.source,
        "vocab": model.vocab,
        "context": list(context),
        "levels": levels,
        "length": length,
        "decoders": [_row_data(row) for row in rows],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def one_json(row: Evaluation, growth: AdaptedGrowth | None, curve: Curve) -> str:
    """The same object for one decoder, with more of it."""
    data: dict[str, Any] = json.loads(table_json([row], row.model, row.context, row.levels, row.length))
    data["decoders"][0] |= {
        "exactness": row.entry.exactness,
        "differences": [
            {"tokens": list(it.tokens), "expected": text(it.expected), "found": text(it.found)}
            for it in row.comparison.differences[:20]
        ],
        "adapted_growth": None
        if growth is None
        else {
            "verdict": str(growth.verdict),
            "by": growth.by,
            "pasts": growth.pasts,
            "steps": growth.steps,
            "unfaithful_slots": len(growth.unfaithful),
        },
    }
    if curve:
        data["decoders"][0]["total_variation_by_factor"] = {text(factor): text(tv) for factor, tv in curve}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _row_data(row: Row) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": row.entry.name,
        "verdict": str(row.verdict),
        "expected": "lossless" if row.entry.lossless else "lossy",
        "description": row.entry.description,
        "source": row.entry.source,
    }
    if isinstance(row, Unfinished):
        return data | {"why": row.why, "covered": row.covered}
    data |= {
        "total_variation": text(row.total_variation),
        "tokens_per_cycle": text(row.tokens_per_cycle),
        "accepted_by_depth": [text(p) for p in row.accepted_by_depth],
        "optimum": None if row.optimum is None else text(row.optimum),
        "target_calls": text(row.target_calls),
        "paths": row.paths,
        "blame": None,
    }
    if row.blame is not None:
        growth = row.blame.growth
        step = None if growth is None else growth.blamed
        data["blame"] = {"culprit": growth and growth.culprit, "context": list(row.blame.context)}
        if step is not None:
            data["blame"] |= {
                "slot": list(step.slot),
                "tokens": list(step.tokens),
                "broken": step.broken,
                "stated": None if step.stated is None else [text(p) for p in step.stated],
                "found": {str(token): text(p) for token, p in sorted(step.found.items())},
            }
    return data
