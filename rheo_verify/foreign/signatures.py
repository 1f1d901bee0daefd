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
    signature = _signature(code)
    why = None if signature is None else _misfit(signature, CALLS[way], options or {})
    if why:
        raise InputError("RV131", f"{called}, but {name}{signature} does not take that: {why}")


def not_taken(way: str, error: TypeError) -> InputError:
    """What is raised where the call itself fails, of code that has no signature."""
    said = str(error).partition("\n")[0]
    return InputError(
        "RV131", f"a {way} is called as f({', '.join(CALLS[way])}), and the code does not take that: {said}"
    )


def _signature(code: Any) -> inspect.Signature | None:
    """Without ``self``: of a class that of its objects' ``__call__``, of a torch module that of its ``forward``."""
    forward = getattr(code, "forward", None)
    if not isinstance(code, type):
        found = _of(code)
        return _of(forward) if forward is not None and _takes_anything(found) else found
    found = _of(code.__call__, unbound=True)
    return _of(forward, unbound=True) if forward is not None and _takes_anything(found) else found


def _of(code: Any, unbound: bool = False) -> inspect.Signature | None:
    try:
        found = inspect.signature(code)
    except (ValueError, TypeError):
        return None
    if not unbound:
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
