"""Rebuild the state of the code under test for each path, so that no path sees what another left behind.

A class is instantiated for each path, an object is copied for each path, and a function's module-level data, closure
and attributes are put back to what they were. What one *run* keeps between its own cycles is left alone.
"""

from __future__ import annotations

import builtins
import copy
import functools
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SHARED = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    type,
    int,
    float,
    str,
    bytes,
    bool,
    type(None),
)


class Rebuilder:
    """`fresh()` gives the callable for the next path."""

    def __init__(self, code: Any) -> None:
        self.code = code
        holder = getattr(code, "__self__", None)
        plain = isinstance(code, (types.FunctionType, type)) or holder is not None or not callable(code)
        self.instance = None if plain else code
        if holder is not None and not isinstance(holder, (types.ModuleType, type)):
            self.instance = holder
        self.saved = [(names, before, _copies(before)) for names, before in _used_names(code)]
        self.own = (code.__dict__, dict(code.__dict__)) if isinstance(code, types.FunctionType) else ({}, {})
        defaults = getattr(code, "__defaults__", None) or ()
        self.defaults = tuple(map(_copied, defaults)) if any(map(_mutable, defaults)) else None
        bound = [value for _, before, _ in self.saved for value in before.values()]
        self.caches = [value for value in (code, *bound) if isinstance(value, functools._lru_cache_wrapper)]
        self.cells = [(cell, copied) for cell in getattr(code, "__closure__", None) or () if (copied := _cell(cell))]

    def put_back(self) -> None:
        """Module-level data, closures, attributes, defaults and caches as they were at first."""
        for names, before, copies in self.saved:
            for name, value in before.items():
                if value is _ABSENT:
                    names.pop(name, None)
                elif name in copies:
                    names[name] = _copied(copies[name])
                elif names.get(name, _ABSENT) is not value:
                    names[name] = value
        for cell, value in self.cells:
            cell.cell_contents = _copied(value[0])
        for cache in self.caches:
            cache.cache_clear()
        if self.defaults is not None:
            self.code.__defaults__ = tuple(map(_copied, self.defaults))
        if len(self.own[0]) > len(self.own[1]):
            for name in self.own[0].keys() - self.own[1].keys():
                del self.own[0][name]

    def fresh(self) -> Callable[..., Any]:
        """Put everything back, and build or copy the object under test."""
        self.put_back()
        if isinstance(self.code, type):
            built: Callable[..., Any] = self.code()
            return built
        if self.instance is None:
            return self.code  # type: ignore[no-any-return]
        twin = _copied(self.instance)
        chosen: Callable[..., Any] = twin if self.instance is self.code else getattr(twin, self.code.__name__)
        return chosen


@contextmanager
def rebuilding(code: Any) -> Iterator[Rebuilder]:
    """A `Rebuilder`; in the end everything is as it was, so that a check leaves no trace in the caller's modules."""
    built = Rebuilder(code)
    try:
        yield built
    finally:
        built.put_back()


class Standing(Rebuilder):
    """The object under test as its calls leave it: one call follows the other, as in use."""

    def __init__(self, built: Rebuilder) -> None:
        self.code, self._built = built.code, built
        self._one: Callable[..., Any] | None = None

    def fresh(self) -> Callable[..., Any]:
        """The same object each time, built at the first call: building may draw."""
        if self._one is None:
            self._one = self._built.fresh()
        return self._one

    def restart(self) -> None:
        """Forget the object: the next call is a first one again."""
        self._one = None


_ABSENT: Any = object()


def _used_names(code: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The namespaces a function writes to, each with the values of the names it (and its module's helpers) use."""
    if not isinstance(code, types.FunctionType):
        return []
    found = [(code.__dict__, dict(code.__dict__))]
    if not _library(code.__module__):
        used: set[str] = set()
        _collect(code, used, set())
        names = code.__globals__
        found.append((names, {name: names.get(name, _ABSENT) for name in used if not name.startswith("__")}))
    return found


def _collect(function: types.FunctionType, used: set[str], seen: set[int]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        for name in code.co_names:
            value = function.__globals__.get(name, _ABSENT)
            if value is _ABSENT and hasattr(builtins, name):
                continue
            used.add(name)
            if isinstance(value, types.FunctionType) and value.__globals__ is function.__globals__:
                _collect(value, used, seen)


def _library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in {"torch", "numpy", "transformers", "builtins", "random"}


def _mutable(value: Any) -> bool:
    if isinstance(value, _SHARED) or callable(value):
        return False
    if type(value).__module__ in ("numpy.random._generator", "numpy.random.mtrand", "torch._C", "random"):
        return False
    torch = sys.modules.get("torch")
    return (
        isinstance(value, (list, dict, set))
        or type(value).__name__ == "ndarray"
        or (torch is not None and isinstance(value, torch.Tensor))
    )


def _copies(names: dict[str, Any]) -> dict[str, Any]:
    return {name: _copied(value) for name, value in names.items() if _mutable(value)}


def _cell(cell: types.CellType) -> tuple[Any] | None:
    try:
        return (_copied(cell.cell_contents),) if _mutable(cell.cell_contents) else None
    except ValueError:
        return None


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied is shared
        return value
