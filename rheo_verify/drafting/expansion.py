"""Adding a layer to many trees at once: every outcome of every parent, as whole arrays.

The outcomes of a parent run along an axis of their own, outside the rows that share them: a row's columns are repeated
by broadcasting, and nothing is looked up once per tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheo_verify.drafting.networks import merge_smallest

Ints = np.ndarray[Any, np.dtype[Any]]
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Outcomes:
    """What can follow each node. first[r], count[r]: its outcomes. children[k][o]: its k-th best child under outcome o,
    ascending in k. weight[o]: the outcome's weight.
    """

    first: Ints
    count: Ints
    children: Sequence[Ints]
    weight: Ints


def ascending(children: Ints) -> list[Ints]:
    """`children[outcome][slot]` as columns, ascending in every row."""
    return [np.ascontiguousarray(column) for column in np.sort(children, axis=1).T]


@dataclass(frozen=True)
class Expanded:
    """Trees with the new layer. kept[i]: the best of the i-th set, as columns. rows: the old rows, `times` over."""

    kept: list[list[Ints]]
    weight: Ints
    rows: Ints
    times: int

    def repeat(self, column: Ints) -> Ints:
        """An entry for each old row, for each new one."""
        return np.tile(column.take(self.rows), self.times)


def expand(
    parents: Sequence[Ints], outcomes: Outcomes, sets: Sequence[tuple[Sequence[Ints], int]], weight: Ints
) -> Iterator[Expanded]:
    """Every row under every outcome of its parents together, about `ROWS_AT_ONCE` at a time.

    parents[w][row]: the w-th parent. sets: for each, its columns so far, ascending in every row, and how many of the
    smallest are kept when the new children join them. weight[row]: multiplied by the outcomes' weights.
    """
    counts = np.stack([outcomes.count.take(parent) for parent in parents])
    for rows in _alike(counts):
        pools = [(int(counts[w, rows[0]]), outcomes.first.take(parent.take(rows))) for w, parent in enumerate(parents)]
        columns = [[column.take(rows)[None] for column in column_set] for column_set, _ in sets]
        piece = _Piece(rows, pools, columns, weight.take(rows)[None])
        yield from _answer(piece, 0, outcomes, [kept for _, kept in sets])


@dataclass(frozen=True)
class _Piece:
    """Arrays over (outcomes so far, rows)."""

    rows: Ints
    pools: list[tuple[int, Ints]]
    columns: list[list[Ints]]
    weight: Ints

    def split(self, most: int) -> Iterator[_Piece]:
        """Pieces of at most `most` entries, or of one; rows are parted first, since they are what is read in a run."""
        deep, wide = self.weight.shape
        if deep * wide <= most:
            yield self
            return
        step, high = max(1, most // deep), max(1, most)
        for row in range(0, wide, step):
            some = slice(row, row + step)
            pools = [(count, first[some]) for count, first in self.pools]
            for outcome in range(0, deep, high):
                here = (slice(outcome, outcome + high), some)
                columns = [[column[here] for column in column_set] for column_set in self.columns]
                yield _Piece(self.rows[some], pools, columns, self.weight[here])


def _answer(piece: _Piece, w: int, outcomes: Outcomes, kept: list[int]) -> Iterator[Expanded]:
    """Answer the w-th parent and those after it."""
    if w == len(piece.pools):
        columns = [[column.reshape(-1) for column in column_set] for column_set in piece.columns]
        yield Expanded(columns, piece.weight.reshape(-1), piece.rows, len(piece.weight))
        return
    count = piece.pools[w][0]
    for part in piece.split(ROWS_AT_ONCE // count):
        deep, wide = part.weight.shape
        drawn = part.pools[w][1] + np.arange(count)[:, None]
        children = [slot.take(drawn)[:, None] for slot in outcomes.children]
        columns = []
        for column_set, keep in zip(part.columns, kept, strict=True):
            merged = merge_smallest([column[None] for column in column_set], children, keep)
            columns.append([_whole(column, count, deep, wide) for column in merged])
        weight = part.weight[None] * outcomes.weight.take(drawn)[:, None]
        grown = _Piece(part.rows, part.pools, columns, weight.reshape(count * deep, wide))
        yield from _answer(grown, w + 1, outcomes, kept)


def _whole(column: Ints, count: int, deep: int, wide: int) -> Ints:
    if column.shape != (count, deep, wide):
        column = np.broadcast_to(column, (count, deep, wide))
    return column.reshape(count * deep, wide)


def _alike(counts: Ints) -> Iterator[Ints]:
    """Groups of rows whose parents have as many outcomes, each to each."""
    if (counts == counts[:, :1]).all():
        yield np.arange(counts.shape[1])
        return
    _, group = np.unique(counts, axis=1, return_inverse=True)
    order, sizes = np.argsort(group.reshape(-1), kind="stable"), np.bincount(group.reshape(-1))
    yield from np.split(order, np.cumsum(sizes)[:-1])
