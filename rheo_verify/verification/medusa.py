"""Medusa's two acceptance schemes, neither of which keeps the target's law (Cai et al. 2024, "Medusa", section 2.3.1).

`TYPICAL`: a token is accepted if p(x) > min(epsilon, delta exp(-H(p))), H the entropy; the longest path accepted all
the way is emitted (ties: the first), and one token from p after it. exp(-H) is irrational in general, but comparing
with it is exact: with p in n-ths, both sides to the n-th power are rationals.
`NUCLEUS`: for every candidate path by itself, the target's own tokens are drawn along it and it counts as accepted as
far as they agree; the longest is emitted, and one fresh token from p. Even with one path that is a draw too many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rheo_verify.drafting.tree import Node, TokenPath, Tree
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, ZERO, Rational, over_common_denominator, ratio
from rheo_verify.verification.tree_rule import TreeRule


def is_typical(row: Row, token: int, epsilon: Rational, delta: Rational) -> bool:
    """Whether p(x) > min(epsilon, delta exp(-H(p))), decided exactly."""
    if row[token] > epsilon:
        return True
    numerators, denominator = over_common_denominator(row)
    left = (row[token] / delta) ** denominator
    right = ratio(math.prod(n**n for n in numerators if n), denominator**denominator)
    return bool(left > right)


def typical(epsilon: Rational, delta: Rational) -> TreeRule:
    """Typical acceptance with these thresholds (the paper's defaults: 0.3 and its square root; here both rational)."""

    def longest(model: Model, context: Context, tree: Tree) -> TokenPath:
        accepted: set[tuple[int, ...]] = {()}
        best: tuple[int, tuple[int, ...], TokenPath] = (0, (), ())
        for node in sorted(tree, key=lambda node: (node.depth, node.slots)):
            row = model.target(context + node.tokens[:-1])
            if node.slots[:-1] in accepted and is_typical(row, node.token, epsilon, delta):
                accepted.add(node.slots)
                if node.depth > best[0]:
                    best = (node.depth, node.slots, node.tokens)
        return best[2]

    def verify(chance: Chance, model: Model, context: Context, tree: Tree) -> TokenPath:
        tokens = longest(model, context, tree)
        return (*tokens, chance.choose(model.target(context + tokens)))

    def law(model: Model, context: Context, tree: Tree) -> Law[TokenPath]:
        tokens = longest(model, context, tree)
        return {(*tokens, token): p for token, p in enumerate(model.target(context + tokens)) if p}

    return TreeRule("medusa-typical", verify, law)


def _candidate_paths(tree: Tree) -> Iterator[list[Node]]:
    """Every root-to-leaf path, left to right."""
    by_slots = {node.slots: node for node in tree}
    parents = {node.slots[:-1] for node in tree}
    for slots in sorted(by_slots):
        if slots not in parents:
            yield [by_slots[slots[:length]] for length in range(1, len(slots) + 1)]


def _nucleus_verify(chance: Chance, model: Model, context: Context, tree: Tree) -> TokenPath:
    best: TokenPath = ()
    for path in _candidate_paths(tree):
        for node in path:
            p = model.target(context + node.tokens[:-1])[node.token]
            if not chance.flip(p, 1 - p):
                break
            if node.depth > len(best):
                best = node.tokens
    return (*best, chance.choose(model.target(context + best)))


def _nucleus_law(model: Model, context: Context, tree: Tree) -> Law[TokenPath]:
    """Path by path: the law of the longest prefix so far."""
    best: Law[TokenPath] = {(): ONE}
    for path in _candidate_paths(tree):
        matched: Law[TokenPath] = {}
        reached = ONE
        for node in path:
            p = model.target(context + node.tokens[:-1])[node.token]
            matched[node.tokens[:-1]] = reached * (1 - p)
            reached = reached * p
        matched[path[-1].tokens] = matched.get(path[-1].tokens, ZERO) + reached
        best = collect(
            (this if len(this) > len(that) else that, here * there)
            for that, there in best.items()
            for this, here in matched.items()
        )
    return collect(
        ((*tokens, token), probability * p)
        for tokens, probability in best.items()
        for token, p in enumerate(model.target(context + tokens))
    )


NUCLEUS = TreeRule("medusa-nucleus", _nucleus_verify, _nucleus_law)
