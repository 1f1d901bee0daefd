"""Elements of torch tensors that are random: taken out, put in, and moved as a view or a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.torch_memory import LazyTensor, as_plain, become_lazy, lend, memory_of

DTYPE_NAMES = {value: str(value)[6:] for value in vars(torch).values() if isinstance(value, torch.dtype)}
HINT = "compare the random numbers (<, argmax, searchsorted, …) instead"


def noise_of(*values: Any) -> Noise:
    """The noise of the first random value among the arguments."""
    for value in values:
        if isinstance(value, (LazyTensor, Lazy)):
            return value.noise
        if isinstance(value, (tuple, list, dict)):
            try:
                return noise_of(*(value.values() if isinstance(value, dict) else value))
            except LookupError:
                continue
    raise LookupError


def objects_of(value: Any) -> Any:
    """An argument as an object array (or a plain number)."""
    if isinstance(value, LazyTensor):
        return value.elements
    if isinstance(value, torch.Tensor):
        return np.asarray(value.detach().tolist(), dtype=object)
    return value


def dtype_of(*values: Any) -> torch.dtype:
    """The dtype of a result, by torch\'s own promotion."""
    return torch.result_type(as_plain(values[0]), as_plain(values[1])) if len(values) > 1 else as_plain(values[0]).dtype


def wrap(noise: Noise, array: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor from an object array: an ordinary one when nothing in it is random."""
    array = np.asarray(array, dtype=object)
    if not any(isinstance(entry, Lazy) for entry in array.flat):
        return torch.tensor(array.tolist(), dtype=dtype).reshape(array.shape)
    return become_lazy(noise, torch.empty(array.shape, dtype=dtype if dtype.is_floating_point else None), array)


def move(func: Any, args: Any, kwargs: Any, everything: bool = False) -> Any:
    """Run a function that only moves elements on their positions, and move the elements alike."""
    noise = noise_of(args, kwargs)
    pool: list[Any] = []
    dtype = next(as_plain(x).dtype for x in flatten((args, kwargs)) if isinstance(x, LazyTensor))

    def positions(value: Any) -> Any:
        if isinstance(value, LazyTensor) or (everything and isinstance(value, torch.Tensor)):
            start = len(pool)
            shape = tuple(as_plain(value).shape)
            pool.extend(np.asarray(objects_of(value), dtype=object).ravel().tolist())
            return torch.arange(start, len(pool)).reshape(shape)
        if isinstance(value, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in value):
            return type(value)(positions(x) for x in value)
        return value

    placed = [positions(value) for value in args]
    named = {name: positions(value) for name, value in kwargs.items()}
    result = func(*placed, **named)

    def filled(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            flat = np.empty(len(pool), dtype=object)
            flat[:] = pool
            return wrap(noise, flat[value.numpy()], dtype)
        return type(value)(filled(x) for x in value) if isinstance(value, (list, tuple)) else value

    return filled(result)


def view(func: Any, args: Any, kwargs: Any) -> Any:
    """Run a function that may give a view of its first argument: the result shares its memory if torch's does."""
    tensor = args[0] if args else None
    if not isinstance(tensor, LazyTensor):
        return move(func, args, kwargs)
    plain = as_plain(tensor)
    real = func(plain, *map(as_plain, args[1:]), **kwargs)
    parts = real if isinstance(real, (tuple, list)) else (real,)
    place = plain.untyped_storage().data_ptr()
    if any(part.untyped_storage().data_ptr() != place and part.numel() for part in parts):
        return move(func, args, kwargs)
    if any(part.dtype != plain.dtype for part in parts):
        return tensor.noise.refuse(f"torch {func.__name__} as another dtype", HINT)
    if real is plain:
        return tensor
    memory = memory_of(tensor)
    lent = [lend(tensor.noise, part, memory) for part in parts]
    return type(real)(lent) if isinstance(real, (tuple, list)) else lent[0]


def flatten(value: Any) -> Any:
    """What lies in nested lists, tuples and dictionaries."""
    if isinstance(value, (list, tuple)):
        for inner in value:
            yield from flatten(inner)
    elif isinstance(value, dict):
        yield from flatten(list(value.values()))
    else:
        yield value


def from_numbers(noise: Noise, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """`torch.tensor` of nested lists in which some numbers are random."""
    array = np.empty(_shape(data), dtype=object)
    array[...] = data
    return wrap(noise, array, dtype or torch.get_default_dtype())


def _shape(data: Any) -> tuple[int, ...]:
    return (len(data), *_shape(data[0])) if isinstance(data, (list, tuple)) and data else ()
