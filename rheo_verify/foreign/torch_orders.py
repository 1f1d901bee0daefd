"""What compares many random numbers of a tensor at once: argmax, max, top-k, sort, searchsorted, clamp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rheo_verify.foreign import lazy_arrays
from rheo_verify.foreign.lazy_arrays import along, extreme, order
from rheo_verify.foreign.torch_memory import LazyTensor, as_plain, write
from rheo_verify.foreign.torch_moves import dtype_of, move, noise_of, objects_of, view, wrap
from rheo_verify.foreign.torch_tensors import HANDLERS, writes

_HINT = "compare the random numbers with sorted numbers instead"


def _arg(largest: bool) -> Callable[..., Any]:
    def handler(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        tensor = args[0] if args else kwargs["input"]
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        keepdim = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
        array = np.asarray(tensor.elements)
        found = along(
            lambda r: extreme(r, largest), array.reshape(-1) if dim is None else array, -1 if dim is None else dim
        )
        result = torch.tensor(np.asarray(found).tolist(), dtype=torch.int64)
        return result.unsqueeze(dim) if keepdim and dim is not None else result

    return handler


def _extreme(largest: bool) -> Callable[..., Any]:
    def handler(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        tensor = args[0] if args else kwargs["input"]
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        if isinstance(dim, torch.Tensor):
            return _pairwise(largest)(name, func, args, kwargs)
        flat = np.asarray(tensor.elements).reshape(-1)
        if dim is None:
            return wrap(tensor.noise, flat[extreme(list(flat), largest)], as_plain(tensor).dtype)
        keepdim = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
        indices = _arg(largest)(name, func, (tensor, dim, True), {})
        values = move(torch.gather, (tensor, dim, indices), {})
        if not keepdim:
            indices, values = indices.squeeze(dim), view(torch.squeeze, (values, dim), {})
        return getattr(torch.return_types, "max" if largest else "min")((values, indices))

    return handler


def _pairwise(largest: bool) -> Callable[..., Any]:
    def handler(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        result = lazy_arrays._clip_pair(largest, objects_of(args[0]), objects_of(args[1]))
        return wrap(noise_of(args), result, dtype_of(args[0], args[1]))

    return handler


def _ordered(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """topk, sort, argsort."""
    values = dict(zip({"topk": ("input", "k", "dim", "largest"), "sort": ("input", "dim", "descending")}.get(
        name, ("input", "dim", "descending")), args, strict=False)) | kwargs  # fmt: skip
    tensor, dim = values["input"], values.get("dim", -1)
    count = values["k"] if name == "topk" else tensor.shape[dim] if tensor.ndim else 1
    largest = values.get("largest", True) if name == "topk" else values.get("descending", False)
    found = along(lambda r: order(r, int(count), largest), np.asarray(tensor.elements), dim)
    indices = torch.tensor(found.tolist(), dtype=torch.int64)
    if name == "argsort":
        return indices
    return getattr(torch.return_types, name)((move(torch.gather, (tensor, dim, indices), {}), indices))


def _search(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """searchsorted(sorted, values) and bucketize(values, boundaries)."""
    names = ("input", "boundaries") if name == "bucketize" else ("sorted_sequence", "input")
    named = dict(zip(names, args, strict=False)) | kwargs
    places, values = named["boundaries" if name == "bucketize" else "sorted_sequence"], named["input"]
    noise = noise_of(args, kwargs)
    if isinstance(places, LazyTensor) or kwargs.get("sorter") is not None or kwargs.get("out") is not None:
        noise.refuse(f"torch {name} in random numbers", _HINT)
    right = bool(kwargs.get("right")) or kwargs.get("side") == "right"
    noise.dtypes.add(str(places.dtype)[6:])
    array = np.asarray(objects_of(values), dtype=object)
    rows = places.reshape(-1, places.shape[-1]).tolist()
    per = max(1, array.size // len(rows))
    if places.ndim > 1 and tuple(places.shape[:-1]) != array.shape[:-1]:
        return func(*map(as_plain, args), **{key: as_plain(value) for key, value in kwargs.items()})
    found = [
        lazy_arrays.search(rows[i // per if places.ndim > 1 else 0], value, right) for i, value in enumerate(array.flat)
    ]
    dtype = torch.int32 if kwargs.get("out_int32") else torch.int64
    return torch.tensor(found, dtype=dtype).reshape(array.shape)


def _clamp(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    tensor = args[0] if args else kwargs["input"]
    low = args[1] if len(args) > 1 else kwargs.get("min")
    high = args[2] if len(args) > 2 else kwargs.get("max")
    if name.startswith("clamp_max"):
        low, high = None, low if low is not None else kwargs.get("max")
    result = tensor.elements
    if low is not None:
        result = lazy_arrays._clip_pair(True, result, objects_of(low))
    if high is not None:
        result = lazy_arrays._clip_pair(False, result, objects_of(high))
    if writes(name):
        return write(tensor.noise, tensor, result)
    return wrap(tensor.noise, result, as_plain(tensor).dtype)


for _names, _handler in (
    ("argmax", _arg(True)),
    ("argmin", _arg(False)),
    ("max amax", _extreme(True)),
    ("min amin", _extreme(False)),
    ("maximum", _pairwise(True)),
    ("minimum", _pairwise(False)),
    ("topk sort argsort", _ordered),
    ("searchsorted bucketize", _search),
    ("clamp clamp_ clamp_min clamp_min_ clamp_max clamp_max_ clip", _clamp),
):
    for _name in _names.split():
        HANDLERS[_name] = _handler
HANDLERS["amax"] = lambda name, func, args, kwargs: _extreme(True)(name, func, args, kwargs)[0]
HANDLERS["amin"] = lambda name, func, args, kwargs: _extreme(False)(name, func, args, kwargs)[0]
REGISTERED = True
