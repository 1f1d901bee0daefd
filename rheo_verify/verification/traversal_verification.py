"""Traversal verification: a tree is verified bottom-up, whole paths at a time.

Weng et al. 2025, "Traversal Verification for Speculative Tree Decoding" (arXiv 2505.12398), algorithm 2. Node v has a
child law S_v, a residual target R_v (at first p) and a rate a_v; the root's rate is 1, a child's is
min(1, a_v R_v(x)/S_v(x)). The leaf reached by first children is accepted, with its whole path, at its rate; else it is
deleted, and its parent's d = (a_v R_v - S_v)+ with mass Z gives R_v <- d/Z and a_v <- Z/(Z + 1 - a_v). When only the
root is left it is accepted. The path is emitted, and one token from R of its end.

Open in the paper: duplicates among i.i.d. children. Here each is a node of its own. S_v for a child is the law that the
child was drawn from, so siblings may be i.i.d., without replacement, or point masses. On a chain: block verification.
`order="deepest"` takes the deepest leaf first, which is lossy: a planted fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from rheo_verify.drafting.tree import Node, SlotPath, TokenPath, Tree
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row, normalise
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE, ZERO, Rational, total
from rheo_verify.verification.tree_rule import TreeRule

Order = Literal["first", "deepest"]


class _Test(NamedTuple):
    """A path that is up for acceptance: its tokens, its rate, and the law of the token after it."""

    tokens: TokenPath
    rate: Rational
    residual: Row


class _State:
    """What is left of the tree while its paths are rejected one after another."""

    def __init__(self, model: Model, context: Context, tree: Tree) -> None:
        self.model = model
        self.context = context
        self.residual: dict[SlotPath, Row] = {}
        self.lowered: dict[SlotPath, Rational] = {}
        self.children: dict[SlotPath, list[Node]] = {}
        for node in sorted(tree, key=lambda node: node.slots):
            self.children.setdefault(node.slots[:-1], []).append(node)

    def rate(self, path: list[Node]) -> Rational:
        """The rate of the last node of a path from the root: recomputed, since rejections below lower those above."""
        rate = self.lowered.get((), ONE)
        for above, node in zip([None, *path], path, strict=False):
            if node.slots in self.lowered:
                rate = self.lowered[node.slots]
            else:
                rate = min(ONE, rate * self.residual_at(above)[node.token] / _drawn_from(node, node.token))
        return rate

    def residual_at(self, node: Node | None) -> Row:
        """R at a node (None: the root)."""
        slots, tokens = ((), ()) if node is None else (node.slots, node.tokens)
        return self.residual.get(slots) or self.model.target(self.context + tokens)

    def leaf(self, order: Order) -> list[Node]:
        """The path to the next leaf to test; empty when only the root is left."""
        leaves = self._leaves([])
        return next(leaves, []) if order == "first" else max(leaves, key=len, default=[])

    def _leaves(self, path: list[Node]) -> Iterator[list[Node]]:
        below = self.children.get(path[-1].slots if path else ())
        if not below:
            if path:
                yield path
            return
        for node in below:
            yield from self._leaves([*path, node])

    def delete(self, path: list[Node]) -> None:
        """Remove the rejected leaf and put its parent's residual and rate in order."""
        *above, leaf = path
        parent = above[-1] if above else None
        rate, residual = self.rate(above), self.residual_at(parent)
        excess = tuple(max(rate * r - _drawn_from(leaf, token), ZERO) for token, r in enumerate(residual))
        z = total(excess)
        slots = leaf.slots[:-1]
        if z:
            self.residual[slots] = normalise(excess)
        self.lowered[slots] = z / (z + 1 - rate) if z + 1 - rate else ONE
        self.children[slots].remove(leaf)


def _drawn_from(node: Node, token: int) -> Rational:
    """S: the law of the node's token, a point mass if it was chosen without chance."""
    if node.law is None:
        return ONE if token == node.token else ZERO
    return node.law[token]


def _tests(model: Model, context: Context, tree: Tree, order: Order) -> Iterator[_Test]:
    """The tests one after another, each made only if all before it failed; the root's, at rate 1, is the last."""
    state = _State(model, context, tree)
    while path := state.leaf(order):
        yield _Test(path[-1].tokens, state.rate(path), state.residual_at(path[-1]))
        state.delete(path)
    yield _Test((), ONE, state.residual_at(None))


def traversal(order: Order = "first") -> TreeRule:
    """The rule, as published or with the planted fault."""

    def verify(chance: Chance, model: Model, context: Context, tree: Tree) -> TokenPath:
        for test in _tests(model, context, tree, order):
            if chance.flip(test.rate, 1 - test.rate):
                return (*test.tokens, chance.choose(test.residual))
        raise AssertionError("the root is always accepted")

    def law(model: Model, context: Context, tree: Tree) -> Law[TokenPath]:
        emitted: Law[TokenPath] = {}
        alive = ONE
        for test in _tests(model, context, tree, order):
            for token, probability in enumerate(test.residual):
                if probability and alive * test.rate:
                    end = (*test.tokens, token)
                    emitted[end] = emitted.get(end, ZERO) + alive * test.rate * probability
            alive = alive * (1 - test.rate)
            if not alive:
                break
        return emitted

    return TreeRule("traversal-verification" if order == "first" else "traversal-deepest-first", verify, law)


RULE = traversal()
