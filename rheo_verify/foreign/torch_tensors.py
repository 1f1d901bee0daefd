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
from rheo_verify.foreign.torch_moves import DTYPE_NAMES, HINT, dtype_of, flatten, move, noise_of, objects_of, view, wrap


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
    shared = handler is None
    for value in args:
        shared = shared or (type(value) is LazyTensor and value.memory is not None)
    if shared:
        tensors = [value for value in flatten((args, kwargs)) if isinstance(value, LazyTensor)]
        if not any(is_random(each.elements) for each in tensors) and not holds_lazy((args, kwargs)):
            return _settled(name, func, args, kwargs, tensors)
    if handler is not None:
        return handler(name, func, args, kwargs)
    return noise_of(args, kwargs).refuse(f"torch {name}", HINT)


def shared_call(noise: Noise, func: Any, args: Any, kwargs: Any, handler: Any) -> Any:
    """Any torch function while ordinary tensors may look into the memory of random ones."""
    name = func.__name__
    if name == "__get__" and type(args[0]) is torch.Tensor:
        return func(*args)
    random = adopt_shared(noise, args) or adopt_shared(noise, kwargs.values())
    if handler is not None:
        result = handler(noise, func, args, kwargs)
    elif random:
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
    return any(isinstance(each, Lazy) for each in flatten(value))


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
        return noise_of(args).refuse("an index that is random", HINT)
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
