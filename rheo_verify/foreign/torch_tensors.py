"""What torch's functions do with tensors of random numbers (`torch_memory.LazyTensor`).

torch calls `answer` for every function that meets one. Functions that only move elements give a view, or are run on a
tensor of positions; comparisons and orders are resolved by `Noise`; arithmetic stays symbolic; the rest is refused.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.lazy_arrays import LazyArray
from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.torch_memory import (
    LazyTensor,
    adopt_shared,
    as_plain,
    become_lazy,
    is_random,
    lend,
    memory_of,
    take_up,
    write,
)

DTYPE_NAMES = {value: str(value)[6:] for value in vars(torch).values() if isinstance(value, torch.dtype)}
_HINT = "compare the random numbers (<, argmax, searchsorted, …) instead"


def answer(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of a torch function of which at least one argument is random."""
    name = func.__name__
    if name == "__get__":
        name = func.__self__.__name__
        if name == "data":
            return args[0]
        if name not in ("T", "mT", "H", "mH"):
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args)
        return view(func, args, kwargs)
    if "out" in kwargs:
        return _into(func, args, kwargs)
    handler = HANDLERS.get(name)
    if handler is None or any(type(value) is LazyTensor and value.memory is not None for value in args):
        tensors = [value for value in _flatten((args, kwargs)) if isinstance(value, LazyTensor)]
        if not any(is_random(each.elements) for each in tensors) and not holds_lazy((args, kwargs)):
            return _settled(name, func, args, kwargs, tensors)
    if handler is not None:
        return handler(name, func, args, kwargs)
    return noise_of(args, kwargs).refuse(f"torch {name}", _HINT)


def shared_call(noise: Noise, func: Any, args: Any, kwargs: Any, handler: Any) -> Any:
    """Any torch function while ordinary tensors may look into the memory of random ones."""
    adopt_shared(noise, (args, kwargs))
    name = func.__name__
    if handler is not None:
        result = handler(noise, func, args, kwargs)
    elif any(isinstance(value, LazyTensor) for value in _flatten((args, kwargs))):
        result = answer(func, args, kwargs)
    else:
        result = func(*args, **kwargs)
    written = args[0] if args and writes(name) else kwargs.get("out")
    if type(written) is torch.Tensor:
        take_up(noise, written)
    return result


def writes(name: str) -> bool:
    """Whether a function of this name changes its first argument."""
    return (name.endswith("_") and not name.endswith("__")) or name.startswith("__i") or name == "__setitem__"


def holds_lazy(value: Any) -> bool:
    """Whether a `Lazy` is among the arguments as such."""
    return any(isinstance(each, Lazy) for each in _flatten(value))


def _settled(name: str, func: Any, args: Any, kwargs: Any, tensors: list[LazyTensor]) -> Any:
    """A function of tensors in which no number is random any more."""
    noise, memories = tensors[0].noise, [memory_of(each) for each in tensors]

    def plain(value: Any) -> Any:
        if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
            return type(value)(plain(inner) for inner in value)
        return as_plain(value)

    result = func(*plain(args), **{key: plain(value) for key, value in kwargs.items()})
    for memory in memories:
        noise.shared[memory.storage.data_ptr()] = memory
    if args and writes(name):
        take_up(noise, args[0])
        return args[0] if isinstance(result, torch.Tensor) else result
    return result


def _into(func: Any, args: Any, kwargs: Any) -> Any:
    """``out=``: the result, written into that tensor."""
    noise, out = noise_of(args, kwargs), kwargs["out"]
    result = answer(func, args, {key: value for key, value in kwargs.items() if key != "out"})
    if out is None:
        return result
    fits = isinstance(out, torch.Tensor) and isinstance(result, torch.Tensor) and result.shape == out.shape
    if not fits or result.dtype != out.dtype:
        return noise.refuse_call(f"torch {func.__name__}(out=…)", "give out the shape and dtype of the result")
    if isinstance(result, LazyTensor):
        return write(noise, out, result.elements)
    return out.copy_(result)


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


