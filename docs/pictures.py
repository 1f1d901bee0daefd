"""`python docs/pictures.py` draws the pictures of the explanation from the engine itself, as SVG."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "explanation" / "pictures"
sys.path.insert(0, str(FOLDER.parents[2]))

from rheo_verify.drafting.build_then_prune import unpruned_tree  # noqa: E402
from rheo_verify.drafting.design import TreeDesign  # noqa: E402
from rheo_verify.drafting.pool import pool_at  # noqa: E402
from rheo_verify.drafting.priority import priority_of  # noqa: E402
from rheo_verify.drafting.tree import Node, Tree  # noqa: E402
from rheo_verify.models.model import Model  # noqa: E402
from rheo_verify.models.shipped import find_model  # noqa: E402
from rheo_verify.models.table_file import load_model  # noqa: E402
from rheo_verify.probability.enumeration import enumerate_paths  # noqa: E402
from rheo_verify.probability.rationals import Rational, exact, text  # noqa: E402

# Okabe and Ito's colours: told apart by every kind of colour vision, and each kind has a shape of its own
KINDS = {"lead": "#0072B2", "sampled": "#D55E00", "fill": "#009E73"}
DESIGN = {"lead": 1, "pool": 3, "beam": 1, "depth": 2}
PICTURES = {
    "classes": (TreeDesign(**DESIGN, budget=3), "the paper's proxy, R = 3"),
    "classes-ad-hoc": (TreeDesign(**DESIGN, budget=2, proxy=exact("1/4")), "an ad-hoc proxy of 1/4, R = 2"),
}
WIDTH, HEIGHT, LEFT, TOP = 168, 190, 24, 76


def grown(model: Model, design: TreeDesign) -> dict[Tree, list[tuple[list[Node], Rational]]]:
    """Every unpruned tree with its probability, by the pruned tree that it becomes."""
    classes: dict[Tree, list[tuple[list[Node], Rational]]] = defaultdict(list)
    for path in enumerate_paths(lambda chance: unpruned_tree(chance, design, lambda c: pool_at(model, c, design))):
        kept = tuple(sorted(path.result, key=priority_of(design))[: design.budget])
        classes[kept].append((path.result, path.probability))
    return classes


def picture(model: Model, design: TreeDesign, title: str) -> str:
    """One row of trees a class; what pruning drops is faded."""
    classes = grown(model, design)
    columns = max(map(len, classes.values()))
    width, height = LEFT + columns * WIDTH + 170, TOP + len(classes) * HEIGHT
    total = sum(map(len, classes.values()))
    words = f"{total} unpruned trees in {len(classes)} classes: {title}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="12">',
        f"<title>{words}</title>",
        "<desc>Drawn by: python docs/pictures.py</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold" fill="#111111">{words}</text>',
        *_legend(),
    ]
    for row, (kept, members) in enumerate(classes.items()):
        top = TOP + row * HEIGHT
        lines.append(
            f'<rect x="8" y="{top}" width="{width - 16}" height="{HEIGHT - 12}" rx="8" fill="none" stroke="#999999"/>'
        )
        for column, (tree, probability) in enumerate(members):
            lines += _tree(model, tree, set(kept), LEFT + column * WIDTH, top + 18)
            x = LEFT + column * WIDTH + WIDTH // 2
            lines.append(f'<text x="{x}" y="{top + 168}" text-anchor="middle">drawn with {text(probability)}</text>')
        x = LEFT + columns * WIDTH + 8
        mass = sum((probability for _, probability in members), exact(0))
        names = ", ".join(f"{model.phrase(it.tokens)}{' sampled' * (it.law is not None)}" for it in kept)
        lines.append(f'<text x="{x}" y="{top + 70}" font-weight="bold">class of {text(mass)}</text>')
        lines.append(f'<text x="{x}" y="{top + 90}">kept: {names}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _legend() -> list[str]:
    lines, x = [], LEFT
    for kind, colour in KINDS.items():
        lines += [_shape(kind, x + 8, 50, colour), f'<text x="{x + 24}" y="54">{kind}</text>']
        x += 92
    return [*lines, f'<text x="{x}" y="54" fill="#555555">faded: pruned</text>']


def _shape(kind: str, x: int, y: int, colour: str) -> str:
    if kind == "sampled":
        return f'<path d="M{x} {y - 12}L{x + 12} {y}L{x} {y + 12}L{x - 12} {y}Z" fill="{colour}"/>'
    if kind == "fill":
        return f'<rect x="{x - 10}" y="{y - 10}" width="20" height="20" fill="{colour}"/>'
    return f'<circle cx="{x}" cy="{y}" r="11" fill="{colour}"/>'


def _tree(model: Model, tree: list[Node], kept: set[Node], left: int, top: int) -> list[str]:
    places: dict[tuple[int, ...], tuple[int, int]] = {(): (left + WIDTH // 2, top)}
    for depth in sorted({node.depth for node in tree}):
        layer = sorted((node for node in tree if node.depth == depth), key=lambda node: node.slots)
        for index, node in enumerate(layer):
            x = left + WIDTH * (2 * index + 1) // (2 * len(layer))
            places[node.slots] = (x, top + 54 * depth)
    lines = [f'<circle cx="{places[()][0]}" cy="{top}" r="4" fill="#111111"/>']
    for node in tree:
        (x, y), (x0, y0) = places[node.slots], places[node.slots[:-1]]
        faded = "" if node in kept else ' opacity="0.25"'
        lines.append(f"<g{faded}>")
        lines.append(f'<path d="M{x0} {y0 + 11}L{x} {y - 11}" stroke="#555555" fill="none"/>')
        lines.append(_shape(node.kind, x, y, KINDS[node.kind]))
        lines.append(f'<text x="{x}" y="{y + 4}" text-anchor="middle" fill="#ffffff">{model.name(node.token)}</text>')
        lines.append(f'<text x="{x}" y="{y + 24}" text-anchor="middle" font-size="10">{text(node.score)}</text></g>')
    return lines


def drawn() -> dict[str, str]:
    """Name to SVG."""
    model = load_model(find_model("table-1"))
    return {name: picture(model, design, title) for name, (design, title) in PICTURES.items()}


def main() -> None:
    """Write them all."""
    for name, picture_text in drawn().items():
        (FOLDER / f"{name}.svg").write_text(picture_text, encoding="utf-8")


if __name__ == "__main__":
    main()
