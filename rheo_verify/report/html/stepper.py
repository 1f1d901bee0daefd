"""One class step by step: its growth node by node, then verification node by node, with the numbers of each step.

Without the script all steps are listed; with it one is shown at a time, and the tree beside it follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_verify.checks.class_walks import ClassWalk
from rheo_verify.checks.walkthrough import LayerStep
from rheo_verify.drafting.pool import Pool
from rheo_verify.drafting.tree import Node, TokenPath
from rheo_verify.models.model import Model
from rheo_verify.probability.rationals import ONE, ZERO, Rational, total
from rheo_verify.report.html.bars import Pair, compared
from rheo_verify.report.html.markup import Inside, Markup, escape, join, tag
from rheo_verify.report.html.numbers import brief, law, number, phrase, token
from rheo_verify.report.html.tree_svg import Picture, inline
from rheo_verify.words import count


@dataclass(frozen=True)
class Step:
    """A step: its phase and heading, what is said, how many nodes are there by then, and which are looked at."""

    phase: str
    heading: Markup
    inside: tuple[Inside, ...]
    revealed: int
    now: tuple[int, ...] = ()
    at: int | None = None
    blamed: bool = False


def walk_section(shown: ClassWalk, name: str, heading: Inside, remark: Inside = None) -> Markup:
    """An article with the tree of one class and its steps; `name` makes ids unique in the page."""
    walk = shown.walk
    steps = [*growth_steps(shown), *_pruning(shown), *verification_steps(shown)]
    start = next((place for place, step in enumerate(steps) if step.blamed), 0)
    title = f"The tree of {count(len(walk.tree), 'node')}"
    picture = Picture(walk.model, walk.tree, walk.pruned, shown.blamed, title)
    return tag(
        "article",
        tag("h3", heading, id=f"{name}-heading"),
        tag("p", remark) if remark else None,
        tag(
            "div",
            inline(picture, f"{name}-tree"),
            class_="figure scroll",
            tabindex="0",
            role="region",
            aria_label="the tree, scrolls sideways",
        ),
        tag(
            "div",
            _controls(name, len(steps), start),
            tag("p", class_="announced", aria_live="polite"),
            tag("ol", *(_item(step, len(steps), place) for place, step in enumerate(steps, 1)), class_="steps"),
            class_="told",
        ),
        class_="walk",
        id=name,
        aria_labelledby=f"{name}-heading",
        data_start=start,
    )


def _controls(name: str, steps: int, start: int) -> Markup:
    first, back, on, last = (
        tag(
            "button",
            said,
            type="button",
            data_go=go,
            aria_label=f"{go} step" if go in ("first", "last") else f"step {go}",
        )
        for said, go in (("First", "first"), ("Back", "back"), ("Next", "on"), ("Last", "last"))
    )
    slider = tag("input", type="range", min=1, max=steps, value=start + 1, aria_label="step", id=f"{name}-slider")
    hint = tag("span", "The arrow keys step too.", class_="hint")
    parts = (first, back, on, last, slider, hint)
    return tag("div", *parts, class_="controls", role="group", aria_label="Steps", hidden=True)


def _item(step: Step, steps: int, place: int) -> Markup:
    head = tag("h4", tag("span", f"{place}/{steps} {step.phase}", class_="phase"), " ", step.heading)
    return tag(
        "li",
        head,
        *step.inside,
        class_="blamed" if step.blamed else None,
        data_k=step.revealed,
        data_now=" ".join(map(str, step.now)) or None,
        data_at=step.at,
    )


def growth_steps(shown: ClassWalk) -> list[Step]:
    """One step a node, in the order in which it outranks what comes after."""
    walk = shown.walk
    pools = {tokens: pool for tokens, pool, _ in walk.pools}
    scores = {node.slots: node.score for node in walk.tree} | {(): ONE}
    return [_growth(shown, node, rank, pools, scores.get(node.slots[:-1])) for rank, node in enumerate(walk.tree, 1)]


def _growth(shown: ClassWalk, node: Node, rank: int, pools: dict[TokenPath, Pool], above: Rational | None) -> Step:
    model = shown.walk.model
    pool = pools[node.tokens[:-1]]
    factor = node.score / above if above else node.score
    heading = join(
        "slot ", str(node.slots[-1]), " after ", phrase(model, node.tokens[:-1]), ": ", token(model, node.token)
    )
    said: list[Inside] = [_identities(model, node, pool, factor)]
    blamed = shown.blamed is not None and node.slots == shown.blamed
    if blamed and shown.fault is not None:
        said.append(_fault(shown))
    so_far = shown.along[rank - 1] if rank <= len(shown.along) else None
    score = join("score ", number(node.score))
    said.append(tag("p", score, *(["; what is kept so far has probability ", number(so_far)] if so_far else [])))
    return Step("kept", join(node.kind, ", ", heading), tuple(said), rank, (rank,), blamed=blamed)


def _identities(model: Model, node: Node, pool: Pool, factor: Rational) -> Markup:
    if node.law is None:
        return tag("p", f"A {node.kind} token is taken as it is: its factor is q = ", number(factor), ".")
    drawn = pool.sampling_law or node.law
    return tag(
        "p",
        "Y is drawn from q\u0303: ",
        law(model, drawn),
        "; it came out as ",
        token(model, node.token),
        ". It ",
        tag("b", "builds"),
        " the tree as ",
        number(factor),
        " (the proxy) and is ",
        tag("b", "verified"),
        " as ",
        number(node.law[node.token]),
        " (its probability under q\u0303).",
    )


def _pruning(shown: ClassWalk) -> list[Step]:
    """What did not survive, if it is known."""
    walk = shown.walk
    if not walk.pruned:
        return []
    said = (
        f"{count(len(walk.pruned), 'node')} of one unpruned tree with this class rank behind the {len(walk.tree)} that "
        "were kept, and are cut off. Their sampled tokens were drawn too, but are not part of the class: whatever they "
        "are, the same nodes survive."
        if shown.fault is None and shown.steady
        else f"{count(len(walk.pruned), 'node')} of this unpruned tree rank behind the {len(walk.tree)} that were kept."
    )
    heading = escape(f"{count(len(walk.pruned), 'node')} cut off")
    return [Step("pruned", heading, (tag("p", said),), len(walk.tree) + 1)]


def _fault(shown: ClassWalk) -> Markup:
    fault, model = shown.fault, shown.walk.model
    assert fault is not None
    rows = [
        Pair(token(model, which), p, fault.found.get(which, ZERO))
        for which, p in enumerate(fault.stated or ())
        if p or which in fault.found
    ]
    caption = "Here it breaks: the law that verification uses for this slot, and the law of the token that survives."
    return compared(rows, "token", caption, ("verification uses", "survives"))


def verification_steps(shown: ClassWalk) -> list[Step]:
    """One step a node that verification can stand at and that has children, the context first."""
    walk = shown.walk
    ranks = {node.slots: rank for rank, node in enumerate(walk.tree, 1)}
    by_tokens = {node.tokens: rank for node, rank in ((node, ranks[node.slots]) for node in walk.tree)} | {(): 0}
    reached: dict[TokenPath, Rational] = {(): ONE}
    for layer in walk.layers:
        for child, accepted in zip(layer.children, layer.law.accept, strict=True):
            reached[child.tokens] = reached.get(layer.tokens, ZERO) * accepted
    steps = []
    for layer in walk.layers:
        probability = reached.get(layer.tokens, ZERO)
        heading = join("at ", phrase(walk.model, layer.tokens), ", reached with probability ", brief(probability, 15))
        now = tuple(ranks[child.slots] for child in layer.children)
        at = by_tokens.get(layer.tokens, 0)
        blamed = shown.layer == layer.tokens
        inside = (*_layer(walk.model, layer), *_emission(shown, layer))
        steps.append(Step("verification", heading, inside, len(walk.tree) + 1, now, at, blamed))
    return steps


def _layer(model: Model, layer: LayerStep) -> tuple[Inside, ...]:
    rows = []
    for child, accepted in zip(layer.children, layer.law.accept, strict=True):
        against = "no law: a point mass" if child.law is None else join("q\u0303 ", number(child.law[child.token]))
        cells = [
            tag("th", token(model, child.token), " ", tag("small", child.kind), scope="row"),
            tag("td", number(layer.target[child.token]), class_="num"),
            tag("td", against, class_="num"),
            tag("td", number(accepted), class_="num"),
        ]
        rows.append(tag("tr", *cells))
    rejected = total(layer.law.residual)
    heads = ("candidate", "target p", "tested against", "accepted")
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    table = tag("table", tag("thead", head), tag("tbody", *rows), aria_label="what is tested")
    left = tag(
        "p",
        "All are rejected with probability ",
        number(rejected),
        join("; then the residual gives ", law(model, layer.law.residual)) if rejected else "",
        ".",
    )
    return tag("div", table, class_="scroll"), left


def _emission(shown: ClassWalk, layer: LayerStep) -> tuple[Inside, ...]:
    """For the layer where the rule is to blame: what should come out and what does, averaged over what was drawn."""
    violation, model = shown.violation, shown.walk.model
    if violation is None or shown.layer != layer.tokens:
        return ()
    if violation.what == "emission":
        rows = [
            Pair(token(model, which), p, q)
            for which, (p, q) in enumerate(zip(violation.expected, violation.found, strict=True))
            if p or q
        ]
        caption = (
            f"Here it breaks: the law of the token that comes out, before and after slot {violation.slot} is revealed."
        )
    else:
        names = [token(model, which) for which in violation.children]
        rows = [Pair(*row) for row in zip(names, violation.expected, violation.found, strict=True)]
        caption = f"Here it breaks: the probability of descending, before and after slot {violation.slot} is revealed."
    return (compared(rows, "token", caption, ("before", "after")),)


def listed(model: Model, tree: Sequence[Node]) -> str:
    """The tokens of a tree in a line of plain text, for lists to choose from."""
    shown = ", ".join(" ".join(model.name(which) for which in node.tokens) for node in tree[:4])
    return f"{shown}, …" if len(tree) > 4 else shown or "nothing"
