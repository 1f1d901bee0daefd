"""A drafted tree as SVG: a shape and a colour for each kind of slot, and both identities of every sampled token.

A lead token stands in a square box, a sampled one in a hexagon, a fill in a rounded box. A sampled token builds the
tree with its proxy and is verified with its true probability: both are written in it. What was pruned is faded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rheo_verify.drafting.tree import Node, SlotPath, Tree
from rheo_verify.models.model import Model
from rheo_verify.probability.rationals import ONE, Rational, text
from rheo_verify.report.html.assets import asset
from rheo_verify.report.html.layout import HEIGHT, MARGIN, ROOT, WIDTH, Layout, lay_out
from rheo_verify.report.html.markup import Markup, escape, join, tag
from rheo_verify.report.html.numbers import brief, visible
from rheo_verify.words import count

MOST_PRUNED = 24
LEGEND_HEIGHT = 34
KEY = (26, 15)
# Okabe and Ito's colours, for viewers that do not read the style sheet; it has the same ones, and those of the dark.
PLAIN = {"lead": ("#e3f0f8", "#0072b2"), "sampled": ("#fdf0d9", "#b36b00"), "fill": ("#def3ec", "#007a5a")}


@dataclass(frozen=True)
class Picture:
    """What to draw. `pruned`: nodes that did not survive, by priority; `blamed`: the slot that is to blame.

    `scores`: whether nodes have path scores and proxies; without them only the laws that verification uses are shown.
    """

    model: Model
    tree: Tree
    pruned: Tree = ()
    blamed: SlotPath | None = None
    title: str = "A drafted tree"
    scores: bool = True


def inline(picture: Picture, name: str) -> Markup:
    """For a page that has the style sheet; `name` makes its ids unique there."""
    nodes, left_out = _drawn(picture)
    layout = lay_out(nodes)
    return _svg(layout, layout.height, name, picture, [_body(picture, nodes, layout, plain=False)], left_out)


def stand_alone(picture: Picture, command: str) -> str:
    """A file by itself: with style, legend and background, and the command that made it in its metadata."""
    nodes, left_out = _drawn(picture)
    layout = lay_out(nodes)
    width, height = max(layout.width, 620), layout.height + LEGEND_HEIGHT
    layout = Layout(layout.places, width, layout.height)
    inside = [
        tag("metadata", f"made by: {command}"),
        tag("style", Markup(asset("colours.css") + asset("tree.css"))),
        tag("rect", class_="paper", width=width, height=height, fill="#ffffff"),
        _body(picture, nodes, layout, plain=True),
        _legend(layout.height, left_out),
    ]
    return _svg(layout, height, "tree", picture, inside, left_out, xmlns="http://www.w3.org/2000/svg") + "\n"


def _drawn(picture: Picture) -> tuple[list[Node], int]:
    """The nodes to draw, and how many pruned ones are left out: each needs its parent, and few of them are enough."""
    shown = {(): None, **{node.slots: None for node in picture.tree}}
    nodes = [node for node in picture.tree if _rooted(node.slots, shown)]
    for node in picture.pruned[:MOST_PRUNED]:
        if node.slots[:-1] in shown:
            shown[node.slots] = None
            nodes.append(node)
    return nodes, len(picture.tree) + len(picture.pruned) - len(nodes)


def _rooted(slots: SlotPath, shown: dict[SlotPath, None]) -> bool:
    return all(slots[:depth] in shown for depth in range(len(slots)))


def _svg(
    layout: Layout, height: int, name: str, picture: Picture, inside: Sequence[Markup], left_out: int, **more: Any
) -> Markup:
    return tag(
        "svg",
        tag("title", picture.title, id=f"{name}-title"),
        tag("desc", _description(picture, left_out), id=f"{name}-desc"),
        *inside,
        class_="rv-tree",
        viewBox=f"0 0 {layout.width} {height}",
        width=layout.width,
        height=height,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        **more,
    )


def _description(picture: Picture, left_out: int) -> str:
    model = picture.model
    kept = "; ".join(
        f"{rank}: {model.phrase(node.tokens)}, {node.kind}" for rank, node in enumerate(picture.tree[:12], 1)
    )
    more = f"; and {len(picture.tree) - 12} more" if len(picture.tree) > 12 else ""
    pruned = f", {len(picture.pruned)} pruned" if picture.pruned else ""
    return f"{count(len(picture.tree), 'node')}{pruned}, by rank: {kept}{more}." + (
        f" {left_out} not drawn." if left_out else ""
    )


def _body(picture: Picture, nodes: list[Node], layout: Layout, plain: bool) -> Markup:
    ranks = {node.slots: rank for rank, node in enumerate(picture.tree, 1)}
    scores = {node.slots: node.score for node in nodes} | {(): ONE}
    edges = [_edge(node, layout, ranks, plain) for node in nodes]
    boxes = [_node(picture, node, layout, ranks, scores, plain) for node in nodes]
    return join(edges, _root(layout, plain), boxes)


def _root(layout: Layout, plain: bool) -> Markup:
    left, top = layout.places[()]
    box = tag("rect", width=ROOT, height=26, y=(HEIGHT - 26) // 2, rx=4)
    words = tag("text", "context", x=ROOT // 2, y=HEIGHT // 2 + 4, class_="mid", **_ink(plain, anchor="middle"))
    style = {"fill": "#f2f2f2", "stroke": "#666666"} if plain else {}
    return tag("g", box, words, class_="n root", transform=f"translate({left} {top})", data_n=0, **style)


def _edge(node: Node, layout: Layout, ranks: dict[SlotPath, int], plain: bool) -> Markup:
    left, top = layout.places[node.slots[:-1]]
    x, y = layout.places[node.slots]
    start = left + (WIDTH if len(node.slots) > 1 else ROOT)
    above, here, middle = top + HEIGHT // 2, y + HEIGHT // 2, (start + x) // 2
    rank = ranks.get(node.slots)
    style = {"fill": "none", "stroke": "#888888"} if plain else {}
    if plain and rank is None:
        style["opacity"] = "0.45"
    path = f"M{start} {above}C{middle} {above} {middle} {here} {x} {here}"
    return tag("path", class_="e" if rank else "e pruned", d=path, data_n=rank or len(ranks) + 1, **style)


def _node(
    picture: Picture,
    node: Node,
    layout: Layout,
    ranks: dict[SlotPath, int],
    scores: dict[SlotPath, Rational],
    plain: bool,
) -> Markup:
    left, top = layout.places[node.slots]
    rank = ranks.get(node.slots)
    parent = scores[node.slots[:-1]]
    factor = node.score / parent if parent else node.score
    marks = [node.kind, "" if rank else "pruned", "blamed" if node.slots == picture.blamed else ""]
    style: dict[str, str] = {}
    if plain:
        fill, stroke = PLAIN[node.kind]
        style = {"fill": fill, "stroke": stroke, "opacity": "1" if rank else "0.45"}
    name = tag("text", visible(picture.model.name(node.token), 10), x=16, y=20, class_="name", **_ink(plain, 14))
    place = tag("text", f"#{rank}" if rank else "pruned", x=WIDTH - 14, y=19, class_="end", **_ink(plain, 11, "end"))
    written = _lines(node, factor) if picture.scores else _laws_only(node)
    lines = [tag("text", line, x=16, y=y, **_ink(plain, 11)) for line, y in zip(written, (36, 50), strict=True)]
    tooltip = _tooltip(picture.model, node, factor, rank) if picture.scores else picture.model.phrase(node.tokens)
    return tag(
        "g",
        tag("title", tooltip),
        _shape(node.kind),
        name,
        place,
        lines,
        class_=" ".join(["n", *filter(None, marks)]),
        transform=f"translate({left} {top})",
        data_n=rank or len(ranks) + 1,
        **style,
    )


def _shape(kind: str, width: int = WIDTH, height: int = HEIGHT) -> Markup:
    if kind == "sampled":
        half, corner = height // 2, height // 6
        return tag(
            "path", d=f"M{corner} 0H{width - corner}L{width} {half}L{width - corner} {height}H{corner}L0 {half}Z"
        )
    return tag("rect", width=width, height=height, rx=1 if kind == "lead" else height * 3 // 8)


def _lines(node: Node, factor: Rational) -> tuple[str, str]:
    if node.law is None:
        return f"{node.kind}, q {brief(factor)}", f"score {brief(node.score)}"
    return f"builds as {brief(factor)}", f"verified as {brief(node.law[node.token])}"


def _laws_only(node: Node) -> tuple[str, str]:
    if node.law is None:
        return "taken as it is", ""
    return "sampled", f"verified as {brief(node.law[node.token])}"


def _tooltip(model: Model, node: Node, factor: Rational, rank: int | None) -> str:
    slot = ".".join(map(str, node.slots))
    identity = (
        f"q {text(factor)}"
        if node.law is None
        else f"builds as {text(factor)} (proxy), verified as {text(node.law[node.token])} (q~)"
    )
    place = f"rank {rank}" if rank else "pruned"
    return f"{visible(model.name(node.token))}: {node.kind}, slot {slot}; {identity}; score {text(node.score)}; {place}"


def _ink(plain: bool, size: int = 12, anchor: str | None = None) -> dict[str, Any]:
    """Attributes for viewers that do not read the style sheet."""
    if not plain:
        return {}
    return {"fill": "#1a1a1a", "stroke": "none", "font-size": size, "font-family": "sans-serif", "text-anchor": anchor}


def _legend(top: int, left_out: int) -> Markup:
    parts: list[Iterable[Markup] | Markup] = []
    words = (("lead", "lead: most probable, kept as it is"), ("sampled", "sampled: drawn"), ("fill", "fill"))
    left = MARGIN
    for kind, said in words:
        fill, stroke = PLAIN[kind]
        place = f"translate({left} {top + 10})"
        parts.append(tag("g", _shape(kind, *KEY), class_=f"n {kind}", fill=fill, stroke=stroke, transform=place))
        parts.append(tag("text", said, x=left + 32, y=top + 21, **_ink(True, 11)))
        left += 32 + 11 * len(said) // 2 + 20
    said = "faded: pruned" + (f" ({left_out} more not drawn)" if left_out else "")
    return join(parts, tag("text", said, x=left, y=top + 21, **_ink(True, 11)))


def legend() -> Markup:
    """What shapes and colours mean, for pages."""
    items = (
        ("lead", "lead", "one of the m most probable draft tokens"),
        ("sampled", "sampled", "drawn from q\u0303: its proxy builds the tree, its true probability verifies it"),
        ("fill", "fill", "the next most probable draft tokens"),
    )
    picture = {
        kind: tag(
            "svg",
            tag("g", _shape(kind, *KEY), class_=f"n {kind}"),
            class_="rv-tree key",
            viewBox="-1 -1 28 18",
            width=28,
            height=18,
            aria_hidden="true",
        )
        for kind, _, _ in items
    }
    listed = [tag("li", picture[kind], " ", tag("b", name), ": ", escape(said)) for kind, name, said in items]
    return tag("ul", listed, tag("li", tag("b", "faded"), ": pruned, or not revealed yet"), class_="legend")
