"""Row operations for every number system: NumPy arrays of rationals (dtype object), NumPy floats, torch tensors.

The vocabulary is the last axis; any axes before it are a batch. Nothing here divides, plants a Python integer into an
array of rationals, or writes into an argument. torch is used when a tensor is given, and never imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from rheo_verify.probability.sparse import SparseRow, TailRow

Array: TypeAlias = Any
"""A NumPy array or a torch tensor."""


def is_torch(array: Array) -> bool:
    """Whether this is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def row_array(row: Any) -> Array:
    """A row of rationals as an object array, shape [V]; an array or a tensor as it is."""
    if isinstance(row, np.ndarray) or is_torch(row):
        return row
    array = np.empty(len(row), dtype=object)
    array[:] = row
    return array


def law_array(law: Any, like: Array) -> Array:
    """A law as an array of the kind of `like` (a target row): a sparse row is made dense, on its device and type."""
    if isinstance(law, TailRow):
        return law.dense(like)
    if not isinstance(law, SparseRow):
        return row_array(law)
    if not is_torch(like):
        return law.dense()
    torch = sys.modules["torch"]
    values = torch.as_tensor(law.values, dtype=like.dtype, device=like.device)
    index = torch.tensor(law.tokens, dtype=torch.int64, device=like.device)
    return torch.zeros_like(like).index_put_((index,), values)


def positive_part(array: Array) -> Array:
    """`(x)+`, elementwise."""
    if is_torch(array):
        return array.clamp(min=0)
    if isinstance(array, np.ndarray) and array.dtype != object:
        return np.maximum(array, 0)
    return array * (array > 0)


def minimum(left: Array, right: Array) -> Array:
    """The smaller of two arrays, elementwise and without rounding."""
    if is_torch(left):
        return sys.modules["torch"].minimum(left, right)
    if isinstance(left, np.ndarray):
        return np.minimum(left, right)
    return min(left, right)


def pick(rows: Array, tokens: Array) -> Array:
    """`rows[..., tokens]`: shape [..., V] and token ids [..., n] give [..., n]. The batch axes broadcast."""
    rows, tokens = _aligned(rows, tokens)
    return rows.gather(-1, tokens) if is_torch(rows) else np.take_along_axis(rows, tokens, axis=-1)


def zero_at(rows: Array, tokens: Array) -> Array:
    """A copy of the rows [..., V] with the given tokens (ids [..., n]) at zero. The batch axes broadcast."""
    rows, tokens = _aligned(rows, tokens)
    if is_torch(rows):
        return rows.scatter(-1, tokens, 0)
    copy = rows.copy()
    np.put_along_axis(copy, tokens, np.take_along_axis(copy, tokens, axis=-1) * 0, axis=-1)
    return copy


def _aligned(rows: Array, tokens: Any) -> tuple[Array, Array]:
    """Rows and token ids over the same batch: views, where they are not already."""
    if is_torch(rows):
        torch = sys.modules["torch"]
        tokens = torch.as_tensor(tokens, dtype=torch.int64, device=rows.device)
    else:
        tokens = np.asarray(tokens, dtype=np.int64)
    if rows.shape[:-1] == tokens.shape[:-1]:
        return rows, tokens
    batch = np.broadcast_shapes(rows.shape[:-1], tokens.shape[:-1])
    return _over(rows, batch), _over(tokens, batch)


def _over(array: Array, batch: tuple[int, ...]) -> Array:
    shape = (*batch, array.shape[-1])
    return array.expand(shape) if is_torch(array) else np.broadcast_to(array, shape)


def mass(rows: Array) -> Array:
    """The sum over the vocabulary, kept as an axis of length 1."""
    return rows.sum(-1, keepdims=True)


def join(columns: Sequence[Array]) -> Array:
    """Concatenate along the last axis."""
    if is_torch(columns[0]):
        return sys.modules["torch"].cat(tuple(columns), -1)
    return np.concatenate(columns, axis=-1)
