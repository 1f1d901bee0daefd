"""Sequoia's topology by dynamic programming (Chen et al. 2024, "Sequoia", section 3.1).

A node's k-th child is accepted with the rate a_k, wherever it stands. The best tree of n nodes (the root counted, as
the token that is always emitted) has expected length T(n) = 1 + F(n - 1, 1), and the nodes are split among children,
F(n, k) = max over s of a_k T(s) + F(n - s, k + 1). A bound on the depth is a third argument of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rheo_verify.drafting.shapes import LEAF, Shape
from rheo_verify.probability.rationals import ONE, ZERO, Rational


def best_shape(rates: Sequence[Rational], nodes: int, depth: int) -> tuple[Rational, Shape]:
    """The expected number of emitted tokens, and the shape of `nodes` nodes below the root that reaches it.

    `rates[k-1]` is the acceptance of a k-th child, non-increasing. Equal expectations: the smaller first child.
    """
    rates = tuple(rates)

    @cache
    def tree(size: int, levels: int) -> tuple[Rational, Shape]:
        expected, children = split(size - 1, 0, levels) if levels else (ZERO, LEAF)
        return ONE + expected, children

    @cache
    def split(size: int, place: int, levels: int) -> tuple[Rational, Shape]:
        best: tuple[Rational, Shape] = (ZERO, LEAF)
        if place == len(rates):
            return best
        for first in range(1, size + 1):
            below, shape = tree(first, levels - 1)
            others, shapes = split(size - first, place + 1, levels)
            expected = rates[place] * below + others
            if expected > best[0]:
                best = expected, (shape, *shapes)
        return best

    return tree(nodes + 1, depth)
