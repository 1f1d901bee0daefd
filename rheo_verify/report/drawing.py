"""A drafted tree drawn with text: slots by kind, and both probabilities of every sampled token."""

from __future__ import annotations

from collections.abc import Iterable

from rheo_verify.drafting.tree import Node, SlotPath, children_of
from rheo_verify.models.model import Model
from rheo_verify.probability.rationals import ONE, Rational, text


def draw_tree(model: Model, tree: Iterable[Node], pruned: Iterable[Node] = ()) -> list[str]:
    """Lines of a drawing: kept nodes with their rank, what builds the tree and, for sampled ones, what verifies."""
    kept = list(tree)
    ranks = {node.slots: rank for rank, node in enumerate(kept, 1)}
    nodes = kept + [node for node in pruned if node.slots not in ranks]
    scores = {node.slots: node.score for node in nodes} | {(): ONE}
    lines = ["(context)"]

    def below(slots: SlotPath, margin: str) -> None:
        children = children_of(nodes, slots)
        for child in children:
            last = child is children[-1]
            lines.append(margin + ("└─ " if last else "├─ ") + _label(model, child, scores, ranks))
            below(child.slots, margin + ("   " if last else "│  "))

    below((), "")
    return lines


def _label(model: Model, node: Node, scores: dict[SlotPath, Rational], ranks: dict[SlotPath, int]) -> str:
    parent = scores[node.slots[:-1]]
    factor = text(node.score / parent) if parent else "0"
    rank = f"#{ranks[node.slots]}" if node.slots in ranks else "pruned"
    if node.law is None:
        return f"{model.name(node.token)}  {node.kind}, q {factor}, score {text(node.score)}, {rank}"
    identities = f"builds as {factor}, verified as {text(node.law[node.token])}"
    return f"{model.name(node.token)}  sampled, {identities}, score {text(node.score)}, {rank}"
