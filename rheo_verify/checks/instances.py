"""Every pair (p, q) on a grid, once: the scope of an exhaustive search over one layer.

Rates depend on tokens only through their rank under q, so each pair may be relabelled until q descends: x1 = 0, x2 = 1
and so on. Then q is a partition of the denominator D, p any composition of it, and the pair stands for
`V! / (product of the factorials of q's tie counts)` labelled pairs. A pair is counted at the least D that serves both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from rheo_verify.checks.acceptance import Layer
from rheo_verify.errors import InputError
from rheo_verify.probability.rationals import about, ratio
from rheo_verify.words import count

Shape: TypeAlias = tuple[int, int]
"""(n candidates, m lead)."""
Table: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

MOST_VOCAB = 100
MOST_ROWS = 2_000_000


@dataclass(frozen=True)
class Instance:
    """One layer on the grid: p = `target` / `denominator`, q = `draft` / `denominator`, q-hat = q."""

    candidates: int
    lead: int
    denominator: int
    draft: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def layer(self) -> Layer:
        """The same layer as exact rows."""
        target, draft = (tuple(ratio(w, self.denominator) for w in row) for row in (self.target, self.draft))
        return Layer(target, draft, draft, self.lead, self.candidates)

    @property
    def size(self) -> tuple[Any, ...]:
        """The order of "smaller": vocabulary, candidates, lead, denominator, then draft and target weights."""
        return (len(self.draft), self.candidates, self.lead, self.denominator, self.draft, self.target)


def shapes_of(vocab: int, lead: int | None = None, candidates: int | None = None) -> tuple[Shape, ...]:
    """All (n, m) with a sampled slot, 0 <= m < n <= V, smallest first; narrowed to a given m or n.

    Raises `InputError` RV106 when there is none.
    """
    shapes = tuple(
        (n, m) for n in range(1, vocab + 1) for m in range(n) if lead in (None, m) and candidates in (None, n)
    )
    if not shapes:
        raise InputError("RV106", _no_shape(vocab, lead, candidates))
    return shapes


def _no_shape(vocab: int, lead: int | None, candidates: int | None) -> str:
    if lead is not None and not 0 <= lead < vocab:
        return f"m = {lead} must be from 0 to V - 1 = {vocab - 1}"
    if candidates is not None and not 1 <= candidates <= vocab:
        return f"n = {count(candidates, 'candidate')} must be from 1 to V = {vocab}"
    return f"m = {lead} must be less than n = {candidates}, the candidates"


def check_grid(vocab: int, denominator: int) -> None:
    """Raises `InputError` RV106 unless the grid exists, RV108 unless its largest table of rows fits in memory."""
    if not 1 <= vocab <= MOST_VOCAB:
        raise InputError("RV106", f"vocab {vocab} must be from 1 to {MOST_VOCAB}")
    if denominator < 1:
        raise InputError("RV106", f"denominator {denominator} must be at least 1")
    rows = math.comb(denominator + vocab - 1, vocab - 1)
    if rows > MOST_ROWS:
        message = f"{about(rows)} rows of {count(vocab, 'token')} with denominator {denominator} are too many"
        raise InputError("RV108", f"{message} (at most {MOST_ROWS:,}); take a smaller --vocab or --denominator")


@lru_cache(maxsize=4)
def compositions(total: int, parts: int) -> Table:
    """All rows of `parts` integers >= 0 that sum to `total`, in lexicographic order."""
    rows = np.zeros((1, 0), dtype=np.int64)
    left = np.array([total], dtype=np.int64)
    for _ in range(parts - 1):
        counts = left + 1
        rows = np.repeat(rows, counts, axis=0)
        starts = np.cumsum(counts) - counts
        chosen = np.arange(counts.sum()) - np.repeat(starts, counts)
        left = np.repeat(left, counts) - chosen
        rows = np.column_stack([rows, chosen])
    return np.column_stack([rows, left])


@lru_cache(maxsize=4)
def descending(total: int, parts: int) -> Table:
    """Those of the compositions that never increase: one row per partition of `total`."""
    rows = compositions(total, parts)
    return rows[(rows[:, 1:] <= rows[:, :-1]).all(axis=1)]


def divisors(rows: Table) -> Table:
    """The greatest common divisor of every row."""
    return np.asarray(np.gcd.reduce(rows, axis=1), dtype=np.int64)


def relabellings(row: Sequence[int]) -> int:
    """How many labelled drafts descend to this row."""
    return math.factorial(len(row)) // math.prod(math.factorial(times) for times in Counter(map(int, row)).values())


def pairs_over(vocab: int, denominator: int) -> int:
    """How many (partition, composition) pairs there are over D, before those of a smaller denominator are left out."""
    partitions = _partitions(vocab, 1 << denominator.bit_length())[denominator]
    return partitions * math.comb(denominator + vocab - 1, vocab - 1)


@lru_cache(maxsize=4)
def _partitions(parts: int, most: int) -> list[int]:
    """How many rows `descending(total, parts)` has, for every total up to `most`."""
    ways = [1, *[0] * most]
    for part in range(1, min(parts, most) + 1):
        for total in range(part, most + 1):
            ways[total] += ways[total - part]
    return ways
