"""Compiled torch code runs as it is written while its random calls are answered: nobody could see into it otherwise.

`torch.compile` has a switch for that. A function under `torch.jit.script` keeps its Python source; other `torch.jit`
code runs as it is, and is refused where it draws or meets a random number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.patching import Patches
from rheo_verify.foreign.torch_memory import adopt_shared

_HINT = "it cannot be seen into; run with the environment variable PYTORCH_JIT=0"


def install(patches: Patches, current: Callable[[], Noise]) -> None:
    """Run compiled code eagerly until the patches are undone."""
    if "torch._dynamo" in sys.modules:
        stance = torch.compiler.set_stance("force_eager")
        patches.afterwards(lambda: stance.__exit__(None, None, None))
    patches.attribute(torch, "compile", _uncompiled)
    for kind in (torch._C.ScriptFunction, torch._C.ScriptMethod):
        patches.attribute(kind, "__call__", _seen_into(vars(kind)["__call__"], current), captured=False)


def _uncompiled(model: Any = None, **options: Any) -> Any:
    return (lambda each: each) if model is None else model


def _seen_into(real: Callable[..., Any], current: Callable[[], Noise]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        source = getattr(self, "_torchdynamo_inline", None)
        if source is not None:
            return source(*args, **kwargs)
        noise = current()
        if adopt_shared(noise, (*args, *kwargs.values())):
            noise.refuse("torch.jit code", _HINT)
        before = torch.default_generator.get_state()
        result = real(self, *args, **kwargs)
        if not torch.equal(before, torch.default_generator.get_state()):
            noise.refuse_call("a draw in torch.jit code", _HINT)
        return result

    return call
