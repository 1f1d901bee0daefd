"""torch's random functions under a `TorchFunctionMode`: the real one runs (shape, dtype, errors), then the answer.

The state of the generator before the draw is the draw's name: after ``manual_seed(7)`` the same noise comes again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

from rheo_verify.foreign import torch_memory, torch_moves, torch_orders, torch_tensors
from rheo_verify.foreign.forms import exact_float, exact_row
from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.lazy_arrays import LazyArray, lazies
from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.torch_forms import MOST_ENTRIES, next_state, plain_key, real_form
from rheo_verify.probability.rationals import Rational

_Base = torch._C.TensorBase
_LazyTensor = torch_memory.LazyTensor
assert torch_orders.REGISTERED  # importing it registers its handlers


def mode(current: Callable[[], Noise]) -> TorchFunctionMode:
    """What to enter while code runs whose torch calls are answered from `current()`."""
    return _Mode(current)


class _Mode(TorchFunctionMode):
    def __init__(self, current: Callable[[], Noise]) -> None:
        super().__init__()
        self.current = current

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        handler, noise = _ANSWERS.get(func), self.current()
        if noise.shared:
            return torch_tensors.shared_call(noise, func, args, kwargs or {}, handler)
        if handler is not None:
            return handler(noise, func, args, kwargs or {})
        if types and _LazyTensor in types:
            return torch_tensors.answer(func, args, kwargs or {})
        return func(*args, **kwargs) if kwargs else func(*args)


def _key(kwargs: Any) -> Any:
    return next_state(kwargs.get("generator"))


def _fresh_lazies(noise: Noise, count: int) -> list[Lazy]:
    return [Lazy(noise, noise.fresh()) for _ in range(count)]


def _uniform(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    """rand, rand_like."""
    if kwargs.get("out") is not None:
        noise.refuse_call("rand(out=…)", "use the tensor that is returned")
    key = _key(kwargs)
    form = plain_key(args, kwargs)
    real = real_form(func, _plain(args) if form is None else args, kwargs, form, math.nan)
    if not real.is_floating_point() and not real.numel():
        return real
    _float_only(noise, real, "rand")
    shape = real.shape
    elements = noise.draw(key, ("rand", shape), lambda: _fresh_lazies(noise, math.prod(shape)))
    return torch_memory.become_lazy(noise, real, elements, blank=True)


def _uniform_(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    """Tensor.uniform_(low, high)."""
    names = ("from", "to")
    low, high = (_argument(args, kwargs, index + 1, name, float(index)) for index, name in enumerate(names))
    return _in_place(noise, func, args, kwargs, lambda u: u * (exact_float(high) - exact_float(low)) + low)


def _exponential_(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    rate = _argument(args, kwargs, 1, "lambd", 1.0)
    return _in_place(noise, func, args, kwargs, lambda u: -u.log() / rate)


def _in_place(noise: Noise, func: Any, args: Any, kwargs: Any, form: Callable[[Lazy], Lazy]) -> Any:
    tensor = torch_memory.as_plain(args[0])
    key = _key(kwargs)
    func(tensor, *args[1:], **kwargs)
    if not tensor.is_floating_point() and not tensor.numel():
        return args[0]
    _float_only(noise, tensor, func.__name__)
    call = (func.__name__, tuple(tensor.shape), args[1:])
    elements = noise.draw(key, call, lambda: [form(u) for u in _fresh_lazies(noise, tensor.numel())])
    return torch_memory.write(noise, args[0], lazies(elements, tensor.shape))


def _multinomial(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    weights = args[0] if args else kwargs["input"]
    if isinstance(weights, torch_memory.LazyTensor):
        noise.refuse("multinomial with random weights", "weights must be numbers")
    key = _key(kwargs)
    count = _argument(args, kwargs, 1, "num_samples", 1)
    replacement = _argument(args, kwargs, 2, "replacement", False)
    shape = weights.shape
    values, known = (), None
    if len(shape) == 1 and type(count) is int and type(replacement) is bool and shape[0] <= MOST_ENTRIES:
        values = tuple(weights.tolist())
        known = (weights.dtype, weights.device, weights.requires_grad, count, replacement, values)
    real = real_form(func, args, kwargs, known)
    if known is None and len(shape) == 2:
        rows = [row(weights[i]) for i in range(len(weights))]
    else:
        rows = [row(weights) if known is None else exact_row(values)]
    noise.dtypes.add(torch_moves.DTYPE_NAMES[weights.dtype])
    if count == 1 or not replacement:
        shape = (tuple(shape), "race")
        variables = noise.draw(key, ("multinomial", *shape), lambda: [[noise.fresh() for _ in r] for r in rows])
        picks = [_ordered(noise, v, r, count) for v, r in zip(variables, rows, strict=True)]
    else:
        call = ("multinomial", str(rows), count)
        picks = noise.draw(key, call, lambda: [[noise.chance.choose(r) for _ in range(count)] for r in rows])
    if real.numel() == 1:
        return real.fill_(picks[0][0])
    return real.copy_(torch.tensor(picks, dtype=real.dtype).reshape(real.shape))


def _ordered(noise: Noise, variables: list[int], rates: Sequence[Rational], count: int) -> list[int]:
    """A race's first `count` arrivals, in order: a draw without replacement."""
    if count == 1:
        return [noise.arrive(variables, rates)]
    if sum(rate > 0 for rate in rates) < count:
        noise.refuse_call("multinomial of more tokens than have weight", "torch fills up with tokens of weight zero")
    left = list(range(len(rates)))
    return [left.pop(noise.arrive([variables[i] for i in left], [rates[i] for i in left])) for _ in range(count)]


