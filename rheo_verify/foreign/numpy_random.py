"""NumPy's generators, new and legacy: subclasses that call the real method for shape and errors, then answer.

A stand-in shares the real object's bit generator, so seeds, states and copies keep their meaning: the state is the
name of the next draw. The real method runs beside it, on a generator of its own, for the form of what it returns and
for its errors; neither depends on the state, so what it said of plain arguments is remembered. Methods that are not
answered here refuse.
"""

from __future__ import annotations

import copy
import copyreg
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from rheo_verify.foreign.forms import dtype_name, exact_row
from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.lazy_arrays import LazyArray, lazies
from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.patching import Patches
from rheo_verify.probability.rationals import ZERO, total

_Generator, _RandomState, _default_rng = np.random.Generator, np.random.RandomState, np.random.default_rng
_SCRATCH = {_Generator: _Generator(np.random.PCG64(0)), _RandomState: _RandomState(np.random.MT19937(0))}
_FORMS: dict[Any, Any] = {}
_TOKENS: dict[Any, Any] = {}
_MOST_FORMS, _MOST_ENTRIES = 4096, 256
_ONE_NUMBER = ("random", None, None)
_KEPT = {"bit_generator", "spawn", "seed", "get_state", "set_state"}
_NAMES = {
    *("random", "random_sample", "ranf", "sample", "rand", "uniform", "integers", "randint", "choice", "multinomial"),
    *("permutation", "shuffle", "exponential", "standard_exponential", "gumbel"),
}


