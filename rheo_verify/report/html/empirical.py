"""The page of `empirical`: verdicts of the exact and the sampled checks, acceptance for each m, and their power."""

from __future__ import annotations

from typing import Any

from rheo_verify.checks.empirical import EXACT, DesignResult, Empirical
from rheo_verify.checks.real_layers import LayerCheck
from rheo_verify.checks.verdict import Verdict
from rheo_verify.report import empirical as words
from rheo_verify.report.html.bars import single_floats
from rheo_verify.report.html.markup import Inside, Markup, join, tag
from rheo_verify.report.html.page import Part, badge, banner, facts, page
from rheo_verify.report.html.tables import Cell, table
from rheo_verify.words import count

SENTENCES = {
    Verdict.VERIFIED: "one layer emits p at every context that was looked at; no sample deviates",
    Verdict.REFUTED: "a check found a deviation from the target's law",
    Verdict.INCONCLUSIVE: "nothing was decided",
}
DESIGN_HEADS = ("design", "verdict", "τ", "accepted", "stated", "z", "e-process p", "PIT p", "χ² p")


def to_html(result: Empirical, command: str) -> str:
    """One self-contained page."""
    unseen = result.unseen and result.stopped is None
    sentence = words.UNSEEN if unseen else SENTENCES[result.verdict]
    what = f"{result.pair.target.source} with {result.pair.head.source}"
    head = banner(result.verdict, sentence, "rheo_verify empirical", what)
    head.append(facts(_facts(result)))
    designs = Part("decoding", "Decoding, sampled", _designs(result))
    exact = Part("layers", "One layer, exactly", _layers(result))
    first, second = (designs, exact) if result.sampled is Verdict.REFUTED else (exact, designs)
    parts = [
        first,
        second,
        Part("acceptance", "Acceptance", _acceptance(result)),
    ]
    if result.designs:
        parts.append(Part("power", "What the samples would have shown", [_powers(result)]))
    return page(f"{result.verdict}: {sentence}", head, parts, command)


def _facts(result: Empirical) -> list[tuple[str, Inside]]:
    plan = result.plan
    tree = f"K = W = {plan.pool}, D = {plan.depth}, R = {plan.budget}, rule {plan.rule}"
    sampling = f"temperature {plan.settings.temperature:g}, support {plan.settings.support}, seed {plan.seed}"
    scope = (
        f"{count(result.rows, 'real context')}, every outcome of the sampled token, in float64, compared over the "
        f"whole vocabulary; at most {EXACT:g} counts as rounding. Other contexts are not covered. Samples can refute, "
        "not verify."
    )
    items: list[tuple[str, Inside]] = [("Scope", scope), ("Tree", tree), ("Sampling", sampling)]
    if result.stopped is not None:
        items.append(("Stopped", f"{words.stopped_words(result.stopped)}; the rest is not shown"))
    return items + ([("Planted fault", tag("b", plan.fault))] if plan.fault else [])


def _layers(result: Empirical) -> list[Inside]:
    rows = [_layer(check) for check in (*result.layers, *result.rounded)]
    heads = ("rule", "m", "slots kept", "computed in", "largest deviation", "mean TV", "accepted")
    caption = (
        "The law of the token that a layer emits, against the target's row; smaller types show what rounding does."
    )
    return [tag("p", badge(result.exact), " one layer emits p (claim layer-lossless)."), table(heads, rows, caption)]


def _layer(check: LayerCheck) -> list[Any]:
    distance, accepted = float(check.total_variation.mean()), float(check.acceptance.mean())
    numbers = [Cell(written, number=True) for written in (f"{check.worst:.1e}", f"{distance:.1e}", f"{accepted:.4f}")]
    return [check.rule, str(check.lead), str(check.kept), check.dtype, *numbers]


def _designs(result: Empirical) -> list[Inside]:
    plan = result.plan
    rows = [_design(it, it.verdict(plan.level)) for it in result.designs]
    caption = (
        f"{count(plan.tokens, 'token')} or a few more of each design. accepted and stated: accepted layers, and what "
        "their own laws say; z, their standardised difference. e-process: anytime-valid p-value of the emitted tokens; "
        "PIT: of their probability integral transform; χ²: of first tokens at one prompt."
    )
    alarms = [
        tag("p", badge(Verdict.REFUTED), f" {it.name}: {words.alarm(it)}.")
        for it in result.designs
        if it.verdict(plan.level) is Verdict.REFUTED
    ]
    quiet = tag("p", "No deviation was seen. Samples can refute, not verify.")
    taus: list[tuple[Markup | str, float]] = [(it.name, it.check.tokens_per_cycle) for it in result.designs]
    return [
        *(alarms or [quiet]),
        table(DESIGN_HEADS, rows, caption, sortable=True),
        single_floats(taus, "design", "τ", "Tokens per cycle, as sampled."),
    ]


def _design(it: DesignResult, verdict: Verdict) -> list[Any]:
    acceptance, process = it.check.acceptance, it.check.process
    layers = max(1, acceptance.layers)
    shown = badge(verdict) if verdict is Verdict.REFUTED else "nothing seen"
    return [
        it.name,
        Cell(shown, str(verdict)),
        _number(it.check.tokens_per_cycle, 2),
        _number(acceptance.accepted / layers),
        _number(acceptance.expected / layers),
        _number(acceptance.z, 2),
        Cell(f"{process.p_value:.2g}", process.p_value, True),
        _number(it.check.by_target.p_value),
        Cell("-", "") if it.first_token is None else _number(it.first_token.p_value),
    ]


def _number(value: float, digits: int = 3) -> Cell:
    return Cell(f"{value:.{digits}f}", value, True)


def _acceptance(result: Empirical) -> list[Inside]:
    table4: list[tuple[Markup | str, float]] = list(result.table4.items())
    layers: list[tuple[Markup | str, float]] = [
        (f"{check.rule}, m = {check.lead}, first {count(check.kept, 'slot')}", float(check.acceptance.mean()))
        for check in result.layers
    ]
    sampled: list[tuple[Markup | str, float]] = [
        (it.name, it.check.acceptance.accepted / max(1, it.check.acceptance.layers)) for it in result.designs
    ]
    caption = "Mean over the contexts, slots top-1, sampled, next (the paper's Table 4), exact."
    return [
        single_floats(layers, "layer", "accepted", "Mean over the contexts, for each m, exact.", largest=1.0),
        single_floats(table4, "rule", "accepted", caption, largest=1.0),
        single_floats(sampled, "design", "accepted", "Tested layers that accepted a draft, as sampled.", largest=1.0),
    ]


def _powers(result: Empirical) -> Markup:
    it = result.designs[-1]
    rows: list[list[Any]] = []
    for power in it.check.process.powers(result.plan.level / 2):
        if power.weight is None or power.total_variation is None:
            rows.append([power.tilt, "not even in full: too few tokens", ""])
        else:
            rows.append([power.tilt, f"from {power.weight:.0%} on", Cell(f"{power.total_variation:.3f}", number=True)])
    caption = join(f"Deviations that {count(it.check.process.tokens, 'token')} of ", it.name, " would have revealed.")
    return table(("deviation", "seen", "total variation"), rows, caption)
