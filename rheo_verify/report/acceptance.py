"""Acceptance at a layer and per cycle, as text and as JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rheo_verify.checks.acceptance import Layer, largest_gap
from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.checks.enumeration import Enumeration
from rheo_verify.checks.optimal import Optimum
from rheo_verify.checks.per_cycle import Cycle
from rheo_verify.checks.temperature import AtTemperature, Tempered
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import LimitReached
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import decimal, text
from rheo_verify.report.tables import table
from rheo_verify.report.text import Style, both
from rheo_verify.words import count

SCHEMA = {"schema": "rheo_verify/acceptance", "version": 1}
COMPARE_SCHEMA = {"schema": "rheo_verify/acceptance-compare", "version": 1}
LONGEST_ROW, LONGEST_EXACT = 12, 34
NAMES = {
    "rheo": "rheo",
    "rrsw": "rrsw",
    "top_k": "top-K, no sample",
    "optimal": "optimal",
    "upper_bound": "bound of Theorem 3",
    "single_sampled": "one sampled draft token",
    "single_top1": "one top-1 draft token",
}


@dataclass(frozen=True)
class LayerAnswer:
    """What `acceptance` found: a layer, its rates, the optimum, and cycles of the same decoder (None if not asked)."""

    tempered: Tempered
    context: Context
    layer: Layer
    rates: LayerRates
    optimum: Optimum
    design: TreeDesign
    cycles: tuple[Cycle, ...] | None
    plan_check: Enumeration | None


def layer_text(found: LayerAnswer, style: Style) -> str:
    """For people."""
    layer, model = found.layer, found.tempered.model
    names = [model.name(token) for token in range(model.vocab)]
    lines = [style.strong(f"Acceptance of one layer after {model.phrase(found.context)}; model: {model.source}"), ""]
    pool = f"m = {layer.lead} lead, n = {layer.candidates} candidates of {count(model.vocab, 'token')}, all surviving"
    lines += [style.item("layer", pool), style.item("target", f"p     {_row(layer.target, names)}")]
    lines.append(style.item("draft", f"q     {_row(layer.draft, names)}"))
    if layer.sampling_draft != layer.draft:
        lines.append(style.item("", f"q-hat {_row(layer.sampling_draft, names)}"))
    if not found.tempered.exact:
        lines.append(style.item("note", FLOAT_NOTE))
    rows = [(label, *_exact(getattr(found.rates, name))) for name, label in NAMES.items()]
    lines += ["", *table(("accepted", "decimal", "exact"), rows, style), ""]
    lines.append(style.item("optimum", _optimum(found, names)))
    if found.cycles is not None:
        lines += ["", *_cycle_lines(found.cycles, found.design, style), *_plan_line(found, style)]
    return "\n".join(lines) + "\n"


FLOAT_NOTE = (
    "float64: this temperature is not 1/k, so rows were tempered in float64; what follows is exact from there on"
)


def compare_text(
    tempered: Tempered,
    context: Context,
    design: TreeDesign,
    cycles: Sequence[Cycle],
    temperatures: Sequence[AtTemperature],
    style: Style,
    stopped: LimitReached | None = None,
) -> str:
    """The table of rules side by side, and tau by temperature if asked; `stopped`: the limit that ended it early."""
    model = tempered.model
    head = f"Tokens per cycle after {model.phrase(context)}; model: {model.source}, {count(model.vocab, 'token')}"
    lines = [style.strong(head), *([] if tempered.exact else [style.item("note", FLOAT_NOTE)]), ""]
    lines += _cycle_lines(cycles, design, style)
    if temperatures:
        names = [row.name for row in temperatures[0].cycles if row.rule != "optimal-transport"]
        rows = []
        for point in temperatures:
            values = {row.name: decimal(row.tokens_per_cycle) for row in point.cycles}
            label = "-> 0" if point.temperature == 0 else text(point.temperature)
            rows.append((label + ("" if point.exact else " (float64)"), *(values[name] for name in names)))
        lines += ["", "tau by temperature (target and sampling draft tempered, the tree's q as it is)"]
        lines += table(("T", *names), rows, style)
    if stopped is not None:
        lines += ["", style.item("stopped", f"{stopped.message}: {stopped.covered}; the rest is not shown")]
    return "\n".join(lines) + "\n"


def layer_data(found: LayerAnswer) -> dict[str, Any]:
    """One JSON object; rationals are strings."""
    plan, layer = found.optimum.plan, found.layer
    return {
        **SCHEMA,
        **_place(found.tempered, found.context),
        "lead": layer.lead,
        "candidates": layer.candidates,
        "target": [text(value) for value in layer.target],
        "draft": [text(value) for value in layer.draft],
        "sampling_draft": [text(value) for value in layer.sampling_draft],
        **{name: text(getattr(found.rates, name)) for name in LayerRates._fields},
        "certificate": {
            "verdict": str(found.optimum.verdict()),
            "cut": sorted(found.optimum.cut),
            "plan": [
                {
                    "set": sorted(chosen),
                    "probability": text(probability),
                    "flow": {str(token): text(sent) for token, sent in plan.flow[chosen].items() if sent},
                }
                for chosen, probability in plan.sets.items()
            ],
            "residual": [text(value) for value in plan.residual],
        },
        "cycle": None if found.cycles is None else _cycles_data(found.design, found.cycles),
        "optimal_transport": _plan_data(found.plan_check),
    }


def compare_data(
    tempered: Tempered,
    context: Context,
    design: TreeDesign,
    cycles: Sequence[Cycle],
    temperatures: Sequence[AtTemperature],
    stopped: LimitReached | None = None,
) -> dict[str, Any]:
    """One JSON object; rationals are strings. `unfinished`: which limit ended the work, after these rows."""
    return {
        **COMPARE_SCHEMA,
        **_place(tempered, context),
        **_cycles_data(design, cycles),
        "temperatures": [
            {
                "temperature": text(point.temperature),
                "exact": point.exact,
                "tokens_per_cycle": {row.name: text(row.tokens_per_cycle) for row in point.cycles},
            }
            for point in temperatures
        ],
        "unfinished": None if stopped is None else {"why": stopped.message, "covered": stopped.covered},
    }


def _optimum(found: LayerAnswer, names: list[str]) -> str:
    optimum, rates = found.optimum, found.rates
    gap = rates.optimal - rates.rheo
    said = f"rheo is {both(gap)} below it" if gap else "rheo reaches it"
    layer = found.layer
    most = largest_gap(len(layer.target), layer.lead, layer.candidates)
    if layer.sampling_draft == layer.draft:
        shape = f"V = {len(layer.target)}, m = {layer.lead}, n = {layer.candidates}"
        said += f" (at most {text(most)} for {shape})" if most else f" (always so for {shape})"
    cut = sorted(optimum.cut)
    tokens = ", ".join(names[token] for token in cut[:LONGEST_ROW])
    tokens += f", … ({len(cut)} tokens)" if len(cut) > LONGEST_ROW else ""
    return (
        f"{said}. Certificate, {optimum.verdict()}: a plan of acceptance {both(optimum.rate)}, and the token set "
        f"T = {{{tokens}}} with p(T) + Pr(candidates not inside T) = {both(optimum.cut_value)}"
    )


def _cycle_lines(cycles: Sequence[Cycle], design: TreeDesign, style: Style) -> list[str]:
    numbers = f"K={design.pool} W={design.beam} D={design.depth} R={design.budget}"
    deepest = max((len(row.emission.accepted_by_depth) for row in cycles), default=0)
    static = any(row.best is not None for row in cycles)
    rows = []
    for row in cycles:
        depths = [decimal(p) for p in row.emission.accepted_by_depth]
        depths += ["0"] * (deepest - len(depths))
        best = [] if not static else ["-" if row.best is None else decimal(row.best)]
        exact = text(row.tokens_per_cycle)
        shown = exact if len(exact) <= LONGEST_EXACT else f"{count(len(exact) - 1, 'digit')}"
        rows.append((row.name, decimal(row.tokens_per_cycle), *best, *depths, f"{row.trees:,}", shown))
    head = (
        "decoder",
        "tau",
        *(["best"] if static else []),
        *(f">={d}" for d in range(1, deepest + 1)),
        "trees",
        "exact tau",
    )
    lines = [f"per cycle {numbers}; tau: expected tokens, >=d: probability that at least d drafted ones are accepted"]
    lines += table(head, rows, style)
    if static:
        said = "the largest tau of any lossless choice of layer rules; quoted because the tree is static"
        lines.append(style.item("best", said))
    return lines


def _plan_line(found: LayerAnswer, style: Style) -> list[str]:
    check, said = found.plan_check, plan_sentences(found)
    if check is None:
        return []
    if not check.total_variation:
        return [style.item("plans", said)]
    first, rest = said.split(": ", 1)
    return [f"{style.verdict(check.verdict)}: {first}", style.item("", rest)]


def plan_sentences(found: LayerAnswer) -> str:
    """Whether optimal-transport is lossless in this tree, where its tau is not quoted; empty if that was not asked."""
    check = found.plan_check
    if check is None:
        return ""
    if not check.total_variation:
        said = "lossless here, though which slots survive depends on the draws; its tau is not quoted (pruned-optimum)"
        return f"optimal-transport: {said}"
    by_rule = check.blame is not None and check.blame.culprit == "rule"
    blame = "the rule is to blame" if by_rule else "a slot is to blame"
    said = f"total variation {both(check.total_variation)}, {blame}: in a pruned tree n depends on the draw"
    return f"optimal-transport in this tree is not lossless: {said}; its tau is not quoted (claim pruned-optimum)"


def _plan_data(check: Enumeration | None) -> dict[str, Any] | None:
    if check is None:
        return None
    return {
        "verdict": str(check.verdict),
        "total_variation": text(check.total_variation),
        "blame": None if check.blame is None else check.blame.culprit,
    }


def _place(tempered: Tempered, context: Context) -> dict[str, Any]:
    return {
        "model": tempered.model.source,
        "vocab": tempered.model.vocab,
        "context": list(context),
        "temperature": text(tempered.temperature),
        "exact": tempered.exact,
    }


def _cycles_data(design: TreeDesign, cycles: Sequence[Cycle]) -> dict[str, Any]:
    tree = {"pool": design.pool, "beam": design.beam, "depth": design.depth, "budget": design.budget}
    rows = [
        {
            "decoder": row.name,
            "rule": row.rule,
            "lead": row.lead,
            "tokens_per_cycle": text(row.tokens_per_cycle),
            "best": None if row.best is None else text(row.best),
            "lengths": {str(length): text(p) for length, p in row.emission.lengths.items()},
            "accepted_by_depth": [text(p) for p in row.emission.accepted_by_depth],
            "trees": row.trees,
        }
        for row in cycles
    ]
    return {"tree": tree, "decoders": rows}


def _exact(value: Any) -> tuple[str, str]:
    exact = text(value)
    return decimal(value), exact if len(exact) <= LONGEST_EXACT else f"{count(len(exact) - 1, 'digit')}"


def _row(row: Row, names: list[str]) -> str:
    shown = [f"{name} {text(value)}" for name, value in zip(names, row, strict=True)]
    if len(shown) > LONGEST_ROW or any(len(one) > 24 for one in shown):
        most = LONGEST_ROW // 2
        best = range(len(row)) if len(row) <= most else sorted(range(len(row)), key=lambda v: (-row[v], v))[:most]
        rest = f", … ({len(row)} tokens)" if len(row) > len(best) else ""
        return ", ".join(f"{names[v]} {decimal(row[v])}" for v in best) + rest
    return ", ".join(shown)
