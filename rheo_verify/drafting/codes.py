"""Numbering distinct 64-bit keys, chunk by chunk: a hash table that is only ever trusted after comparing the keys."""

from __future__ import annotations

from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[Any]]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Codes:
    """Gives distinct keys the numbers 0, 1, 2, … in the order in which chunks bring them.

    A key's hash says which number it probably has; where that number's key is another one, the key is searched.
    """

    def __init__(self) -> None:
        self.keys: Ints = np.zeros(0, dtype=np.uint64)
        self._order: Ints = np.zeros(0, dtype=np.int64)
        self._shift = np.uint64(52)
        self._table: Ints = np.zeros(0, dtype=np.int64)

    def of(self, keys: Ints) -> Ints:
        """The number of each key (dtype uint64); new keys get new numbers."""
        if not len(self.keys):
            self._learn(_sample(keys, 1024))
        hashes = ((keys * _MULTIPLIER) >> self._shift).view(np.int64)
        numbers = self._table.take(hashes, mode="clip")
        wrong = np.flatnonzero(self.keys.take(numbers, mode="clip") != keys)
        looked_at = 1024
        while len(wrong):
            searched = keys.take(wrong)
            place = np.searchsorted(self.keys, searched, sorter=self._order)
            found = self._order.take(np.minimum(place, len(self._order) - 1))
            numbers[wrong] = found
            wrong = wrong[self.keys.take(found) != searched]
            if len(wrong):
                # few keys make up most rows: sorting them all would be a waste
                self._learn(_sample(keys.take(wrong), looked_at))
                looked_at *= 8
        return numbers

    def _learn(self, keys: Ints) -> None:
        self.keys = np.concatenate([self.keys, np.unique(keys)])
        self._order = np.argsort(self.keys)
        bits = max(12, len(self.keys).bit_length() + 3)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, dtype=np.int64)
        self._table[(self.keys * _MULTIPLIER) >> self._shift] = np.arange(len(self.keys))


def _sample(keys: Ints, size: int) -> Ints:
    """About `size` of the keys, from everywhere among them."""
    return keys[:: max(1, len(keys) // size)]
