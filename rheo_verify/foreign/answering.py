"""Run a callable while its random calls are answered by a `Chance`: its exact law, unchanged code and all.

Only libraries that are already imported, or that the caller names, are patched: a pure Python verifier never pays for
torch. Everything is put back when the block ends.
"""

from __future__ import annotations

import functools
import gc
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rheo_verify.foreign import python_random
from rheo_verify.foreign.interrupts import stop_if_pressed, watching
from rheo_verify.foreign.noise import Noise, Over
from rheo_verify.foreign.patching import Patches
from rheo_verify.foreign.refusal import Refused
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.enumeration import Path, enumerate_paths

Result = TypeVar("Result")
_OVER = Over()


class Answering:
    """Random calls are answered while this is open. `run(chance, call)` makes one run."""

    def __init__(self) -> None:
        self._noise: Noise | None = None
        self.mode: Any = None
        self.dtypes: set[str] = set()
        self.warnings: dict[str, str] = {}
        self._alive: list[Noise] = []
        self.joined = False
        """The next run follows the last one: what that drew may be used in it."""
        self.names: set[Any] | None = None
        """The names of the last run's draws; None: nobody asks."""

    def current(self) -> Noise:
        """The noise of the run under way."""
        if self._noise is None:
            raise Refused("RV403", "a random function was called between two runs")
        return self._noise

    def run(self, chance: Chance, call: Callable[[], Result]) -> Result:
        """One run of `call`, with random variables of its own. Raises `Refused` even where the code caught it."""
        outer, self._noise = self._noise, Noise(chance)
        noise = self._noise
        if self.joined and self._alive:
            noise.shared = self._alive[-1].shared
        if not self.joined and outer is None:
            for ended in self._alive:
                ended.chance = _OVER
            self._alive.clear()
        self._alive.append(noise)
        try:
            if self.mode is None:
                result = call()
            else:
                with self.mode:
                    result = call()
        except BaseException:
            if noise.failure is not None:
                raise noise.failure from None
            raise
        finally:
            self._noise = outer
            if self.names is not None:
                self.names = set(noise.draws)
            noise.draws.clear()  # they name the noise in turn: without them it is freed at once
            self.dtypes |= noise.dtypes
            self.warnings.update(noise.warnings)
        stop_if_pressed()
        if noise.failure is not None:
            raise noise.failure
        return result


@contextmanager
def answering(function: Any = None) -> Iterator[Answering]:
    """Open the door: `function` is the code under test, in and around which captured names are replaced too."""
    patches, open_door = Patches(), Answering()
    before = _outside_state()
    stand_in: Callable[[Any], Any] = lambda value: None  # noqa: E731
    frozen = not gc.get_freeze_count()
    if frozen:
        gc.freeze()  # thousands of short runs: do not walk the caller's heap again and again
    try:
        python_random.install(patches, open_door.current)
        patches.attribute(os, "_exit", functools.partial(_exit, os.getpid(), os._exit))
        if "numpy" in sys.modules:
            from rheo_verify.foreign import numpy_random

            stand_in = numpy_random.install(patches, open_door.current)
        if "torch" in sys.modules:
            from rheo_verify.foreign import torch_eager, torch_random

            torch_eager.install(patches, open_door.current)
            open_door.mode = torch_random.mode(open_door.current)
        if function is not None:
            patches.captured_in(function, stand_in)
        with watching():
            yield open_door
    finally:
        patches.undo()
        if frozen:
            gc.unfreeze()
        _restore(before)


def _exit(process: int, real: Callable[[int], Any], status: int) -> None:
    """`os._exit` of code under test raises like `sys.exit`: the answer must not be lost. Child processes end."""
    if os.getpid() != process:
        real(status)
    raise SystemExit(status)


def enumerate_call(call: Callable[[], Result]) -> list[Path[Result]]:
    """Every path of `call()`; its random calls are answered. The exact law of unchanged code.

    >>> import random
    >>> [(path.result, str(path.probability)) for path in enumerate_call(lambda: random.random() < 0.25)]
    [(True, '1/4'), (False, '3/4')]
    """
    with answering(call) as door:
        return list(enumerate_paths(lambda chance: door.run(chance, call)))


def _outside_state() -> Any:
    numpy = sys.modules.get("numpy")
    torch = sys.modules.get("torch")
    return (
        random.getstate(),
        numpy.random.get_state() if numpy else None,
        torch.get_rng_state() if torch else None,
    )


def _restore(state: Any) -> None:
    """Put the global generators back where they were: a check leaves no trace in the caller's randomness."""
    random.setstate(state[0])
    if state[1] is not None:
        sys.modules["numpy"].random.set_state(state[1])
    if state[2] is not None:
        sys.modules["torch"].set_rng_state(state[2])
