"""The answer of `enumerate` as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rheo_verify.checks.class_walks import guilty_tree
from rheo_verify.checks.enumeration import Enumeration
from rheo_verify.checks.structure import Blame, SlotFault
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Tree
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.model import Model
from rheo_verify.probability.rationals import text
from rheo_verify.probability.replay import choices_text
from rheo_verify.report.drawing import draw_tree
from rheo_verify.report.text import Style, both
from rheo_verify.verification.layer import LayerRule
from rheo_verify.words import count, noun

SCHEMA = {"schema": "rheo_verify/enumerate", "version": 1}
STATEMENTS = {
    "lossless": "the emitted tokens have exactly the target's law",
    "eager-equals-lazy": "build-then-prune and best-first growth give the same pruned trees, with the same law",
    "slot-determinism": "what was kept fixes the next slot; lead and fill tokens too; a sampled one has law q~",
    "sampled-outranks-fill": "the sampled slot's factor is at least every fill's, whatever is drawn",
    "scores-never-increase": "no child outscores its parent, so every pruned tree keeps its ancestors",
    "layer-lossless": "one more child leaves a layer's output unchanged (on average over q~ if sampled)",
    "adapted-growth": "growth and rule meet the general theorem, so every budget is lossless",
}


@dataclass(frozen=True)
class Unfinished:
    """An enumeration that a limit ended."""

    model: Model
    design: TreeDesign
    rule: LayerRule
    why: str
    covered: str


def headline(model: Model, design: TreeDesign, rule: LayerRule) -> str:
    """The run in one line."""
    proxy = design.proxy if isinstance(design.proxy, str) else text(design.proxy)
    extras = [f"proxy {proxy}", f"rule {rule.name}"]
    extras += [f"epsilon {text(design.epsilon)}"] if design.epsilon else []
    extras += [f"ties by {design.ties}"] if design.ties != "position" else []
    extras += ["verified against the ranking draft"] if design.verification != "sampling" else []
    numbers = f"m={design.lead} K={design.pool} W={design.beam} D={design.depth} R={design.budget}"
    return f"RheoSampling tree {numbers}, {', '.join(extras)}; model: {model.source}, {count(model.vocab, 'token')}"


def scope(result: Enumeration) -> str:
    """What the verdict speaks of, and what it does not."""
    cycles = "one cycle" if result.cycles == 1 else f"{result.cycles} cycles"
    length = count(result.cycles * (result.design.depth + 1), "token")
    return (
        f"{cycles} from the context {result.model.phrase(result.context)}, extended by draws from the target to "
        f"{length}; this model, this context, these parameters. Other contexts and models are not covered."
    )


def to_text(result: Enumeration, settings: str, style: Style, limits: Limits | None = None) -> str:
    """For people; a command that walks through a class is looked for within `limits`."""
    model = result.model
    tv = result.total_variation
    what = "lossless, total variation 0" if not tv else f"not lossless, total variation {both(tv)}"
    verdict = f"{what} at budget {result.design.budget}"
    lines = [style.strong(headline(model, result.design, result.rule)), ""]
    lines.append(f"{style.verdict(result.verdict)}: {verdict}")
    if result.verdict is Verdict.VERIFIED and any(result.budgets):
        lines.append(style.strong("but it is lossy at smaller budgets: see budgets below"))
    lines += ["", style.item("scope", scope(result)), style.item("trees", trees(result))]
    classes = result.classes()
    lines.append(
        style.item(
            "classes", f"{count(len(classes), 'distinct pruned tree')} of at most {count(result.design.budget, 'node')}"
        )
    )
    lines.append(style.item("budgets", _budgets(result)))
    lines.append(style.item("accepted", accepted(result)))
    lines += ["", style.strong("claims")]
    for claim, given in result.checks.items():
        lines.append(f"  {style.verdict(given, 12)} {claim}")
        lines.append(style.faint(style.item("", STATEMENTS[claim], 15)))
    for claim, reason in result.not_checked.items():
        lines.append(f"  {'not checked':12} {claim}")
        lines.append(style.faint(style.item("", reason, 15)))
    if result.blame is not None:
        lines += ["", *_blame_text(result, result.blame, settings, style, limits)]
    else:
        lines += ["", *_example(result, classes, settings, style, limits)]
    return "\n".join(lines) + "\n"


def trees(result: Enumeration) -> str:
    """How many unpruned trees there are, and what was done with them."""
    if result.method == "exhaustive":
        return f"{count(result.trees or 0, 'unpruned tree')}, every one formed, pruned and weighed"
    known = "an unknown number of unpruned trees" if result.trees is None else count(result.trees, "unpruned tree")
    return f"{known}; answered by growing each class once, which claim eager-equals-lazy allows"


def _budgets(result: Enumeration) -> str:
    lossy = {k: distance for k, distance in enumerate(result.budgets, 1) if distance}
    by = "by comparing laws" if result.budgets_by == "global" else "by the local identities of adapted-growth"
    if not lossy:
        return f"lossless at {every_budget(result)} ({by})"
    return f"lossy at {len(lossy)} of {len(result.budgets)}: " + ", ".join(
        f"TV {both(distance)} at {k}" for k, distance in lossy.items()
    )


def every_budget(result: Enumeration) -> str:
    """The budgets that were looked at, in words."""
    most = len(result.budgets)
    return "the one budget, 1" if most == 1 else f"every budget 1…{most}"


def lossy_optimum(result: Enumeration) -> bool:
    """Whether the rule is an optimum that is none here: its tokens per cycle are then not quoted."""
    return result.rule.name == "optimal-transport" and result.total_variation > 0


def accepted(result: Enumeration) -> str:
    """Tokens per cycle and how far a cycle gets, in words."""
    if lossy_optimum(result):
        return "not quoted: a plan of most acceptance that is lossy is no optimum (claim pruned-optimum)"
    emission = result.emission
    per = "per cycle" if result.cycles == 1 else f"in {result.cycles} cycles"
    depths = ", ".join(f"≥{depth}: {both(p)}" for depth, p in enumerate(emission.accepted_by_depth, 1))
    drafted = f"; drafted tokens accepted {depths}" if result.cycles == 1 and depths else ""
    return f"{both(emission.tokens_per_cycle)} {noun(emission.tokens_per_cycle, 'token')} emitted {per}{drafted}"


def _example(
    result: Enumeration, classes: dict[Tree, Any], settings: str, style: Style, limits: Limits | None
) -> list[str]:
    tree = max(classes, key=lambda it: (any(node.law is not None for node in it), classes[it]))
    lines = [style.strong(f"one of the classes, of probability {both(classes[tree])}")]
    lines += ["  " + line for line in draw_tree(result.model, tree)]
    command = replay_command(result, tree, settings, limits)
    return [*lines, "", *([f"walk through it: {command}"] if command else [])]


def replay_command(result: Enumeration, tree: Tree, settings: str, limits: Limits | None = None) -> str | None:
    """The command that walks through one class, by the tokens drawn in its order.

    None where classes have no growth and no tree that gives this class is found soon, or before a limit is reached.
    """
    if "eager-equals-lazy" in result.not_checked and result.method == "exhaustive":
        try:
            choices = result.example_draws(tree, limits)
        except LimitReached:
            return None
        return None if choices is None else f"python -m rheo_verify replay {settings}:tree:{choices_text(choices)}"
    draws = [node.token for node in tree if node.law is not None]
    return f"python -m rheo_verify replay {settings}:class:{choices_text(draws)}"


def _blame_text(result: Enumeration, who: Blame, settings: str, style: Style, limits: Limits | None) -> list[str]:
    model = result.model
    where = f", in the cycle that starts after {model.phrase(who.context)}" if who.context else ""
    lines = [style.strong("blame"), style.item("", f"the smallest lossy budget is {who.budget}{where}", 2)]
    if who.fault is None:
        what = f"every sampled slot is faithful, so the rule {result.rule.name} itself does not preserve the target"
        lines.append(style.item("", what, 2))
    else:
        lines += [style.item("", words, 2) for words in fault_words(model, who.fault)]
    lines += [
        "",
        style.strong(f"sequences whose probability is wrong at budget {result.design.budget} (the output starts so)"),
    ]
    width = max(len(model.phrase(it.tokens)) for it in result.comparison.differences[:8])
    for it in result.comparison.differences[:8]:
        lines.append(f"  {model.phrase(it.tokens):{width}}  expected {both(it.expected)}, found {both(it.found)}")
    rest = len(result.comparison.differences) - 8
    lines += [f"  … and {rest} more (--json has them all)"] if rest > 0 else []
    guilty = guilty_tree(result)
    if guilty is not None:
        lines += ["", style.strong("a class in which it shows")]
        lines += ["  " + line for line in draw_tree(model, guilty)]
        command = replay_command(result, guilty, settings, limits)
        lines += ["", f"walk through it: {command}"] if command else []
    return lines


def fault_words(model: Model, fault: SlotFault) -> list[str]:
    """What is wrong with a sampled slot, in sentences."""
    kept = ", ".join(model.phrase(node.tokens) for node in fault.tree) or "nothing"
    place = f"slot {fault.slots[0][-1]} after {model.phrase(fault.tokens)}"
    stated = ", ".join(f"{model.name(v)} {text(p)}" for v, p in enumerate(fault.stated or ()) if p)
    found = ", ".join(f"{model.name(v)} {text(p)}" for v, p in sorted(fault.found.items()))
    return [
        f"the sampled token in {place} does not have the law that verification uses, given that it survives",
        f"kept before it: {kept} (probability {both(fault.given)})",
        f"verification uses: {stated}",
        f"the surviving token has: {found}",
        "a token that decides, by what it is, whether it is kept is no longer a draw from its law",
    ]


def to_json(result: Enumeration, settings: str, limits: Limits | None = None) -> str:
    """One JSON object; rationals are strings. A replay string is looked for within `limits`."""
    classes = result.classes()
    unquoted = lossy_optimum(result)
    data: dict[str, Any] = {
        **SCHEMA,
        "verdict": str(result.verdict),
        "total_variation": text(result.total_variation),
        "trees": result.trees,
        "classes": len(classes),
        "ancestor_closed": result.ancestor_closed,
        "budgets": [text(distance) for distance in result.budgets],
        "budgets_by": result.budgets_by,
        "checks": {claim: str(verdict) for claim, verdict in result.checks.items()},
        "not_checked": result.not_checked,
        "tokens_per_cycle": None if unquoted else text(result.emission.tokens_per_cycle / result.cycles),
        "accepted_by_depth": None
        if unquoted or result.cycles > 1
        else [text(p) for p in result.emission.accepted_by_depth],
        "method": result.method,
        "cycles": result.cycles,
        "scope": scope(result),
        "settings": settings,
    }
    if result.blame is not None:
        data["blame"] = _blame_json(result, result.blame, settings, limits)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _blame_json(result: Enumeration, who: Blame, settings: str, limits: Limits | None) -> dict[str, Any]:
    data: dict[str, Any] = {"budget": who.budget, "culprit": who.culprit, "cycle_starts_after": list(who.context)}
    fault = who.fault
    if fault is None:
        data["rule"] = result.rule.name
    else:
        data["slot"] = fault.slots[0][-1]
        data["slot_path"] = list(fault.slots[0])
        data["context"] = list(fault.tokens)
        data["kept_before"] = [{"slots": list(node.slots), "tokens": list(node.tokens)} for node in fault.tree]
        data["probability"] = text(fault.given)
        data["stated_law"] = [text(p) for p in fault.stated or ()]
        data["found_law"] = [text(fault.found.get(v, 0)) for v in range(result.model.vocab)]
    guilty = guilty_tree(result)
    if guilty is not None:
        data["replay"] = replay_command(result, guilty, settings, limits)
    data["sequences"] = [
        {"tokens": list(it.tokens), "expected": text(it.expected), "found": text(it.found)}
        for it in result.comparison.differences
    ]
    return data


def unfinished_text(ended: Unfinished, style: Style) -> str:
    """For people: why it ended and what was covered."""
    return "\n".join(
        [
            style.strong(headline(ended.model, ended.design, ended.rule)),
            "",
            f"{style.verdict(Verdict.INCONCLUSIVE)}: {ended.why}",
            "",
            style.item("covered", f"{ended.covered}; nothing can be said of the rest", 10),
            "",
        ]
    )


def unfinished_json(ended: Unfinished) -> str:
    """The same keys as a finished answer, with null where nothing is known."""
    unknown = ("total_variation", "trees", "classes", "ancestor_closed", "budgets")
    data = {**SCHEMA, "verdict": "INCONCLUSIVE", **dict.fromkeys(unknown), "checks": {}}
    return json.dumps({**data, "why": ended.why, "covered": ended.covered}, indent=2, ensure_ascii=False) + "\n"