class _Answers:
    """The answered methods, over the real methods of `_real` (Generator or RandomState)."""

    _real: Any
    _noise: Callable[[], Noise]
    _bits: Any

    def _draw(self, name: str, args: Any, kwargs: Any, make: Callable[[Noise, Any], Any], key: Any = None) -> Any:
        if kwargs.get("out") is not None:
            self._noise().refuse_call(f"{name}(out=…)", "use the array that is returned")
        state = _state(self._bits)
        real = real_form(self._real, name, args, kwargs)
        noise = self._noise()
        if isinstance(real, np.ndarray) and real.ndim == 0:
            noise.refuse_call(f"{name}(size=())", "leave size out for one number")
        shape = getattr(real, "shape", None)
        return noise.draw(state, (name, shape, key), lambda: make(noise, real))

    def random(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        if size is None and not args and not kwargs:
            noise = self._noise()
            return noise.draw(_state(self._bits), _ONE_NUMBER, lambda: Lazy(noise, noise.fresh(), python=True))
        return self._draw("random", (size, *args), kwargs, _uniforms)

    def random_sample(self, size: Any = None) -> Any:
        return self._draw("random_sample", (size,), {}, _uniforms)

    def rand(self, *shape: Any) -> Any:
        return self._draw("rand", shape, {}, _uniforms)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        unit = self._draw("uniform", (low, high, size), {}, _uniforms)
        span = np.subtract(high, low)
        return _scaled(unit, span, low)

    def standard_exponential(self, *args: Any, **kwargs: Any) -> Any:
        return self._draw("standard_exponential", args, kwargs, _exponentials)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return _scaled(self._draw("exponential", (scale, size), {}, _exponentials), scale, 0.0)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        noise = self._draw("gumbel", (loc, scale, size), {}, _gumbels)
        return _scaled(noise, scale, loc)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: Any = False
    ) -> Any:
        return self._integers("integers", (low, high, size, dtype, endpoint), low, high, endpoint)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        return self._integers("randint", (low, high, size, dtype), low, high, False)

    def _integers(self, name: str, args: Any, low: Any, high: Any, endpoint: bool) -> Any:
        if high is None:
            low, high = 0, low

        def make(noise: Noise, real: Any) -> Any:
            lows, highs = (np.broadcast_to(bound, np.shape(real)).ravel().tolist() for bound in (low, high))
            picks = [a + noise.chance.choose([1] * int(b - a + endpoint)) for a, b in zip(lows, highs, strict=True)]
            return _like(real, picks)

        return self._draw(name, args, {}, make, (str(low), str(high)))

    def choice(self, a: Any, size: Any = None, replace: Any = True, p: Any = None, *args: Any, **kwargs: Any) -> Any:
        if type(a) is int and size is None and replace is True and type(p) is np.ndarray and not args and not kwargs:
            return self._token(a, p)
        if not replace and (kwargs.get("shuffle", True) is False or (len(args) > 1 and not args[1])):
            self._noise().refuse_call("choice(shuffle=False)", "its order has no documented law; use shuffle=True")
        axis = kwargs.get("axis", args[0] if args else 0)
        plain = type(a) is int
        pool = None if plain else np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        given = None if p is None else np.asarray(p)
        values = None if given is None else given.ravel().tolist()

        def make(noise: Noise, real: Any) -> Any:
            options = a if pool is None else pool.shape[axis]
            weights: Any = [1] * options if values is None else exact_row(values)
            if given is not None:
                noise.dtypes.add(dtype_name(given.dtype))
            if size is None and plain:
                return type(real)(noise.chance.choose(weights))
            count = 1 if size is None else int(np.prod(size))
            picks = []
            for _ in range(count):
                picks.append(noise.chance.choose(weights))
                if not replace:
                    weights = [0 if index == picks[-1] else weight for index, weight in enumerate(weights)]
            things = np.arange(a) if pool is None else pool
            if size is None:
                if isinstance(real, (int, np.integer)) and np.ndim(a) == 0:
                    return type(real)(picks[0])
                return things[picks[0]] if axis == 0 else things.take(picks[0], axis)
            return things.take(np.array(picks, dtype=np.int64).reshape(size), axis)

        key = (None if values is None else tuple(values), bool(replace))
        return self._draw("choice", (a, size, replace, p, *args), kwargs, make, key)

    def _token(self, a: int, p: Any) -> Any:
        """``choice(a, p=p)`` once more: what depends on the arguments alone is remembered."""
        key = (self._real, a, p.dtype, p.shape, p.tobytes())
        plan = _TOKENS.get(key)
        if plan is None:
            kind = type(real_form(self._real, "choice", (a, None, True, p), {}))
            values = p.tolist()
            plan = (kind, exact_row(values), dtype_name(p.dtype), ("choice", None, (tuple(values), True)))
            if len(_TOKENS) >= _MOST_FORMS:
                _TOKENS.clear()
            if p.size <= _MOST_ENTRIES:
                _TOKENS[key] = plan
        kind, weights, dtype, call = plan
        noise = self._noise()
        noise.dtypes.add(dtype)
        return noise.draw(_state(self._bits), call, lambda: kind(noise.chance.choose(weights)))

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        if np.ndim(n) or np.ndim(pvals) != 1:
            self._noise().refuse_call("multinomial with several n or rows", "draw one row at a time")
        given = np.asarray(pvals)
        values = given.tolist()

        def make(noise: Noise, real: Any) -> Any:
            counts = np.zeros(real.shape, dtype=real.dtype)
            if not counts.size:
                return counts
            weights = list(exact_row(values))
            noise.dtypes.add(dtype_name(given.dtype))
            weights[-1] = max(ZERO, 1 - total(weights[:-1]))
            for row in counts.reshape(-1, len(weights)):
                for _ in range(int(n)):
                    row[noise.chance.choose(weights)] += 1
            return counts

        return self._draw("multinomial", (n, pvals, size), {}, make, (n, tuple(values)))

    def permutation(self, x: Any, axis: int = 0) -> Any:
        args = (x,) if isinstance(self, _RandomState) else (x, axis)
        order = self._draw("permutation", args, {}, lambda noise, real: _order(noise, real.shape[axis]))
        pool = np.arange(x) if np.ndim(x) == 0 else np.asarray(x)
        return pool.take(order, axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        if axis:
            self._noise().refuse_call("shuffle(axis=…)", "shuffle along the first axis")
        things = copy.copy(x)
        order = self._draw("shuffle", (copy.copy(x),), {}, lambda noise, _: _order(noise, len(things)))
        for place, source in enumerate(order):
            x[place] = things[source]

    ranf = sample = random_sample


def install(patches: Patches, current: Callable[[], Noise]) -> Callable[[Any], Any]:
    """Answer `numpy.random`; returns the function that gives a stand-in for a captured generator (else None)."""
    generator = _answered(_Generator, current)
    legacy = _answered(_RandomState, current)
    hidden = np.random.mtrand._rand
    module = legacy(hidden._bit_generator)

    def default_rng(seed: Any = None) -> Any:
        return seed if isinstance(seed, _Answers) else generator(_default_rng(seed).bit_generator)

    def stand_in(value: Any) -> Any:
        if isinstance(value, _Answers):
            return None
        if isinstance(value, _Generator):
            return generator(value.bit_generator)
        if isinstance(value, _RandomState):
            return legacy(value._bit_generator)
        return None

    for answered in (generator, legacy):  # deepcopy makes real ones of both
        made = functools.partial(_copied, answered)
        for kind in (answered, answered._real):
            patches.entry(copyreg.dispatch_table, kind, made)
    patches.attribute(np.random, "default_rng", default_rng)
    patches.attribute(np.random, "Generator", generator)
    patches.attribute(np.random, "RandomState", legacy)
    for name in _public(_RandomState) - _KEPT | {"ranf", "sample"}:
        if hasattr(np.random, name):
            patches.attribute(np.random, name, getattr(module, name))
    return stand_in


def _copied(answered: Any, value: Any) -> Any:
    """How `copy` makes another of a generator: over the bits, which a deep copy copies."""
    return answered, (value._bits if isinstance(value, _Answers) else value._bit_generator,)


def real_form(real: Any, name: str, args: Any, kwargs: Any) -> Any:
    """What the real method returns, or raises, for these arguments: its type, shape and dtype count, never its value.

    Remembered where the arguments are plain: numbers, sizes, small arrays of numbers.
    """
    try:
        key = (real, name, *map(_plain_key, args), *((word, _plain_key(value)) for word, value in kwargs.items()))
    except _NotPlain:
        return getattr(_SCRATCH[real], name)(*args, **kwargs)
    found = _FORMS.get(key, _FORMS)
    if found is _FORMS:
        found = getattr(_SCRATCH[real], name)(*args, **kwargs)
        if len(_FORMS) >= _MOST_FORMS:
            _FORMS.clear()
        if getattr(found, "size", 1) <= _MOST_ENTRIES:
            _FORMS[key] = found
    return found


class _NotPlain(Exception):
    """An argument that is not remembered."""


def _plain_key(value: Any) -> Any:
    """An argument as a key that tells apart whatever a real method may: 1, 1.0 and True; 0.0 and -0.0; dtypes."""
    kind = type(value)
    if value is None or kind is int or kind is bool or kind is str or kind is type:
        return (kind, value)
    if kind is float or kind is np.float64:
        return (kind, float.hex(value))
    if kind is np.ndarray and value.size <= _MOST_ENTRIES and value.dtype.kind in "fiub":
        return (value.dtype, value.shape, value.tobytes())
    if kind in (tuple, list) and len(value) <= _MOST_ENTRIES:
        return (kind, *map(_plain_key, value))
    raise _NotPlain


def _public(owner: type) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def _answered(real: Any, current: Callable[[], Noise]) -> Any:
    """A subclass of a real generator class in which every method is answered or refuses."""

    def create(self: Any, bits: Any = None) -> None:
        bits = np.random.MT19937(bits) if real is _RandomState and not hasattr(bits, "random_raw") else bits
        real.__init__(self, bits)
        self._bits = bits

    def refusing(name: str) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return current().refuse_call(f"numpy {name}", "use random, choice, multinomial, exponential or gumbel")

        return method

    members: dict[str, Any] = {"_noise": staticmethod(current), "_real": real, "__init__": create}
    members |= {name: refusing(name) for name in _public(real) - _KEPT - _NAMES}
    members |= {name: refusing(name) for name in _NAMES - _public(real)}
    if real is _RandomState:
        members["seed"] = lambda self, seed=None: self._bits._legacy_seeding(seed)
        members["__new__"] = lambda cls, *args: real.__new__(cls)
    return type("Answered" + real.__name__, (_Answers, real), members)


def _state(bits: Any) -> Any:
    """A fingerprint of a bit generator's state: its next 64 bits or more. It moves on, so no two draws share one."""
    raw = bits.random_raw
    return (raw(), raw())


def _uniforms(noise: Noise, real: Any) -> Any:
    if not isinstance(real, np.ndarray):
        return Lazy(noise, noise.fresh(), python=True)
    noise.dtypes.add(dtype_name(real.dtype))
    return lazies([Lazy(noise, noise.fresh()) for _ in range(real.size)], real.shape)


def _exponentials(noise: Noise, real: Any) -> Any:
    unit = _uniforms(noise, real)
    return -unit.log() if isinstance(unit, Lazy) else -np.log(unit)


def _gumbels(noise: Noise, real: Any) -> Any:
    unit = _exponentials(noise, real)
    return -unit.log() if isinstance(unit, Lazy) else -np.log(unit)


def _scaled(unit: Any, scale: Any, shift: Any) -> Any:
    """``unit * scale + shift``; an array of no dimensions stays one."""
    result = unit * np.asarray(scale)[()] + np.asarray(shift)[()]
    if isinstance(unit, LazyArray) and not isinstance(result, np.ndarray):
        return lazies([result], unit.shape)
    return result


def _like(real: Any, picks: list[int]) -> Any:
    if not isinstance(real, np.ndarray):
        return type(real)(picks[0])
    return np.array(picks, dtype=real.dtype).reshape(real.shape)


def _order(noise: Noise, size: int) -> list[int]:
    left = list(range(size))
    return [left.pop(noise.chance.choose([1] * len(left))) for _ in range(size)]


__all__ = ["LazyArray", "install"]
