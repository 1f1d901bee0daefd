"""The answer of `empirical` as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rheo_verify.checks.empirical import EXACT, DesignResult, Empirical
from rheo_verify.checks.greedy import Close, GreedyCheck
from rheo_verify.checks.real_layers import LayerCheck
from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import LimitReached
from rheo_verify.report.tables import table
from rheo_verify.report.text import Style
from rheo_verify.words import count

UNSEEN = "the planted fault was not seen; draw more tokens"
_MOST_SHOWN = 20


def to_text(result: Empirical, style: Style) -> str:
    """For people."""
    plan, target = result.plan, result.pair.target
    lines = [
        style.strong(f"{target.source} with {result.pair.head.source}"),
        f"temperature {plan.settings.temperature:g}, K = W = {plan.pool}, D = {plan.depth}, R = {plan.budget}, "
        f"support {plan.settings.support}, seed {plan.seed}" + (f", planted fault {plan.fault}" if plan.fault else ""),
        "",
        f"{style.verdict(result.exact)}: one layer emits p, exactly (claim layer-lossless)",
        style.item(
            "scope",
            f"{count(result.rows, 'real context')}, every outcome of the sampled token, in float64, compared "
            f"over the whole vocabulary; at most {EXACT:g} counts as rounding. Other contexts are not covered.",
        ),
        *(_layer(check, style) for check in result.layers),
    ]
    if result.rounded:
        lines.append(style.item("rounding", "; ".join(_rounded(check) for check in result.rounded)))
    if result.table4:
        rates = "   ".join(f"{name} {rate:.1%}" for name, rate in result.table4.items())
        lines += ["", style.strong("acceptance at depth 1, slots top-1, sampled, next (Table 4), exact"), f"  {rates}"]
    lines += ["", *_greedy(result, style)]
    if result.designs:
        lines += _decoding(result, style)
    if result.stopped is not None:
        lines += [style.item("stopped", f"{stopped_words(result.stopped)}; the rest is not shown"), ""]
    why = f": {UNSEEN}" if result.unseen and result.stopped is None else ""
    return "\n".join([*lines, f"{style.verdict(result.verdict)}{why}"]) + "\n"


def stopped_words(limit: LimitReached) -> str:
    """Which limit, and how far the work came."""
    return f"{limit.message}: {limit.covered}"


def _decoding(result: Empirical, style: Style) -> list[str]:
    plan = result.plan
    lines = [style.strong("decoding"), *table(HEAD, [_design(it) for it in result.designs], style)]
    refuted = [it for it in result.designs if it.verdict(plan.level) is Verdict.REFUTED]
    lines += [f"  {style.verdict(Verdict.REFUTED)}: {it.name}: {alarm(it)}" for it in refuted]
    if not refuted:
        lines.append("  no deviation was seen; samples can refute, not verify")
    lines += [
        "",
        style.strong(f"power: what {count(result.designs[-1].check.process.tokens, 'token')} would have shown"),
    ]
    lines += _powers(result.designs[-1], plan.level)
    return [*lines, ""]


def _greedy(result: Empirical, style: Style) -> list[str]:
    check = result.greedy
    if check is None:
        return []
    what = f"{count(check.tokens, 'token')} at temperature 0 with m={result.plan.leads[-1]}"
    differing = [it for it in check.found if it.differs]
    says = f"{len(differing)} of them not the target's own" if differing else "the target's own, token for token"
    bound = f"two best logits closer than 4 x {check.rounding:.1e}, what rounding does to a logit of this forward"
    lines = [f"{style.verdict(check.verdict)}: greedy output: {what}: {says}"]
    near = check.near_ties
    lines.append(style.item("near-ties", f"{len(near)} ({bound}); the tree's differs by {check.tree_rounding:.1e}"))
    lines += [style.item("", _close(it, check.bound)) for it in (*check.faults, *near)[:_MOST_SHOWN]]
    if len(check.found) > _MOST_SHOWN:
        lines.append(style.item("", f"… and {len(check.found) - _MOST_SHOWN} more"))
    return [*lines, ""]


def _close(it: Close, bound: float) -> str:
    words = f"differs: {it.emitted}, the target's own is {it.own}" if it.differs else f"both take {it.own}"
    return f"token {it.position + 1}: gap {it.gap:.1e} {'<=' if it.gap <= bound else '>'} {bound:.1e}; {words}"


def _layer(check: LayerCheck, style: Style) -> str:
    words = f"deviation {check.worst:.1e}, acceptance {float(check.acceptance.mean()):.4f}"
    return style.item("", f"{check.rule} m={check.lead}, first {count(check.kept, 'slot')} surviving: {words}")


def _rounded(check: LayerCheck) -> str:
    return f"{check.dtype} {check.worst:.1e} (mean TV {float(check.total_variation.mean()):.1e})"


HEAD = ("design", "tau", "accepted", "stated", "z", "e-process", "PIT", "chi2")


def _design(it: DesignResult) -> tuple[str, ...]:
    acceptance, process = it.check.acceptance, it.check.process
    layers = max(1, acceptance.layers)
    return (
        it.name,
        f"{it.check.tokens_per_cycle:.2f}",
        f"{acceptance.accepted / layers:.3f}",
        f"{acceptance.expected / layers:.3f}",
        f"{acceptance.z:.2f}",
        f"{process.p_value:.2g}",
        f"{it.check.by_target.p_value:.3f}",
        f"{it.first_token.p_value:.3f}" if it.first_token else "–",
    )


def alarm(it: DesignResult) -> str:
    """What raised the alarm, in words."""
    process = it.check.process
    if process.impossible:
        return f"token {process.impossible} has probability 0 under the target"
    if it.check.outside_residual is not None and it.check.found_at == it.check.outside_residual:
        return f"token {it.check.outside_residual} came out on rejection, where the rule's residual is 0"
    if it.check.found_at is not None:
        bet, wealth = process.best_bet()
        return f"found after {count(it.check.found_at, 'token')}; the bet that pays most: {bet}, e^{wealth:.1f}"
    return "a uniformity, acceptance or fixed-prompt test is below its level"


def _powers(it: DesignResult, level: float) -> list[str]:
    lines = []
    for power in it.check.process.powers(level / 2):
        if power.weight is None or power.total_variation is None:
            lines.append(f"  {power.tilt:28} not even in full: too few tokens")
        else:
            lines.append(f"  {power.tilt:28} from {power.weight:.0%} on (total variation {power.total_variation:.3f})")
    return lines


def to_json(result: Empirical) -> str:
    """One JSON object."""
    plan, stopped = result.plan, result.stopped
    data: dict[str, Any] = {
        "schema": "rheo_verify/empirical",
        "version": 1,
        "verdict": str(result.verdict),
        "exact": {
            "verdict": str(result.exact),
            "rows": result.rows,
            "tolerance": EXACT,
            "layers": [_layer_data(check) for check in result.layers],
            "rounding": [_layer_data(check) for check in result.rounded],
        },
        "table4": result.table4,
        "greedy": None if result.greedy is None else _greedy_data(result.greedy),
        "designs": [
            {
                "name": it.name,
                "m": it.lead,
                "verdict": str(it.verdict(plan.level)),
                "tokens": it.check.process.tokens,
                "cycles": it.check.cycles,
                "tau": it.check.tokens_per_cycle,
                "accepted_layers": it.check.acceptance.accepted,
                "expected_accepted_layers": it.check.acceptance.expected,
                "acceptance_z": it.check.acceptance.z,
                "e_process_p": it.check.process.p_value,
                "found_at": it.check.found_at,
                "best_bet": it.check.process.best_bet()[0],
                "uniformity_p": it.check.by_target.p_value,
                "first_token_p": None if it.first_token is None else it.first_token.p_value,
                "power": {
                    power.tilt: {"weight": power.weight, "total_variation": power.total_variation}
                    for power in it.check.process.powers(plan.level / 2)
                },
            }
            for it in result.designs
        ],
        "plan": {
            "temperature": plan.settings.temperature,
            "support": plan.settings.support,
            "rule": plan.rule,
            "k": plan.pool,
            "depth": plan.depth,
            "budget": plan.budget,
            "level": plan.level,
            "seed": plan.seed,
            "fault": plan.fault,
        },
        "models": {"target": result.pair.target.source, "head": result.pair.head.source},
        "unfinished": None if stopped is None else {"why": stopped.message, "covered": stopped.covered},
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _greedy_data(check: GreedyCheck) -> dict[str, Any]:
    return {
        "verdict": str(check.verdict),
        "tokens": check.tokens,
        "rounding": check.rounding,
        "bound": check.bound,
        "tree_rounding": check.tree_rounding,
        "near_ties": [asdict(it) for it in check.near_ties],
        "faults": [asdict(it) for it in check.faults],
    }


def _layer_data(check: LayerCheck) -> dict[str, Any]:
    return {
        "rule": check.rule,
        "m": check.lead,
        "kept": check.kept,
        "dtype": check.dtype,
        "deviation": check.worst,
        "total_variation": float(check.total_variation.mean()),
        "acceptance": float(check.acceptance.mean()),
    }
