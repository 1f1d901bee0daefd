"""Replace attributes and captured names while a run lasts, and put everything back afterwards.

Code under test may hold a random function under a name of its own (``from random import random``) or a generator in a
module variable, a default argument or a closure. Those are found by identity, in the function under test, in the
modules of its top-level package and in the functions that these define.
"""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any


class Patches:
    """A stack of replacements; `undo` puts the old values back, last one first."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self.stand_ins: dict[int, Any] = {}

    def attribute(self, owner: Any, name: str, value: Any, *, captured: bool = True) -> None:
        """Set ``owner.name``, and remember that names bound to the old value mean the new one."""
        missing = object()
        old = vars(owner).get(name, missing)
        if captured and old is not missing:
            self.stand_ins[id(old)] = value
        setattr(owner, name, value)
        self._undo.append(lambda: delattr(owner, name) if old is missing else setattr(owner, name, old))

    def captured_in(self, function: Any, stand_in: Callable[[Any], Any]) -> None:
        """Replace, in and around `function`, every bound value for which there is a stand-in.

        `stand_in(value)` gives another value for values that are not known by identity, or None.
        """

        def other(value: Any) -> Any:
            known = self.stand_ins.get(id(value))
            if known is None:
                known = stand_in(value)
            return _method(value, stand_in) if known is None else known

        for names in _namespaces(function):
            for name, value in list(names.items()):
                new = other(value)
                if new is not None and not name.startswith("__"):
                    self._item(names, name, value, new)
        for inner in _functions(function):
            self._defaults(inner, other)
            for cell in inner.__closure__ or ():
                self._cell(cell, other)

    def entry(self, names: dict[Any, Any], key: Any, value: Any) -> None:
        """Set ``names[key]``."""
        missing = object()
        old = names.get(key, missing)
        names[key] = value
        self._undo.append(lambda: names.pop(key) if old is missing else names.__setitem__(key, old))

    def _item(self, names: dict[str, Any], name: str, old: Any, new: Any) -> None:
        names[name] = new
        self._undo.append(lambda: names.__setitem__(name, old))

    def _defaults(self, function: types.FunctionType, other: Callable[[Any], Any]) -> None:
        old = function.__defaults__
        if old:
            new = tuple(value if (found := other(value)) is None else found for value in old)
            if any(a is not b for a, b in zip(old, new, strict=True)):
                function.__defaults__ = new
                self._undo.append(lambda: setattr(function, "__defaults__", old))
        named: dict[str, Any] = function.__kwdefaults__ or {}
        for name, value in list(named.items()):
            found = other(value)
            if found is not None:
                self._item(named, name, value, found)

    def _cell(self, cell: types.CellType, other: Callable[[Any], Any]) -> None:
        try:
            old = cell.cell_contents
        except ValueError:
            return
        found = other(old)
        if found is not None:
            cell.cell_contents = found
            self._undo.append(lambda: setattr(cell, "cell_contents", old))

    def afterwards(self, action: Callable[[], None]) -> None:
        """Do this, too, when everything is put back."""
        self._undo.append(action)

    def undo(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()


def _method(value: Any, stand_in: Callable[[Any], Any]) -> Any:
    """The answered method in place of a generator's own one, ``draw = random.Random(3).random``; None if it is none."""
    if not isinstance(value, (types.BuiltinMethodType, types.MethodType)):
        return None
    holder = value.__self__
    answered = holder if isinstance(holder, random.Random) else stand_in(holder)
    found = None if answered is None else getattr(answered, value.__name__, None)
    return None if found == value else found


def _namespaces(function: Any) -> Iterator[dict[str, Any]]:
    """The global names of the function's own top-level package, and the attributes of the object it is bound to."""
    home = getattr(_plain(function), "__module__", None) or type(function).__module__
    own = getattr(_plain(function), "__globals__", None)
    if own is not None:
        yield own
        yield from _objects(own)
    top = home.partition(".")[0]
    for name, module in list(sys.modules.items()):
        inside = top not in _LIBRARIES and (name == top or name.startswith(top + "."))
        if inside and isinstance(module, types.ModuleType) and vars(module) is not own:
            yield vars(module)
    holder = getattr(function, "__self__", None if isinstance(function, types.FunctionType) else function)
    attributes = getattr(holder, "__dict__", None)
    if isinstance(attributes, dict) and not isinstance(holder, types.ModuleType):
        yield attributes


def _objects(names: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The attributes of the objects in a module whose class is defined in no library."""
    for value in list(names.values()):
        home = type(value).__module__.partition(".")[0]
        attributes = getattr(value, "__dict__", None)
        plain = not isinstance(value, (type, types.ModuleType, types.FunctionType))
        if plain and home not in _LIBRARIES and isinstance(attributes, dict):
            yield attributes


_LIBRARIES = frozenset({"builtins", "torch", "numpy", "random", "rheo_verify", "transformers"})


def _functions(function: Any) -> Iterator[types.FunctionType]:
    seen: set[int] = set()
    waiting = [_plain(function)]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, types.FunctionType) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        for cell in found.__closure__ or ():
            try:
                waiting.append(_plain(cell.cell_contents))
            except ValueError:
                continue
        names = list(found.__globals__.values())
        waiting += [v for v in names if isinstance(v, types.FunctionType) and v.__module__ == found.__module__]


def _plain(function: Any) -> Any:
    while True:
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        inner = inner or (None if isinstance(function, types.FunctionType) else getattr(function, "__wrapped__", None))
        if inner is None:
            break
        function = inner
    if not isinstance(function, types.FunctionType) and not isinstance(function, type):
        call = getattr(type(function), "__call__", None)  # noqa: B004 - the function itself is wanted
        return call if isinstance(call, types.FunctionType) else function
    return function
