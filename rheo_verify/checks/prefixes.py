"""The tree of pruned trees: every T_k, its probability, and the node that comes next.

Its leaves are the classes at budget R; the vertices at depth k are the classes at budget k. Both engines produce it:
the exhaustive one from all unpruned trees, the lazy one by growing. Every structural claim is a question to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rheo_verify.drafting.best_first import Growth
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import Pool, pool_at
from rheo_verify.drafting.tree import Node, SlotPath, Tree
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE, ZERO, Rational

MOST_CLASSES = 5_000_000


@dataclass(slots=True)
class Prefix:
    """One T_k with its probability; `following[u]` is T_k with u as the (k+1)-th node."""

    probability: Rational = ZERO
    following: dict[Node, Prefix] = field(default_factory=dict)


def prefixes_of(classes: Law[Tree]) -> Prefix:
    """The tree of prefixes of a law of pruned trees (nodes in order of priority)."""
    root = Prefix()
    for tree, probability in classes.items():
        here = root
        here.probability += probability
        for node in tree:
            here = here.following.setdefault(node, Prefix())
            here.probability += probability
    return root


def grow_prefixes(model: Model, context: Context, design: TreeDesign, limits: Limits | None = None) -> Prefix:
    """Walk every way in which `best_first` can grow: one leaf, one class. Raises `LimitReached`.

    The fast path of enumerating `best_first`: growths that share a past share its work.
    """
    limits = limits or Limits()
    pools: dict[Context, Pool] = {}

    def pool_of(tokens: Context) -> Pool:
        if tokens not in pools:
            limits.check_time()
            pools[tokens] = pool_at(model, context + tokens, design)
        return pools[tokens]

    root = Prefix(ONE)
    open_growths = [(Growth(design, pool_of), root)]
    finished = 0
    while open_growths:
        growth, here = open_growths.pop()
        while not growth.finished:
            law = growth.next_law
            if law is None:
                here = _follow(here, growth.reveal(None), here.probability)
                continue
            first, *others = growth.next_outcomes
            for token in others:
                branch = growth.copy()
                node = branch.reveal(token)
                open_growths.append((branch, _follow(here, node, here.probability * law[token])))
            here = _follow(here, growth.reveal(first), here.probability * law[first])
        finished += 1
        if finished % 256 == 0:
            limits.check("classes", finished)
        if finished > MOST_CLASSES:
            raise LimitReached("RV202", f"there are more than {MOST_CLASSES:,} classes", limits.covered)
    return root


def _follow(here: Prefix, node: Node, probability: Rational) -> Prefix:
    there = here.following[node] = Prefix(probability)
    return there


def leaves(root: Prefix, budget: int | None = None) -> Iterator[tuple[Tree, Rational]]:
    """The classes at a budget (at the full one if None): T_k and its probability, in order of revelation."""
    stack: list[tuple[Prefix, Tree]] = [(root, ())]
    while stack:
        here, tree = stack.pop()
        if not here.following or len(tree) == budget:
            yield tree, here.probability
        else:
            stack.extend((there, (*tree, node)) for node, there in reversed(here.following.items()))


def count_leaves(root: Prefix) -> int:
    """How many classes there are at the full budget."""
    count, stack = 0, [root]
    while stack:
        following = stack.pop().following
        count += not following
        stack.extend(following.values())
    return count


def classes_of(root: Prefix, budget: int | None = None) -> Law[Tree]:
    """The law of T_k."""
    return dict(leaves(root, budget))


def vertices(root: Prefix) -> Iterator[tuple[Tree, Prefix]]:
    """Every T_k that has a next node, with its vertex, by increasing k within a branch."""
    stack: list[tuple[Prefix, Tree]] = [(root, ())]
    while stack:
        here, tree = stack.pop()
        if here.following:
            yield tree, here
            stack.extend((there, (*tree, node)) for node, there in reversed(here.following.items()))


def with_child(children: tuple[Node, ...], node: Node) -> tuple[Node, ...]:
    """The children of a node and one more, in slot order."""
    if children and children[-1].slots > node.slots:
        return tuple(sorted((*children, node), key=lambda child: child.slots))
    return (*children, node)


def walk(root: Prefix) -> Iterator[tuple[Prefix, list[Node], dict[SlotPath, tuple[Node, ...]]]]:
    """The same vertices, each with its T_k and with its layers: the children of every node, in slot order.

    The list and the dictionary are changed in going on: copy what is kept. An empty layer may be missing.
    """
    tree: list[Node] = []
    layers: dict[SlotPath, tuple[Node, ...]] = {}
    before: list[tuple[Node, ...]] = []
    stack: list[tuple[Prefix, Node | None, int]] = [(root, None, 0)] if root.following else []
    while stack:
        here, node, size = stack.pop()
        while len(tree) >= size > 0:
            layers[tree.pop().slots[:-1]] = before.pop()
        if node is not None:
            above = node.slots[:-1]
            children = layers.get(above, ())
            before.append(children)
            tree.append(node)
            layers[above] = with_child(children, node) if children else (node,)
        yield here, tree, layers
        for following, there in reversed(here.following.items()):
            if there.following:
                stack.append((there, following, size + 1))
