"""Rebuild the state of the code under test for each path, so that no path sees what another left behind.

A class is instantiated for each path, an object is copied for each path, and what the code's own functions use is put
back: module-level data (of helper modules, too), attributes of plain objects and classes, closures, defaults, caches.
What one *run* keeps between its own cycles is left alone. After a check the caller's own objects are there again.
"""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import os
import site
import sys
import sysconfig
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
        places = used_names(code)
        values = [code, self.instance, *(value for names in places for value in names.before.values())]
        self.places = [*places, *_objects(values)]
        caches = [*values, *(value for names in self.places for value in names.before.values())]
        self.caches = [value for value in caches if isinstance(value, functools._lru_cache_wrapper)]
        defaults, named = getattr(code, "__defaults__", None) or (), getattr(code, "__kwdefaults__", None)
        self.defaults = (defaults, tuple(map(_copied, defaults))) if any(map(_mutable, defaults)) else None
        if isinstance(named, dict):
            self.places.append(_Names(named, named))
        self.cells = [(cell, *held) for cell in getattr(code, "__closure__", None) or () if (held := _held(cell))]

    def put_back(self, *, originals: bool = False) -> None:
        """Module-level data, attributes of objects and classes, closures, defaults and caches as they were at first.

        originals: the very objects that were there; else copies, so that these are never written to.
        """
        for place in self.places:
            place.put_back(originals)
        for cell, value, copied in self.cells:
            cell.cell_contents = value if originals or copied is None else _copied(copied[0])
        for cache in self.caches:
            cache.cache_clear()
        if self.defaults is not None:
            self.code.__defaults__ = self.defaults[0] if originals else tuple(map(_copied, self.defaults[1]))

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
        built.put_back(originals=True)


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


class _Names:
    """Some names of a namespace (a module's, an object's attributes), with their values: copies, where they can change.

    whole: names that are added later are taken away.
    """

    def __init__(self, names: dict[str, Any], before: dict[str, Any], *, whole: bool = False) -> None:
        self.names, self.before, self.whole = names, dict(before), whole
        self.copies = {name: _copied(value) for name, value in before.items() if _mutable(value)}

    def put_back(self, originals: bool) -> None:
        """As they were."""
        for name, value in self.before.items():
            if value is _ABSENT:
                self.names.pop(name, None)
            elif name in self.copies and not originals:
                self.names[name] = _copied(self.copies[name])
            elif self.names.get(name, _ABSENT) is not value:
                self.names[name] = value
        if self.whole and len(self.names) > len(self.before):
            for name in self.names.keys() - self.before.keys():
                del self.names[name]


class _ClassNames(_Names):
    """The data of a class."""

    def __init__(self, owner: type) -> None:
        data = {name: value for name, value in vars(owner).items() if not name.startswith("__") and not _method(value)}
        super().__init__({}, data)
        self.owner = owner

    def put_back(self, originals: bool) -> None:
        for name, value in self.before.items():
            if name in self.copies and not originals:
                setattr(self.owner, name, _copied(self.copies[name]))
            elif vars(self.owner).get(name, _ABSENT) is not value:
                setattr(self.owner, name, value)


def _method(value: Any) -> bool:
    return callable(value) or isinstance(value, (classmethod, staticmethod, property)) or hasattr(value, "__get__")


def used_names(code: Any) -> list[_Names]:
    """The namespaces that code writes to, each with the values of the names that it (and its helpers) use."""
    own = [_Names(code.__dict__, code.__dict__, whole=True)] if isinstance(code, types.FunctionType) else []
    used: dict[int, tuple[dict[str, Any], set[str]]] = {}
    seen: set[int] = set()
    for function in _functions(code):
        if not _library(function.__module__):
            _collect(function, used, seen)
    modules = [
        _Names(names, {name: names.get(name, _ABSENT) for name in found if not name.startswith("__")})
        for names, found in used.values()
    ]
    return [*own, *modules]


def _functions(code: Any) -> list[types.FunctionType]:
    """The function itself, or the methods of its class."""
    function = getattr(code, "__func__", code)
    if isinstance(function, types.FunctionType):
        return [function]
    owner = function if isinstance(function, type) else type(function)
    found = [value for each in _own_classes(owner) for value in vars(each).values()]
    found = [getattr(value, "__func__", value) for value in found]
    return [value for value in found if isinstance(value, types.FunctionType)]


def _own_classes(owner: type) -> list[type]:
    return [each for each in owner.__mro__ if not _of_library(each)]


def _objects(values: list[Any]) -> list[_Names]:
    """The attributes of plain objects, and the data of their classes: of classes that build on no library's."""
    found: dict[int, _Names] = {}
    for value in values:
        owner = value if isinstance(value, type) else type(value)
        if isinstance(value, (types.ModuleType, types.FunctionType)) or _of_library(owner):
            continue
        for each in _own_classes(owner):
            found.setdefault(id(each), _ClassNames(each))
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and len(_own_classes(owner)) == len(owner.__mro__) - 1:
            found.setdefault(id(value), _Names(attributes, attributes, whole=True))
    return list(found.values())


def _collect(function: types.FunctionType, used: dict[int, tuple[dict[str, Any], set[str]]], seen: set[int]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    own = function.__globals__
    names = used.setdefault(id(own), (own, set()))[1]
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        waiting += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        modules = [value for name in code.co_names if isinstance(value := own.get(name), types.ModuleType)]
        package = (function.__module__ or "").partition(".")[0]
        for name in code.co_names:
            value = own.get(name, _ABSENT)
            if value is not _ABSENT or not hasattr(builtins, name):
                names.add(name)
            for each in (value, *(vars(it).get(name) for it in modules)):
                inner = getattr(each, "__wrapped__", each)
                if isinstance(inner, types.FunctionType) and _beside(inner, package):
                    _collect(inner, used, seen)


def _beside(function: types.FunctionType, package: str) -> bool:
    """Whether a function belongs to the same package, or to a module that is not installed: to the code under test."""
    if (function.__module__ or "").partition(".")[0] == package:
        return not _library(function.__module__)
    return not _library(function.__module__) and not function.__code__.co_filename.startswith((*_INSTALLED, "<"))


_PATHS = [path for name, path in sysconfig.get_paths().items() if "lib" in name]
_INSTALLED = tuple({os.path.join(path, "") for path in (*_PATHS, *site.getsitepackages())})


def _library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _LIBRARIES


def _of_library(owner: type) -> bool:
    return _library(owner.__module__) or owner.__module__.partition(".")[0] in sys.stdlib_module_names


_LIBRARIES = frozenset({"builtins", "numpy", "random", "rheo_verify", "torch", "transformers"})


def _mutable(value: Any) -> bool:
    if isinstance(value, _SHARED) or callable(value):
        return False
    if type(value).__module__ in ("numpy.random._generator", "numpy.random.mtrand", "torch._C", "random"):
        return False
    torch = sys.modules.get("torch")
    return (
        isinstance(value, (list, dict, set, collections.deque))
        or type(value).__name__ == "ndarray"
        or (torch is not None and isinstance(value, torch.Tensor))
    )


def _held(cell: types.CellType) -> tuple[Any, tuple[Any] | None] | None:
    """What a cell holds, and a copy of it where it can change."""
    try:
        value = cell.cell_contents
    except ValueError:
        return None
    return value, ((_copied(value),) if _mutable(value) else None)


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied is shared
        return value
