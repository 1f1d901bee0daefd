"""The code under test by its name: ``MODULE:NAME``, or ``FILE.py:NAME``."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.foreign.interrupts import watching
from rheo_verify.foreign.refusal import let_pass


def load(where: str) -> Callable[..., Any]:
    """What `where` names; modules are also looked for in the working directory. Raises `InputError` RV121."""
    place, _, name = where.rpartition(":")
    if not place:
        raise InputError("RV121", f"{where!r} is not MODULE:FUNCTION or FILE.py:FUNCTION")
    if place.endswith(".py"):
        module = load_file(place)
    else:
        with _importing(place, os.getcwd()):
            module = importlib.import_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError("RV121", f"{place} has no {name!r}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError("RV121", f"{where} is not callable")
    return found  # type: ignore[no-any-return]


def load_file(path: str) -> ModuleType:
    """The module in a file, under a name of its own; it finds its neighbours. Raises `InputError` RV121."""
    name = "rheo_verify_checked_" + os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise InputError("RV121", f"{path} cannot be read as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _importing(path, os.path.dirname(os.path.abspath(path))):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _importing(what: str, folder: str) -> Iterator[None]:
    """What is raised while somebody else's code is imported is theirs, and said in one line."""
    sys.path.insert(0, folder)
    try:
        with watching():
            try:
                yield
            except BaseException as error:
                let_pass(error)
                message = f"{what} cannot be imported ({type(error).__name__}: {error})"
                raise InputError("RV121", message) from None
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
