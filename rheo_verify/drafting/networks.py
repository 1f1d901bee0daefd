"""Merging networks over columns: many short rows merged at once, each comparison one vector operation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

Column = np.ndarray[Any, np.dtype[Any]]


class Network(NamedTuple):
    """Comparators in order, `(low, high, min is used, max is used)`, and the columns where the kept ones end."""

    comparators: tuple[tuple[int, int, bool, bool], ...]
    kept: tuple[int, ...]


@cache
def merging(left: int, right: int, kept: int) -> Network:
    """Merges `left` ascending columns with the `right` ascending ones after them and keeps the `kept` smallest."""
    return _live(*_merged(list(range(left)), list(range(left, left + right))), kept)


def _merged(left: list[int], right: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Batcher's odd-even merge of any two sizes (Knuth, The Art of Computer Programming 3, section 5.3.4)."""
    if not left or not right:
        return [], left + right
    if len(left) == len(right) == 1:
        return [(left[0], right[0])], left + right
    odd, first = _merged(left[::2], right[::2])
    even, second = _merged(left[1::2], right[1::2])
    comparators, order = odd + even, [first[0]]
    for i, low in enumerate(second):
        if i + 1 < len(first):
            comparators.append((low, first[i + 1]))
            order += [low, first[i + 1]]
        else:
            order.append(low)
    return comparators, order + first[len(second) + 1 :]


def _live(comparators: list[tuple[int, int]], order: list[int], kept: int) -> Network:
    """Without what no kept column depends on."""
    needed, live = [], set(order[:kept])
    for low, high in reversed(comparators):
        if low in live or high in live:
            needed.append((low, high, low in live, high in live))
            live |= {low, high}
    return Network(tuple(reversed(needed)), tuple(order[:kept]))


def merge_smallest(left: Sequence[Column], right: Sequence[Column], kept: int) -> list[Column]:
    """The `kept` smallest entries of every row, ascending, of two sets of columns that are ascending in every row.

    `left[i][row]`, `right[i][row]`; fewer columns are all kept. Shapes may broadcast.
    """
    return _run(merging(len(left), len(right), kept), [*left, *right])


def _run(network: Network, columns: list[Column]) -> list[Column]:
    for low, high, least, most in network.comparators:
        left, right = columns[low], columns[high]
        if least:
            columns[low] = np.minimum(left, right)
        if most:
            columns[high] = np.maximum(left, right)
    return [columns[place] for place in network.kept]
