"""Hypothesis strategies for decoder tests: rational, and shrinking towards the order of `foreign.cases`.

Smaller means: fewer tokens, fewer drafts, smaller denominators, then earlier in the lexicographic order of weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from rheo_verify.foreign.cases import Case
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ratio


@st.composite
def distributions(draw: Callable[[Any], Any], vocab: int | None = None, denominator: int = 8) -> Row:
    """A row of `vocab` probabilities (2 to 4 unless given) with a common denominator of at most `denominator`."""
    size = draw(st.integers(2, 4)) if vocab is None else vocab
    whole = draw(st.integers(1, denominator))
    weights, left = [], whole
    for _ in range(size - 1):
        weights.append(draw(st.integers(0, left)))
        left -= weights[-1]
    return tuple(ratio(weight, whole) for weight in (*weights, left))


@st.composite
def tables(draw: Callable[[Any], Any], vocab: int, depth: int, denominator: int = 8) -> dict[Context, Row]:
    """Rows at all contexts of at most `depth` tokens."""
    contexts = [c for length in range(depth + 1) for c in itertools.product(range(vocab), repeat=length)]
    return {context: draw(distributions(vocab, denominator)) for context in contexts}


@st.composite
def cases(draw: Callable[[Any], Any], vocab: int = 3, drafts: int = 2, denominator: int = 6) -> Case:
    """An instance for a verifier: up to `vocab` tokens and `drafts` drafts, rows by context."""
    tokens, length = draw(st.integers(2, vocab)), draw(st.integers(1, drafts))
    target = draw(tables(tokens, length, denominator))
    return Case(tokens, length, target, draw(tables(tokens, length - 1, denominator)))


@st.composite
def draft_trees(
    draw: Callable[[Any], Any], vocab: int = 3, depth: int = 2, children: int = 2
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """A tree of drafted tokens: the children of each node that has any, by the node's path from the root ().

    Siblings are distinct and in the order in which they are to be tested.
    """
    tree: dict[tuple[int, ...], tuple[int, ...]] = {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        path = waiting.pop(0)
        if len(path) == depth:
            continue
        below = draw(st.lists(st.integers(0, vocab - 1), unique=True, min_size=0 if path else 1, max_size=children))
        if below:
            tree[path] = tuple(below)
            waiting += [(*path, token) for token in below]
    return tree
