"""A walkthrough as text."""

from __future__ import annotations

from rheo_verify.checks.walkthrough import LayerStep, Walkthrough
from rheo_verify.drafting.pool import Pool
from rheo_verify.models.model import Model
from rheo_verify.probability.rationals import text
from rheo_verify.report.drawing import draw_tree
from rheo_verify.report.enumeration import headline
from rheo_verify.report.text import Style, both


def to_text(shown: Walkthrough, style: Style) -> str:
    """For people: pools, the tree, verification."""
    model = shown.model
    lines = [style.strong(headline(model, shown.design, shown.rule)), "", style.strong("pools")]
    for tokens, pool, drawn in shown.pools:
        lines.append(f"  after {model.phrase(tokens)}")
        lines += [style.item("", words, 6) for words in _pool(model, pool, drawn)]
    lines += ["", style.strong(f"the tree, of probability {both(shown.drafted)}")]
    lines += ["  " + line for line in draw_tree(model, shown.tree, shown.pruned)]
    lines += ["", style.strong(f"verification, rule {shown.rule.name}")]
    for layer in shown.layers:
        lines += _layer(model, layer, style)
    if shown.emitted is not None:
        lines += ["", f"emitted: {model.phrase(shown.emitted)}; this path has probability {both(shown.probability)}"]
    return "\n".join(lines) + "\n"


def _pool(model: Model, pool: Pool, drawn: int | None) -> list[str]:
    words = []
    if pool.sampling_law is None:
        words.append("no sampled slot")
    else:
        law = ", ".join(f"{model.name(v)} {text(p)}" for v, p in enumerate(pool.sampling_law) if p)
        words.append(f"Y ~ q~: {law}" + ("" if drawn is None else f"; drawn: {model.name(drawn)}"))
        if drawn is None:
            slots = ", ".join(f"{model.name(v)} {text(pool.draft[v])}" for v in pool.lead)
            return [*words, f"lead: {slots or 'none'}; Y was not reached, so it was never drawn"]
    slots = ", ".join(f"{c.slot} {c.kind} {model.name(c.token)} {text(c.factor)}" for c in pool.candidates(drawn))
    return [*words, f"slots and factors: {slots}"]


def _layer(model: Model, layer: LayerStep, style: Style) -> list[str]:
    target = ", ".join(f"{model.name(v)} {text(p)}" for v, p in enumerate(layer.target) if p)
    lines = [f"  after {model.phrase(layer.tokens)}", style.item("", f"target: {target}", 6)]
    for child, accepted in zip(layer.children, layer.law.accept, strict=True):
        against = "" if child.law is None else f", tested against q~ {text(child.law[child.token])}"
        lines.append(style.item("", f"{model.name(child.token)} ({child.kind}{against}): accepted {both(accepted)}", 6))
    emitted = ", ".join(f"{model.name(v)} {text(p)}" for v, p in enumerate(layer.law.residual) if p)
    lines.append(style.item("", f"all rejected, emitted from the residual: {emitted or 'never'}", 6))
    if layer.outcome is not None:
        how = "drawn from the residual; the cycle ends" if layer.outcome.accepted is None else "accepted; descend"
        lines.append(style.item("", f"→ {model.name(layer.outcome.token)} {how}", 6))
    return lines
