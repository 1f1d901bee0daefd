"""Rows in, tokens out: build the arrays that code under test expects, and read what it returns."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from rheo_verify.errors import CannotRun, InputError
from rheo_verify.foreign.forms import is_lazy
from rheo_verify.probability.distributions import Row

KINDS = ("torch", "numpy", "list")


class Unreadable(Exception):
    """What the code returned is not a sequence of token ids."""


class Maker:
    """Makes arrays of one kind from rational rows; probabilities, or their logarithms with `logits`.

    `dtype` is a floating dtype's name, `device` torch's. Raises `InputError` RV106 on an unknown kind or device.
    """

    def __init__(self, kind: str, logits: bool = False, dtype: str = "float64", device: str = "cpu") -> None:
        if kind not in KINDS:
            raise InputError("RV106", f"arrays {kind!r} must be one of {', '.join(KINDS)}")
        self.kind, self.logits, self.dtype = kind, logits, dtype
        self.torch: Any = None
        self.numpy: Any = None
        known = True
        if kind == "numpy":
            import numpy

            self.numpy = numpy
            try:
                known = numpy.dtype(dtype).kind == "f"
            except TypeError:
                known = False
        if kind == "torch":
            try:
                import torch
            except ModuleNotFoundError:
                message = "arrays are torch's unless --arrays says numpy or list, and torch is not installed"
                raise CannotRun("RV600", f"{message}: pip install torch") from None

            self.torch = torch
            self._float = getattr(torch, dtype, None)
            known = isinstance(self._float, torch.dtype) and self._float.is_floating_point
        if not known:
            raise InputError("RV106", f"dtype {dtype!r} must be one of floats, like float64 or float32")
        self.device: Any = None
        if device != "cpu":
            self.device = self._known_device(device)

    def _known_device(self, device: str) -> Any:
        if self.torch is None:
            raise InputError("RV106", f"device {device}: only torch arrays have a device")
        try:
            self.torch.zeros(1, device=device).tolist()  # a device without storage, too, takes an empty tensor
            return self.torch.device(device)
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise InputError("RV106", f"device {device!r} cannot be used: {reason}") from None

    def rows(self, rows: Sequence[Row] | Row) -> Any:
        """One row [V], or several [n, V]."""
        return self._array([self._row(row) for row in rows] if _nested(rows) else self._row(rows))

    def empty(self, vocab: int) -> Any:
        """No rows: shape [0, V]."""
        if self.kind == "torch":
            return self.torch.empty((0, vocab), dtype=self._float)
        if self.kind == "numpy":
            return self.numpy.empty((0, vocab), dtype=self.dtype)
        return []

    def tokens(self, tokens: Sequence[int]) -> Any:
        """Token ids [n], int64."""
        if self.kind == "torch":
            return self.torch.tensor(list(tokens), dtype=self.torch.int64, device=self.device)
        if self.kind == "numpy":
            return self.numpy.array(list(tokens), dtype=self.numpy.int64)
        return list(tokens)

    def numbers(self, values: Sequence[Any]) -> Any:
        """Plain floats [n], e.g. coins, or rows of them."""
        return self._array([list(row) for row in values] if _nested(values) else list(values))

    def repeated(self, array: Any, count: int) -> Any:
        """`count` copies along a new leading axis."""
        if self.kind == "torch":
            return array.expand(count, *array.shape).clone(memory_format=self.torch.contiguous_format)
        if self.kind == "numpy":
            return self.numpy.repeat(array[None], count, axis=0)
        return [self.copy(array) for _ in range(count)]

    def _row(self, row: Any) -> list[float]:
        values = [float(value) for value in row]
        return [math.log(value) if value > 0 else -math.inf for value in values] if self.logits else values

    def _array(self, values: Any) -> Any:
        if self.kind == "torch":
            return self.torch.tensor(values, dtype=self._float, device=self.device)
        if self.kind == "numpy":
            return self.numpy.array(values, dtype=self.dtype)
        return values

    def copy(self, array: Any) -> Any:
        """A copy that shares nothing."""
        return self.copier(array)()

    def copier(self, array: Any) -> Callable[[], Any]:
        """What copies `array`, again and again."""
        if self.kind == "torch":
            return array.clone  # type: ignore[no-any-return]
        if self.kind == "numpy":
            return array.copy  # type: ignore[no-any-return]
        return lambda: [list(row) if isinstance(row, list) else row for row in array]

    def same(self, left: Any, right: Any) -> bool:
        """Whether two arrays hold the same numbers."""
        if self.kind == "torch":
            return type(left) is self.torch.Tensor and left.dtype is right.dtype and self.torch.equal(left, right)
        if self.kind == "numpy":
            alike = type(left) is self.numpy.ndarray and left.dtype is right.dtype and left.shape == right.shape
            if alike and left.tobytes() == right.tobytes():
                return True
            return bool(left.dtype != object and self.numpy.array_equal(left, right, equal_nan=True))
        return bool(left == right)


def _nested(rows: Any) -> bool:
    return bool(rows) and isinstance(rows[0], (tuple, list))


def at_once(returned: Any) -> Any:
    """What was returned, unless it is a coroutine: of that nothing has run, and Python warns unless it is closed.

    Raises `Unreadable`.
    """
    if inspect.iscoroutine(returned):
        returned.close()
        raise Unreadable("it returned a coroutine, of which nothing has run, and not token ids")
    return returned


def read_tokens(returned: Any) -> tuple[tuple[int, ...], int | None]:
    """The emitted tokens, and the accepted count if one is returned beside them (``tokens, count``).

    A batch axis of length one is dropped, and so are trailing -1 (padding). Raises `Unreadable`.
    """
    count = None
    if isinstance(returned, tuple) and len(returned) == 2 and _scalar(returned[1]) and not _scalar(returned[0]):
        returned, count = returned[0], _whole(returned[1])
    if hasattr(returned, "tolist"):
        returned = returned.tolist()
    if isinstance(returned, (list, tuple)) and len(returned) == 1 and not _scalar(returned[0]):
        inner = returned[0].tolist() if hasattr(returned[0], "tolist") else returned[0]
        returned = inner if isinstance(inner, (list, tuple)) else returned
    if not isinstance(returned, (list, tuple)):
        raise Unreadable(f"it returned {type(returned).__name__}, not a sequence of token ids")
    tokens = [_whole(token) for token in returned]
    while tokens and tokens[-1] == -1:
        tokens.pop()
    return tuple(tokens), count


def _scalar(value: Any) -> bool:
    return isinstance(value, (int, float)) or (hasattr(value, "item") and getattr(value, "ndim", 0) == 0)


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    elif hasattr(value, "numel") or hasattr(value, "ndim"):
        if getattr(value, "numel", lambda: getattr(value, "size", 1))() != 1:
            raise Unreadable(f"an entry of what it returned is an array of shape {tuple(value.shape)}")
        value = value.item()
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and not is_lazy(value)
    if not known or value != value or int(value) != value:
        raise Unreadable(f"an entry of what it returned is {value!r}, not a token id")
    return int(value)