def row(weights: torch.Tensor) -> Sequence[Rational]:
    """One row of weights as exact rationals."""
    return exact_row(weights.tolist())


def _randint(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    key = _key(kwargs)
    real = func(*args, **kwargs)
    if func is torch.randint_like:
        bounds = [*args[1:3], *(kwargs[name] for name in ("low", "high") if name in kwargs)]
    else:
        bounds = [a for a in args[:2] if not isinstance(a, (tuple, list, torch.Size))]
        bounds += [kwargs[name] for name in ("low", "high") if name in kwargs]
    low, high = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    return _whole(noise, key, real, ("randint", low, high), lambda: low + noise.chance.choose([1] * (high - low)))


def _whole(noise: Noise, key: Any, real: Any, call: Any, one: Callable[[], Any]) -> Any:
    if not real.numel():
        return real
    picks = noise.draw(key, (*call, tuple(real.shape)), lambda: [one() for _ in range(real.numel())])
    return real.copy_(torch.tensor(picks, dtype=real.dtype).reshape(real.shape))


def _randperm(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    key = _key(kwargs)
    real = func(*args, **kwargs)
    left = list(range(real.numel()))
    return _whole(noise, key, real, ("randperm",), lambda: left.pop(noise.chance.choose([1] * len(left))))


def _bernoulli(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    """bernoulli(tensor) and Tensor.bernoulli_(p or tensor): an independent coin for each entry."""
    key = _key(kwargs)
    target = torch_memory.as_plain(args[0] if args else kwargs["input"])
    p = _argument(args, kwargs, 1, "p", None)
    chances = target if p is None else p
    if func is _Base.bernoulli_ and p is None:
        chances = 0.5
    chances = torch.as_tensor(chances).detach().clone()
    real = func(*args, **kwargs)
    noise.dtypes.add(torch_moves.DTYPE_NAMES[chances.dtype])
    odds = [exact_float(x) for x in chances.expand(real.shape).flatten().tolist()]
    pairs = iter(odds)

    def one() -> int:
        yes = next(pairs)
        return int(noise.chance.flip(yes, 1 - yes))

    return _whole(noise, key, real, ("bernoulli", str(odds)), one)


def _gumbel_softmax(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    if not _argument(args, kwargs, 2, "hard", False):
        noise.refuse_call("gumbel_softmax(hard=False)", "its relaxed sample has no finite law; use hard=True")
    logits = args[0] if args else kwargs["logits"]
    key = _key({})
    real = func(*args, **kwargs).detach()
    if not real.numel():
        return real
    if not _argument(args, kwargs, 1, "tau", 1) > 0:
        noise.refuse_call("gumbel_softmax of a temperature that is not positive", "use tau > 0")
    dim = _argument(args, kwargs, 4, "dim", -1)
    moved = logits.detach().movedim(dim, -1)
    noise.dtypes.add(torch_moves.DTYPE_NAMES[logits.dtype])
    rows = [row(torch.softmax(r.double(), -1)) for r in moved.reshape(-1, moved.shape[-1])]
    variables = noise.draw(
        key, ("gumbel_softmax", tuple(real.shape)), lambda: [[noise.fresh() for _ in r] for r in rows]
    )
    picks = [noise.arrive(v, r) for v, r in zip(variables, rows, strict=True)]
    hot = F.one_hot(torch.tensor(picks), moved.shape[-1]).reshape(moved.shape).movedim(-1, dim)
    return real.copy_(hot)


def _dropout(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    if _argument(args, kwargs, 2, "training", True) and _argument(args, kwargs, 1, "p", 0.5):
        noise.refuse_call("dropout while training", "put the model into eval mode")
    return func(*args, **kwargs)


def _refused(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    name = getattr(func, "__name__", str(func))
    return noise.refuse_call(f"torch {name}", "use uniform, exponential, multinomial or bernoulli draws")


def _tensor(noise: Noise, func: Any, args: Any, kwargs: Any) -> Any:
    """torch.tensor and as_tensor: numbers that are random make a random tensor."""
    data = args[0] if args else kwargs.get("data")
    if isinstance(data, torch_memory.LazyTensor):
        return torch_tensors.answer(func, args, kwargs)
    if any(isinstance(x, Lazy) for x in torch_moves.flatten(data)):
        return torch_moves.from_numbers(noise, data, kwargs.get("dtype"))
    if isinstance(data, LazyArray):
        return torch_moves.from_numbers(noise, data.tolist(), kwargs.get("dtype"))
    return func(*args, **kwargs)


def _argument(args: Any, kwargs: Any, index: int, name: str, default: Any) -> Any:
    return args[index] if len(args) > index else kwargs.get(name, default)


def _plain(args: Any) -> Any:
    return tuple(torch_memory.as_plain(a) if isinstance(a, torch.Tensor) else a for a in args)


def _float_only(noise: Noise, tensor: torch.Tensor, name: str) -> None:
    if tensor.is_complex():
        noise.refuse_call(f"{name} of a complex dtype", "use a real one")
    noise.dtypes.add(torch_moves.DTYPE_NAMES[tensor.dtype])


_ANSWERS: dict[Any, Callable[[Noise, Any, Any, Any], Any]] = {
    torch.tensor: _tensor,
    torch.as_tensor: _tensor,
    torch.from_numpy: _tensor,
    torch.rand: _uniform,
    torch.rand_like: _uniform,
    _Base.uniform_: _uniform_,
    _Base.exponential_: _exponential_,
    torch.multinomial: _multinomial,
    _Base.multinomial: _multinomial,
    torch.randint: _randint,
    torch.randint_like: _randint,
    torch.randperm: _randperm,
    torch.bernoulli: _bernoulli,
    _Base.bernoulli: _bernoulli,
    _Base.bernoulli_: _bernoulli,
    F.gumbel_softmax: _gumbel_softmax,
    torch.dropout: _dropout,
    F.dropout: _dropout,
}
for _name in ["normal_", "random_", "geometric_", "cauchy_", "log_normal_"]:
    _ANSWERS[getattr(_Base, _name)] = _refused
for _name in ("randn", "randn_like", "normal", "poisson", "binomial", "dropout_", "alpha_dropout", "rrelu"):
    _ANSWERS[getattr(torch, _name)] = _refused
