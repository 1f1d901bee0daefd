"""Sorting networks over columns: many short rows sorted at once, each comparison one vector operation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def smallest(size: int, kept: int) -> tuple[tuple[int, int], ...]:
    """Comparators that bring the `kept` smallest of `size` columns, sorted, to the front.

    Batcher's odd-even merge sort for any size, less the comparators that no kept column depends on.
    """
    comparators: list[tuple[int, int]] = []
    step = 1
    while step < size:
        stride = step
        while stride >= 1:
            for start in range(stride % step, size - stride, 2 * stride):
                comparators += [
                    (low, low + stride)
                    for low in range(start, min(start + stride, size - stride))
                    if low // (2 * step) == (low + stride) // (2 * step)
                ]
            stride //= 2
        step *= 2
    needed, live = [], set(range(min(kept, size)))
    for low, high in reversed(comparators):
        if low in live or high in live:
            needed.append((low, high))
            live |= {low, high}
    return tuple(reversed(needed))


def keep_smallest(columns: list[np.ndarray[Any, Any]], kept: int) -> list[np.ndarray[Any, Any]]:
    """The `kept` smallest entries of every row, ascending. `columns[i][row]`; fewer columns are all kept."""
    columns = list(columns)
    for low, high in smallest(len(columns), kept):
        left, right = columns[low], columns[high]
        columns[low], columns[high] = np.minimum(left, right), np.maximum(left, right)
    return columns[:kept]
