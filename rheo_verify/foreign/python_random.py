"""Python's `random`: three primitives are answered, and the standard library computes everything else from them.

`Random.random` gives a lazy uniform, `Random._randbelow` and `getrandbits` a choice among equals. So `uniform`,
`randint`, `choices`, `shuffle`, … run as they are written, with their own arguments and errors. A generator's state is
the name of its next draw: after ``seed(7)`` the same draws come again, as they would.
"""

from __future__ import annotations

import functools
import math
import os
import random
import tempfile
from collections.abc import Callable
from typing import Any

from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.patching import Patches

_real_bits = random.Random.getrandbits
_LARGEST_CHOICE = 1 << 16


def _name(self: Any) -> str:
    """A name for a temporary file or a lock: no part of any law, though a generator of its own draws it."""
    return "".join(self.characters[byte % len(self.characters)] for byte in os.urandom(8))


def install(patches: Patches, current: Callable[[], Noise]) -> None:
    """Answer `random` from `current()`, the noise of the run under way, until the patches are undone."""

    def uniform(self: Any) -> Lazy:
        noise = current()
        if isinstance(self, random.SystemRandom):
            return Lazy(noise, noise.fresh(), python=True)
        variable: int = noise.draw(_step(self), "random", noise.fresh)
        return Lazy(noise, variable, python=True)

    def below(self: Any, n: int) -> int:
        noise = current()
        if n <= 0:
            return 0
        if n > _LARGEST_CHOICE:
            noise.refuse_call(f"a choice among {n} equals", f"draw from at most {_LARGEST_CHOICE}")
        make = functools.partial(noise.chance.choose, [1] * n)
        return make() if isinstance(self, random.SystemRandom) else noise.draw(_step(self), ("below", n), make)

    def bits(self: Any, k: int) -> int:
        _real_bits(_SCRATCH, k)  # its own errors
        return below(self, 1 << k)

    owner = random.Random
    for name, function in (("random", uniform), ("getrandbits", bits), ("_randbelow", below)):
        patches.attribute(owner, name, function, captured=False)
        patches.attribute(random.SystemRandom, name, function, captured=False)
    patches.attribute(vars(tempfile)["_RandomNameSequence"], "__next__", _name, captured=False)
    hidden = random._inst
    for name, function in (("random", uniform), ("getrandbits", bits)):
        patches.attribute(random, name, functools.update_wrapper(functools.partial(function, hidden), function))
    for name in ("log", "exp", "log2", "log1p"):
        real = getattr(math, name)
        aware = functools.update_wrapper(functools.partial(_aware, name, real), real)
        patches.attribute(math, name, aware)
        if getattr(random, "_" + name, None) is real:
            patches.attribute(random, "_" + name, aware)


_SCRATCH = random.Random(0)


def _step(generator: random.Random) -> Any:
    """A fingerprint of a generator's state: its next 128 bits. It moves on, so no two draws share one."""
    return ("random", _real_bits(generator, 128))


def _aware(name: str, real: Callable[..., float], value: Any, *rest: Any) -> Any:
    if not isinstance(value, Lazy):
        return real(value, *rest)
    answer = getattr(value, name)()
    return answer / math.log(rest[0]) if rest else answer
