"""Can the code under test be called the way it will be? Asked before anything runs, of its signature alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rheo_verify.errors import InputError

CALLS = {
    "verifier": ("target", "draft", "tokens"),
    "sampler": ("logits",),
    "decoder": ("target", "draft", "prompt", "n"),
    "coins": ("target", "draft", "tokens", "uniforms"),
}
"""What each way in hands over, in order."""


def accepted(code: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Those options that the signature of `code` takes; none where it has no signature."""
    signature = _signature(code)
    parameters: Mapping[str, inspect.Parameter] = {} if signature is None else signature.parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return options
    return {name: value for name, value in options.items() if name in parameters}


def check_call(code: Callable[..., Any], way: str, options: Mapping[str, Any] | None = None) -> None:
    """Raises `InputError` RV131 unless `code` takes the call of this way in; a class is built without arguments."""
    called = f"a {way} is called as f({', '.join([*CALLS[way], *(f'{name}=…' for name in options or ())])})"
    name = getattr(code, "__qualname__", type(code).__qualname__)
    if isinstance(code, type):
        built = _of(code)
        if built is not None and _misfit(built, (), {}):
            raise InputError("RV131", f"a class is built without arguments, but {name}{built} needs some")
        if not any("__call__" in vars(each) for each in code.__mro__):
            raise InputError("RV131", f"{called}, and objects of class {name} cannot be called")
    if _is_async(code):
        raise InputError("RV131", f"{called}, but {name} is async: wrap it in a function that runs it (asyncio.run)")
    signature = _signature(code)
    why = None if signature is None else _misfit(signature, CALLS[way], options or {})
    outer = _signature(code, through=False)  # of a wrapper (functools.wraps): what is really called
    if why and (outer is None or _misfit(outer, CALLS[way], options or {})):
        raise InputError("RV131", f"{called}, but {name}{signature} does not take that: {why}")


def _is_async(code: Any) -> bool:
    """Whether a call gives a coroutine, or what yields asynchronously, and nothing runs."""
    return any(inspect.iscoroutinefunction(it) or inspect.isasyncgenfunction(it) for it in (code, code.__call__))


def _signature(code: Any, through: bool = True) -> inspect.Signature | None:
    """Without ``self``: of a class that of its objects' ``__call__``, of a torch module that of its ``forward``.

    through: of what a wrapper wraps, where it says so.
    """
    forward = getattr(code, "forward", None)
    if not isinstance(code, type):
        unbound = isinstance(inspect.getattr_static(type(code), "__call__", None), (staticmethod, classmethod))
        found = _of(code.__call__ if unbound else code, through)
        return _of(forward, through) if forward is not None and _takes_anything(found) else found
    found = _of_objects(code, "__call__", through)
    return _of_objects(code, "forward", through) if forward is not None and _takes_anything(found) else found


def _of(code: Any, through: bool = True) -> inspect.Signature | None:
    try:
        return inspect.signature(code, follow_wrapped=through)
    except (ValueError, TypeError):
        return None


def _of_objects(built: type, name: str, through: bool) -> inspect.Signature | None:
    """Of a method of the objects of a class: without ``self``, which static and class methods do not have."""
    found = _of(getattr(built, name), through)
    if found is None or isinstance(inspect.getattr_static(built, name), (staticmethod, classmethod)):
        return found
    parameters = list(found.parameters.values())
    positional = parameters and parameters[0].kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return found.replace(parameters=parameters[1:] if positional else parameters)


def _takes_anything(signature: inspect.Signature | None) -> bool:
    kinds = {} if signature is None else {p.kind for p in signature.parameters.values()}
    return kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def _misfit(signature: inspect.Signature, given: tuple[Any, ...], options: Mapping[str, Any]) -> str | None:
    try:
        signature.bind(*given, **options)
    except TypeError as error:
        return str(error)
    return None
