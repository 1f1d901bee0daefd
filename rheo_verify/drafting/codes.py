"""Numbering distinct 64-bit keys, chunk by chunk: a hash table that is only ever trusted after comparing the keys."""

from __future__ import annotations

from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[Any]]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Codes:
    """Gives distinct keys the numbers 0, 1, 2, … in the order in which chunks bring them.

    A key's hash says where in the sorted keys it probably is; where the key there is another one, it is searched.
    """

    def __init__(self) -> None:
        self.keys: Ints = np.zeros(0, dtype=np.uint64)
        self._codes: Ints = np.zeros(0, dtype=np.int64)
        self._shift = np.uint64(52)
        self._table: Ints = np.zeros(0, dtype=np.int64)

    def of(self, keys: Ints) -> Ints:
        """The number of each key (dtype uint64); new keys get new numbers."""
        if not len(self.keys):
            self._learn(_sample(keys, 1024))
        looked_at = 1024
        while True:
            place = self._table.take((keys * _MULTIPLIER) >> self._shift)
            wrong = np.flatnonzero(self.keys.take(place) != keys)
            if len(wrong):
                place[wrong] = np.minimum(np.searchsorted(self.keys, keys[wrong]), len(self.keys) - 1)
                unknown = keys[wrong][self.keys[place[wrong]] != keys[wrong]]
                if len(unknown):
                    self._learn(
                        _sample(unknown, looked_at)
                    )  # few keys make up most rows: sorting them all would be a waste
                    looked_at *= 8
                    continue
            return self._codes.take(place)

    def _learn(self, keys: Ints) -> None:
        fresh = np.unique(keys)
        merged = np.concatenate([self.keys, fresh])
        numbers = np.concatenate([self._codes, np.arange(len(self._codes), len(merged))])
        order = np.argsort(merged)
        self.keys, self._codes = merged[order], numbers[order]
        bits = max(12, len(merged).bit_length() + 3)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, dtype=np.int64)
        self._table[(self.keys * _MULTIPLIER) >> self._shift] = np.arange(len(merged))


def _sample(keys: Ints, size: int) -> Ints:
    """About `size` of the keys, from everywhere among them."""
    return keys[:: max(1, len(keys) // size)]
