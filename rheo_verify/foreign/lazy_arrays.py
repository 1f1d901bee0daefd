"""Arrays of random numbers: a NumPy object array of `Lazy` and plain floats, with the orders of races.

Elementwise operations are NumPy's own, applied to the elements. What compares many entries at once (argmax, top-k,
sort, searchsorted) is one race or one search, not a tournament. What needs digits (sum, mean, …) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rheo_verify.foreign.lazy import Lazy, race

Elements = np.ndarray[Any, Any]


def lazies(values: Sequence[Any], shape: Sequence[int]) -> LazyArray:
    """An array of the given shape from its elements in row-major order."""
    array = LazyArray(tuple(shape), dtype=object)
    array.ravel()[:] = values
    return array


def extreme(row: Sequence[Any], largest: bool) -> int:
    """The index of the largest (smallest) entry of a row of `Lazy` and floats; the first one among equal floats."""
    random = [index for index, entry in enumerate(row) if isinstance(entry, Lazy)]
    plain = [index for index, entry in enumerate(row) if not isinstance(entry, Lazy)]
    if not random:
        return _best_plain(row, plain, largest)
    if plain:
        best = _best_plain(row, plain, largest)
        if math.isnan(row[best]):
            return best
        beating = [index for index in random if (row[index] > row[best] if largest else row[index] < row[best])]
        if not beating:
            return best
        if len(beating) < len(random):
            random = beating
    entries = [row[index] for index in random]
    if len({entry.variable for entry in entries}) == 1:
        found = 0
        for index in range(1, len(entries)):
            if entries[index] > entries[found] if largest else entries[index] < entries[found]:
                found = index
        return random[found]
    return random[race(entries, last=entries[0].rising() is largest)]


def _best_plain(row: Sequence[Any], indices: Sequence[int], largest: bool) -> int:
    for index in indices:
        if math.isnan(row[index]):
            return index
    return (max if largest else min)(indices, key=lambda index: row[index])


def order(row: Sequence[Any], count: int, largest: bool) -> list[int]:
    """The indices of the `count` largest (smallest) entries, best first."""
    left = list(range(len(row)))
    found: list[int] = []
    while len(found) < count:
        if len(left) > 1 and all(isinstance(row[index], Lazy) for index in left):
            rising = row[left[0]].rising()
            if rising is largest and count == len(row):  # the best arrive last: find the whole order from its other end
                return order(row, count, not largest)[::-1]
        found.append(left.pop(extreme([row[index] for index in left], largest)))
    return found


def along(function: Callable[[list[Any]], Any], array: Elements, axis: int) -> Elements:
    """Apply a function of a row along an axis: a scalar result drops the axis, a list replaces it."""
    moved = np.moveaxis(np.asarray(array), axis, -1)
    rows = [function(list(row)) for row in moved.reshape(-1, moved.shape[-1])] if moved.size else []
    if rows and isinstance(rows[0], list):
        return np.moveaxis(_objects(rows, (*moved.shape[:-1], len(rows[0]))), -1, axis)
    return _objects(rows, moved.shape[:-1])


def _objects(rows: Sequence[Any], shape: Sequence[int]) -> Elements:
    flat = [entry for row in rows for entry in (row if isinstance(row, list) else [row])]
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array.reshape(tuple(shape))


def search(sorted_row: Sequence[Any], value: Any, right: bool) -> int:
    """`searchsorted`: how many entries lie before the place of `value`."""
    low, high = 0, len(sorted_row)
    while low < high:
        middle = (low + high) // 2
        entry = sorted_row[middle]
        before = entry <= value if right else entry < value
        low, high = (middle + 1, high) if before else (low, middle)
    return low


class LazyArray(np.ndarray[Any, Any]):
    """A NumPy array of dtype object whose orders are races. Its elements are `Lazy` or plain floats."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Answer the functions of NumPy that compare or move elements; refuse those that need digits."""
        handler = _FUNCTIONS.get(func)
        if handler is not None:
            return handler(*args, **kwargs)
        if func in _MOVES:
            return super().__array_function__(func, types, args, kwargs)
        return _refuse(self, f"numpy.{func.__name__}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Elementwise operations on the elements; reductions are refused, but for maximum and minimum."""
        if method != "__call__":
            if method == "reduce" and ufunc in (np.maximum, np.minimum):
                return _amax(inputs[0], kwargs.get("axis", 0), kwargs.get("keepdims", False), ufunc is np.maximum)
            return _refuse(self, f"numpy.{ufunc.__name__}.{method}")
        out = kwargs.pop("out", (None,))[0]
        if ufunc in (np.maximum, np.minimum):
            result = _clip_pair(ufunc is np.maximum, *inputs)
        else:
            plain = [np.asarray(x, dtype=object) if isinstance(x, LazyArray) else x for x in inputs]
            result = getattr(ufunc, method)(*plain, **kwargs)
        if out is not None:
            if out.dtype != object:
                return _refuse(self, f"numpy.{ufunc.__name__}(out=…) into an array of floats")
            out[...] = result
            return out
        if isinstance(result, np.ndarray) and result.dtype == object:
            return result.view(LazyArray)
        return result

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        """See `numpy.argmax`."""
        return _arg(self, axis, keepdims, True)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        """See `numpy.argmin`."""
        return _arg(self, axis, keepdims, False)

    def argsort(self, axis: Any = -1, *args: Any, **kwargs: Any) -> Any:
        """See `numpy.argsort`."""
        return _argsort(self, axis)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Refused: the sorted values themselves are random numbers with joint bounds."""
        _refuse(self, "sort in place")

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """Refused."""
        return _refuse(self, "sum")

    mean = cumsum = cumprod = prod = std = var = argpartition = dot = round = sum

    def max(self, axis: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
        """See `numpy.max`."""
        return _amax(self, axis, keepdims, True)

    def min(self, axis: Any = None, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
        """See `numpy.min`."""
        return _amax(self, axis, keepdims, False)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Another float type changes nothing; an integer type takes the integer part of each element."""
        kind = np.dtype(dtype).kind
        if kind == "f" or kind == "O":
            return self.copy()
        if kind in "iu":
            flat = [int(entry) for entry in np.asarray(self).ravel()]
            return np.array(flat, dtype=dtype).reshape(self.shape)
        return _refuse(self, f"astype({dtype})")


def _refuse(array: Any, call: str) -> Any:
    for entry in np.asarray(array).ravel():
        if isinstance(entry, Lazy):
            return entry.noise.refuse(call, "compare the random numbers (<, argmax, searchsorted, …) instead")
    return NotImplemented


def _arg(array: Any, axis: Any, keepdims: Any, largest: bool) -> Any:
    flat = np.asarray(array).reshape(-1) if axis is None else np.asarray(array)
    found = along(lambda row: extreme(row, largest), flat, -1 if axis is None else axis).astype(np.int64)
    if keepdims and axis is not None:
        found = np.expand_dims(found, axis)
    return np.int64(found) if found.ndim == 0 else found


def _amax(array: Any, axis: Any, keepdims: Any, largest: bool) -> Any:
    flat = np.asarray(array).reshape(-1) if axis is None else np.asarray(array)
    best = along(lambda row: row[extreme(row, largest)], flat, -1 if axis is None else axis)
    if keepdims and axis is not None:
        best = np.expand_dims(best, axis)
    return best[()] if best.ndim == 0 else best.view(LazyArray)


def _argsort(array: Any, axis: Any = -1, *args: Any, **kwargs: Any) -> Any:
    def whole(row: list[Any]) -> list[int]:
        return order(row, len(row), largest=False)

    return along(whole, np.asarray(array), axis).astype(np.int64)


def _search(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if sorter is not None:
        return _refuse(v, "numpy.searchsorted(sorter=…)")
    values = np.asarray(v)
    found = [search(list(np.asarray(a)), value, side == "right") for value in values.ravel()]
    return np.array(found, dtype=np.int64).reshape(values.shape)[()]


def _clip_pair(largest: bool, left: Any, right: Any) -> Any:
    a, b = np.broadcast_arrays(np.asarray(left, dtype=object), np.asarray(right, dtype=object))
    flat = []
    for x, y in zip(a.ravel(), b.ravel(), strict=True):
        x, y = (x, y) if isinstance(x, Lazy) else (y, x)
        if isinstance(x, Lazy) and not isinstance(y, Lazy):
            flat.append(x.clamp(y, None) if largest else x.clamp(None, y))
        else:
            flat.append(y if (x < y) is largest else x)
    return _objects(flat, a.shape)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> Any:
    result = a if a_min is None else _clip_pair(True, a, a_min)
    return (result if a_max is None else _clip_pair(False, result, a_max)).view(LazyArray)


SEARCHES: dict[Any, Callable[..., Any]] = {
    np.searchsorted: _search,
    np.digitize: lambda x, bins, right=False: _search(bins, x, "left" if right else "right"),
}
_FUNCTIONS: dict[Any, Callable[..., Any]] = SEARCHES | {
    np.argmax: lambda a, axis=None, out=None, *, keepdims=False: _arg(a, axis, keepdims, True),
    np.argmin: lambda a, axis=None, out=None, *, keepdims=False: _arg(a, axis, keepdims, False),
    np.max: lambda a, axis=None, out=None, keepdims=False: _amax(a, axis, keepdims, True),
    np.min: lambda a, axis=None, out=None, keepdims=False: _amax(a, axis, keepdims, False),
    np.argsort: _argsort,
    np.clip: _clip,
}
_MOVES = {
    np.reshape, np.ravel, np.squeeze, np.expand_dims, np.transpose, np.moveaxis, np.swapaxes, np.concatenate,
    np.stack, np.vstack, np.hstack, np.where, np.copy, np.broadcast_to, np.take, np.take_along_axis, np.split,
    np.atleast_1d, np.shape, np.ndim, np.size, np.repeat, np.tile, np.flip, np.copyto,
}  # fmt: skip
