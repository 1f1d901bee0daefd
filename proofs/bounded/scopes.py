"""Finite scopes: all rows and tables up to a common denominator."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from rheo_verify.models.model import Context, Model, NextToken, from_functions
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ratio


def rows(vocab: int, denominator: int) -> list[Row]:
    """Every distribution whose probabilities have a common denominator of at most `denominator`."""
    found = {
        tuple(ratio(part, whole) for part in parts)
        for whole in range(1, denominator + 1)
        for parts in product(range(whole + 1), repeat=vocab)
        if sum(parts) == whole
    }
    return sorted(found)


def lists(tokens: list[int]) -> Iterator[tuple[int, ...]]:
    """Every ordered list of distinct tokens, the empty one included."""
    for size in range(len(tokens) + 1):
        yield from permutations(tokens, size)


def tables(vocab: int, choices: list[Row], depth: int) -> Iterator[NextToken]:
    """Every table with a row from `choices` at each context shorter than `depth` (longer ones take the root's row)."""
    contexts: list[Context] = [c for length in range(depth) for c in product(range(vocab), repeat=length)]
    for chosen in product(choices, repeat=len(contexts)):
        table = dict(zip(contexts, chosen, strict=True))
        yield lambda context, table=table: table.get(context, table[()])  # type: ignore[misc]


def models(vocab: int, denominator: int, depth: int) -> Iterator[Model]:
    """Every pair of a target and a draft table."""
    choices = rows(vocab, denominator)
    for target in tables(vocab, choices, depth):
        for draft in tables(vocab, choices, depth):
            yield from_functions(vocab, target, draft)