def _binary(symbol: Callable[[Any, Any], Any], swap: bool = False) -> Callable[..., Any]:
    def handler(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        noise = noise_of(args, kwargs)
        left, right = (args[0], args[1] if len(args) > 1 else kwargs["other"])[:: -1 if swap else 1]
        if kwargs.get("rounding_mode") or kwargs.get("alpha", 1) != 1:
            noise.refuse(f"torch {name} with {', '.join(kwargs)}", "leave the option out")
        result = symbol(_lazy(left), _lazy(right))
        if writes(name):
            return write(noise, args[0], result)
        return wrap(noise, result, dtype_of(left, right) if isinstance(left, torch.Tensor) else dtype_of(right, left))

    return handler


def _lazy(value: Any) -> Any:
    value = objects_of(value)
    return value.view(LazyArray) if isinstance(value, np.ndarray) else value


def _compare(symbol: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def handler(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        left, right = args[0], args[1] if len(args) > 1 else kwargs["other"]
        noise = left.noise if type(left) is LazyTensor else noise_of(args, kwargs)
        for side in (left, right):
            if type(side) is torch.Tensor and side.is_floating_point():
                noise.dtypes.add(DTYPE_NAMES[side.dtype])
        one, other = _one(left), _one(right)
        if one is not None and other is not None:
            return (_TRUE if symbol(one, other) else _FALSE).clone()
        result = symbol(objects_of(left), objects_of(right))
        return torch.tensor(np.asarray(result, dtype=bool).tolist())

    return handler


_TRUE, _FALSE = torch.tensor(True), torch.tensor(False)


def _one(value: Any) -> Any:
    """The number in a tensor without dimensions, or a number as it is; None for anything larger."""
    if type(value) is LazyTensor:
        return None if value.form else value.single()
    if isinstance(value, torch.Tensor):
        return value.item() if value.ndim == 0 else None
    return value if isinstance(value, (int, float, Lazy)) else None


def _unary(method: Callable[[Any], Any]) -> Callable[..., Any]:
    def handler(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        tensor = args[0] if args else kwargs["input"]
        result = method(tensor.elements)
        if writes(name):
            return write(tensor.noise, tensor, result)
        return wrap(tensor.noise, result, as_plain(tensor).dtype)

    return handler


def move(func: Any, args: Any, kwargs: Any, everything: bool = False) -> Any:
    """Run a function that only moves elements on their positions, and move the elements alike."""
    noise = noise_of(args, kwargs)
    pool: list[Any] = []
    dtype = next(as_plain(x).dtype for x in _flatten((args, kwargs)) if isinstance(x, LazyTensor))

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
        return tensor.noise.refuse(f"torch {func.__name__} as another dtype", _HINT)
    if real is plain:
        return tensor
    memory = memory_of(tensor)
    lent = [lend(tensor.noise, part, memory) for part in parts]
    return type(real)(lent) if isinstance(real, (tuple, list)) else lent[0]


def _flatten(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for inner in value:
            yield from _flatten(inner)
    elif isinstance(value, dict):
        yield from _flatten(list(value.values()))
    else:
        yield value


def _moving(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    return move(func, args, kwargs)


def _viewing(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    return view(func, args, kwargs)


def _joining(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    return move(func, args, kwargs, everything=True)


def _where(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    condition, left, right = args if func is torch.where else (args[1], args[0], args[2])
    noise = noise_of(left, right)
    array = np.where(np.asarray(condition.tolist()), np.asarray(objects_of(left)), np.asarray(objects_of(right)))
    return wrap(noise, array, dtype_of(left, right) if isinstance(left, torch.Tensor) else dtype_of(right, left))


def _same(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """clone, to, float, …: the same numbers, perhaps in another format."""
    tensor = args[0]
    plain = as_plain(tensor)
    with torch._C.DisableTorchFunctionSubclass():
        real = func(plain, *(as_plain(value) for value in args[1:]), **kwargs)
    if real is plain:
        return tensor
    if real.numel() and real.untyped_storage().data_ptr() == plain.untyped_storage().data_ptr():
        return lend(tensor.noise, real, memory_of(tensor))
    if not real.is_floating_point():
        return torch.tensor([int(x) for x in tensor.elements.flat], dtype=real.dtype).reshape(tuple(real.shape))
    return become_lazy(tensor.noise, torch.empty_like(real), np.array(tensor.elements, copy=True))


def _put(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """copy_, fill_, zero_."""
    noise, tensor = noise_of(args, kwargs), args[0]
    value = 0.0 if name == "zero_" else args[1] if len(args) > 1 else kwargs.get("src", kwargs.get("value"))
    return write(noise, tensor, objects_of(value))


def _masked(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """masked_fill and masked_fill_."""
    named = dict(zip(("input", "mask", "value"), args, strict=False)) | kwargs
    tensor, value = named["input"], objects_of(named["value"])
    noise = noise_of(args, kwargs)
    result = np.where(np.asarray(named["mask"].tolist()), np.asarray(value, dtype=object), objects_of(tensor))
    return write(noise, tensor, result) if writes(name) else wrap(noise, result, as_plain(tensor).dtype)


def _item(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    tensor = args[0]
    if math.prod(tensor.form) != 1:
        return func(as_plain(tensor))
    cell = tensor.single()
    return cell.as_float() if isinstance(cell, Lazy) else cell


def _getitem(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    if not isinstance(args[0], LazyTensor):
        return noise_of(args).refuse("an index that is random", _HINT)
    return view(func, args, kwargs)


def _setitem(name: str, func: Any, args: Any, kwargs: Any) -> None:
    tensor, key, value = args
    noise = noise_of(args)
    whole = np.array(objects_of(tensor), dtype=object)
    keys = key if isinstance(key, tuple) else (key,)
    index = tuple(np.asarray(k.tolist()) if isinstance(k, torch.Tensor) else k for k in keys)
    whole[index] = objects_of(value)
    write(noise, tensor, whole)


def _known(value: bool) -> Callable[..., Any]:
    def handler(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        flat = [
            value if isinstance(x, Lazy) else bool(getattr(torch, name)(torch.tensor(x))) for x in args[0].elements.flat
        ]
        return torch.tensor(flat).reshape(args[0].elements.shape)

    return handler


def _meta(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def _iterate(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    return iter(view(torch.unbind, args, {}))


def _rows(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    return args[0].elements.tolist()


def _array(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    return np.array(args[0].elements, copy=True).view(LazyArray)


def _tensor(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    return _same("clone", torch.clone, args[:1], {})


def from_numbers(noise: Noise, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """`torch.tensor` of nested lists in which some numbers are random."""
    array = np.empty(_shape(data), dtype=object)
    array[...] = data
    return wrap(noise, array, dtype or torch.get_default_dtype())


def _shape(data: Any) -> tuple[int, ...]:
    return (len(data), *_shape(data[0])) if isinstance(data, (list, tuple)) and data else ()


HANDLERS: dict[str, Callable[[str, Any, Any, Any], Any]] = {}
for _names, _handler in (
    ("add add_ __add__ __iadd__ __radd__", _binary(operator.add)),
    ("sub sub_ subtract __sub__ __isub__", _binary(operator.sub)),
    ("rsub __rsub__", _binary(operator.sub, swap=True)),
    ("mul mul_ multiply __mul__ __imul__ __rmul__", _binary(operator.mul)),
    ("div div_ divide true_divide __truediv__ __itruediv__ __div__ __idiv__", _binary(operator.truediv)),
    ("__rdiv__ __rtruediv__", _binary(operator.truediv, swap=True)),
    ("pow pow_ __pow__", _binary(operator.pow)),
    ("lt less __lt__", _compare(operator.lt)),
    ("le less_equal __le__", _compare(operator.le)),
    ("gt greater __gt__", _compare(operator.gt)),
    ("ge greater_equal __ge__", _compare(operator.ge)),
    ("eq __eq__", _compare(operator.eq)),
    ("ne not_equal __ne__", _compare(operator.ne)),
    ("log log_", _unary(np.log)),
    ("log1p log1p_", _unary(np.log1p)),
    ("exp exp_", _unary(np.exp)),
    ("neg neg_ negative __neg__", _unary(operator.neg)),
    ("reciprocal reciprocal_", _unary(lambda x: 1 / x)),
    ("floor", _unary(lambda x: np.array([float(e.__floor__()) for e in x.flat], dtype=object).reshape(x.shape))),
    ("isnan isinf", _known(False)),
    ("isfinite", _known(True)),
    ("where", _where),
    ("cat concat concatenate stack hstack vstack", _joining),
    ("clone detach to float double half bfloat16 cpu type type_as contiguous long int requires_grad_", _same),
    (
        "view reshape unsqueeze squeeze flatten expand expand_as transpose permute t movedim swapaxes view_as",
        _viewing,
    ),
    ("narrow select unbind split chunk reshape_as broadcast_to tensor_split ravel diagonal", _viewing),
    ("gather index_select take_along_dim masked_select repeat tile flip roll repeat_interleave", _moving),
    ("copy_ fill_ zero_", _put),
    ("masked_fill masked_fill_", _masked),
    ("item", _item),
    ("tolist", _rows),
    ("numpy __array__", _array),
    ("__getitem__", _getitem),
    ("__setitem__", _setitem),
    ("__iter__", _iterate),
    ("__len__ size dim numel nelement stride is_contiguous is_floating_point is_complex element_size __hash__", _meta),
    ("get_device is_cuda __dir__ data_ptr", _meta),
    ("empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full", _meta),
    ("__deepcopy__", _tensor),
    ("tensor as_tensor", _tensor),
):
    for _name in _names.split():
        HANDLERS[_name] = _handler
LazyTensor.reply = staticmethod(answer)
