"""The pages of `acceptance`: a layer's rates and its optimum, and cycles; or rules side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_verify.checks.per_cycle import Cycle, ablations
from rheo_verify.checks.temperature import AtTemperature, Tempered
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.model import Context
from rheo_verify.probability.rationals import Rational, decimal, text
from rheo_verify.report import acceptance as words
from rheo_verify.report.html.bars import Pair, compared, single
from rheo_verify.report.html.markup import Inside, Markup, escape, join, tag
from rheo_verify.report.html.numbers import law, number, phrase, token
from rheo_verify.report.html.page import Part, badge, facts, headline, page
from rheo_verify.report.html.tables import Cell, table
from rheo_verify.words import count

MOST_ROWS = 24
NO_VERDICT = "Rates are not a verdict: whether a decoder is lossless is what the command enumerate decides."


def layer_html(found: words.LayerAnswer, command: str, stopped: str = "") -> str:
    """One self-contained page of one layer, and of the cycle of the same decoder unless a limit `stopped` it."""
    model, layer = found.tempered.model, found.layer
    rheo, best = found.rates.rheo, found.rates.optimal
    sentence = f"rheo accepts {decimal(rheo)} of this layer; the most that any lossless rule can is {decimal(best)}"
    what = join("One layer after ", phrase(model, found.context), "; model: ", model.source)
    head = headline("rheo_verify acceptance", sentence, what)
    shape = f"m = {layer.lead} lead, n = {layer.candidates} candidates of {count(model.vocab, 'token')}, all surviving"
    items: list[tuple[str, Inside]] = [("Scope", f"this layer, in exact rationals. {NO_VERDICT}"), ("Layer", shape)]
    cut = join(badge(Verdict.INCONCLUSIVE), f" the cycle is not finished: {stopped}")
    ended: list[tuple[str, Inside]] = [("But", cut)] if stopped else []
    head.append(facts(items + ended + _note(found.tempered)))
    rates: list[tuple[Markup | str, Any]] = [(label, getattr(found.rates, name)) for name, label in words.NAMES.items()]
    caption = "The probability that a drafted token is accepted here."
    parts = [
        Part("rates", "Rates", [single(rates, "rule", "accepted", caption, largest=1)]),
        Part("optimum", "The optimum and its certificate", _optimum(found)),
        Part("rows", "The rows of this layer", _rows(found)),
    ]
    if found.cycles is not None:
        parts.insert(1, Part("cycles", "Tokens per cycle", [*_cycles(found.cycles, found.design), *_plan(found)]))
    return page(f"acceptance: {sentence}", head, parts, command)


def compare_html(
    tempered: Tempered,
    context: Context,
    design: TreeDesign,
    cycles: Sequence[Cycle],
    temperatures: Sequence[AtTemperature],
    command: str,
) -> str:
    """One self-contained page with rules side by side, and by temperature if asked."""
    model = tempered.model
    best = max(cycles, key=lambda row: row.tokens_per_cycle)
    sentence = f"{best.name} emits most: {decimal(best.tokens_per_cycle)} tokens per cycle"
    what = join("Rules side by side after ", phrase(model, context), f"; model: {model.source}")
    head = headline("rheo_verify acceptance compare", sentence, what)
    scope = f"this context and model, {count(model.vocab, 'token')}, in exact rationals. {NO_VERDICT}"
    head.append(facts([("Scope", scope), *_note(tempered)]))
    parts = [Part("cycles", "Tokens per cycle", _cycles(cycles, design))]
    changed: list[tuple[Markup | str, Rational]] = [(label, row.tokens_per_cycle) for label, row in ablations(cycles)]
    if changed:
        caption = "τ of the design, and with one part of it changed."
        parts.append(Part("ablations", "Ablations", [single(changed, "design", "τ", caption)]))
    if temperatures:
        parts.append(Part("temperature", "By temperature", [_temperatures(temperatures)]))
    return page(f"acceptance: {sentence}", head, parts, command)


def _note(tempered: Tempered) -> list[tuple[str, Inside]]:
    return [] if tempered.exact else [("Note", words.FLOAT_NOTE)]


def _optimum(found: words.LayerAnswer) -> list[Inside]:
    optimum, model = found.optimum, found.tempered.model
    gap = found.rates.optimal - found.rates.rheo
    said = join("rheo is ", number(gap), " below it.") if gap else escape("rheo reaches it.")
    cut = sorted(optimum.cut)
    shown = join(*([", "] * bool(place) + [token(model, which)] for place, which in enumerate(cut[:MOST_ROWS])))
    more = f" and {len(cut) - MOST_ROWS} more" if len(cut) > MOST_ROWS else ""
    holds = optimum.verdict() is Verdict.VERIFIED
    certificate = join(
        badge(optimum.verdict()),
        " a plan that accepts ",
        number(optimum.rate),
        ", and the token set {",
        shown,
        more,
        "}: no rule can accept more than the target's probability of that set plus the probability that the "
        "candidates are not all inside it, ",
        number(optimum.cut_value),
        ". The two are equal, so each proves the other best." if holds else ". They do not prove each other.",
    )
    return [
        tag("p", "No lossless rule can accept more than ", number(found.rates.optimal), ": ", said),
        tag("p", certificate),
    ]


def _rows(found: words.LayerAnswer) -> list[Inside]:
    model, layer = found.tempered.model, found.layer
    if model.vocab > MOST_ROWS:
        rows = [("target p", layer.target), ("draft q", layer.draft), ("sampling draft q\u0302", layer.sampling_draft)]
        return [facts([(name, law(model, row)) for name, row in rows])]
    pairs = [
        Pair(token(model, which), p, q) for which, (p, q) in enumerate(zip(layer.target, layer.draft, strict=True))
    ]
    tables: list[Inside] = [compared(pairs, "token", "Target against draft.", ("target p", "draft q"), mark=False)]
    if layer.sampling_draft != layer.draft:
        tables.append(tag("p", "Sampled from q\u0302: ", law(model, layer.sampling_draft)))
    return tables


def _cycles(cycles: Sequence[Cycle], design: TreeDesign) -> list[Inside]:
    numbers = f"K={design.pool} W={design.beam} D={design.depth} R={design.budget}"
    taus: list[tuple[Markup | str, Rational]] = [(row.name, row.tokens_per_cycle) for row in cycles]
    caption = f"τ, the expected number of tokens that a cycle emits; tree {numbers}."
    deepest = max(len(row.emission.accepted_by_depth) for row in cycles)
    static = any(row.best is not None for row in cycles)
    heads = ("decoder", "τ", *(["best τ"] if static else []), *(f"≥ {d}" for d in range(1, deepest + 1)), "trees")
    lines = []
    for row in cycles:
        depths = list(row.emission.accepted_by_depth)
        best = [] if not static else [_cell(row.best)]
        cells = [*best, *(_cell(p) for p in depths), *[Cell("0", 0, True)] * (deepest - len(depths))]
        lines.append([row.name, _cell(row.tokens_per_cycle), *cells, Cell(f"{row.trees:,}", row.trees, True)])
    meaning = "≥ d: the probability that at least d drafted tokens are accepted."
    meaning += " best τ: the largest of any lossless layer rules, as the tree is static." if static else ""
    return [single(taus, "decoder", "τ", caption), table(heads, lines, meaning, sortable=True)]


def _cell(value: Rational | None) -> Cell:
    if value is None:
        return Cell("-", "")
    exact = text(value)
    return Cell(decimal(value), float(value), True, exact if len(exact) < 100 else None)


def _plan(found: words.LayerAnswer) -> list[Inside]:
    lines = words.plan_sentences(found)
    return [tag("p", *([badge(found.plan_check.verdict), " "] if found.plan_check else []), lines)] if lines else []


def _temperatures(points: Sequence[AtTemperature]) -> Markup:
    names = [row.name for row in points[0].cycles if row.rule != "optimal-transport"]
    lines = []
    for point in points:
        values = {row.name: row.tokens_per_cycle for row in point.cycles}
        label = "→ 0" if point.temperature == 0 else text(point.temperature)
        shown = Cell(label + ("" if point.exact else " (float64)"), float(point.temperature))
        lines.append([shown, *(_cell(values[name]) for name in names)])
    caption = "τ by temperature: target and sampling draft tempered, the tree's q as it is."
    return table(("T", *names), lines, caption, sortable=True)
