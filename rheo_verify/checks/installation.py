"""What is installed here, what that makes possible, and how to get what is missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import rheo_verify
from rheo_verify.errors import InputError, install

_LEAST = {"numpy": "1.26", "rich": "13.7", "gmpy2": "2.1.5", "networkx": "3.2", "joblib": "1.3"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Part:
    """One thing that may be installed.

    name: what `--need` calls it. group: core, extra or system. found: its version or place, None if it is missing.
    fault: why it cannot be used although it is there. serves: what needs it. remedy: how to install it.
    """

    name: str
    group: str
    found: str | None
    serves: str
    remedy: str
    fault: str | None = None

    @property
    def usable(self) -> bool:
        """Whether it is there and works."""
        return self.found is not None and self.fault is None


@dataclass(frozen=True)
class Installation:
    """Everything `doctor` looks at. rationals: the exact type inside. device: what torch computes on, None without."""

    version: str
    python: str
    system: str
    rationals: str
    device: str | None
    parts: tuple[Part, ...]

    def missing(self, needed: Iterable[str]) -> list[Part]:
        """Core parts and those that are needed, as far as they cannot be used. Raises `InputError` RV106."""
        known = {part.name: part for part in self.parts}
        names = dict.fromkeys(needed)
        for name in names:
            if name not in known:
                raise InputError("RV106", f"--need {name!r}: there is no such part; the parts are {', '.join(known)}")
        return [part for part in self.parts if not part.usable and (part.group == "core" or part.name in names)]


def look() -> Installation:
    """What is there now. Loads torch, if it is installed, to see its device; asks `coqc` for its version."""
    from rheo_verify.probability.rationals import RATIONAL_TYPE

    torch, device = _torch()
    parts = (
        _core("numpy", "arrays of integers and floats"),
        _core("rich", "progress"),
        _core("networkx", "the optimum as a largest flow"),
        _core("joblib", "work on several cores"),
        Part("gmpy2", "core", _version("gmpy2"), "fast rationals (without it: fractions.Fraction, slower)", _PLAIN),
        torch,
        _extra("transformers", "torch", "empirical, inspect: real checkpoints"),
        _extra("safetensors", "torch", "empirical, inspect: real checkpoints"),
        _extra("sympy", "proofs", "prove: level 2"),
        _extra("z3", "proofs", "prove: level 2", "z3-solver"),
        _extra("matplotlib", "plot", "acceptance compare --plot"),
        _extra("distributed", "dask", "--backend dask"),
        _extra("hypothesis", "testing", "rheo_verify.testing.strategies"),
        _extra("pytest", "testing", "rheo_verify.testing, the pytest plugin"),
        _rocq(),
        _browser(),
        _proofs(),
        _models(),
    )
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    python = f"{platform.python_version()} ({sys.executable})"
    return Installation(rheo_verify.__version__, python, system, RATIONAL_TYPE, device, parts)


_PLAIN = install()


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _loaded(module: str) -> tuple[Any, str | None]:
    """The module, or why it cannot be imported: what is installed may be broken."""
    try:
        return importlib.import_module(module), None
    except Exception as error:  # a broken installation may raise anything
        return None, f"cannot be imported ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})"


def _core(name: str, serves: str) -> Part:
    version = _version(name)
    _, fault = _loaded(name) if version else (None, None)
    if version and fault is None and _older(version, _LEAST[name]):
        fault = f"is too old: at least {_LEAST[name]} is needed"
    return Part(name, "core", version, serves, f"pip install '{name}>={_LEAST[name]}'", fault)


def _extra(name: str, extra: str, serves: str, distribution: str | None = None) -> Part:
    return Part(name, "extra", _version(distribution or name), serves, install(extra))


def _torch() -> tuple[Part, str | None]:
    version, serves = _version("torch"), "empirical, inspect, precision; check of PyTorch code"
    remedy = install("torch")
    if version is None:
        return Part("torch", "extra", None, serves, remedy), None
    torch, fault = _loaded("torch")
    if torch is None:
        return Part("torch", "extra", version, serves, remedy, fault), None
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"
    return Part("torch", "extra", version, serves, remedy), str(device)


def _rocq() -> Part:
    serves = "prove: level 3; certificates in Rocq"
    remedy = "Debian: apt install coq libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra"
    if shutil.which("coqc") is None:
        return Part("rocq", "system", None, serves, remedy)
    said = _output("coqc", "--version")
    found = re.search(r"version (\S+)", said or "")
    where = _output("coqc", "-where")
    mathcomp = where is not None and os.path.isdir(os.path.join(where.strip(), "user-contrib", "mathcomp"))
    fault = None if mathcomp else "MathComp is not there"
    return Part("rocq", "system", found[1] if found else "of unknown version", serves, remedy, fault)


def _browser() -> Part:
    place = next((place for name in BROWSERS if (place := shutil.which(name))), None)
    return Part("browser", "system", place, "tests of HTML reports", "Debian: apt install chromium")


def _proofs() -> Part:
    from rheo_verify.checks.proofs import proofs_folder

    try:
        place: str | None = str(proofs_folder())
    except InputError:
        place = None
    return Part("proofs", "core", place, "prove", _PLAIN)


def _models() -> Part:
    from rheo_verify.models.shipped import shipped_models

    names = ", ".join(shipped_models())
    return Part("toy-models", "core", names or None, "--model NAME", _PLAIN)


def _output(*command: str) -> str | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def _older(version: str, least: str) -> bool:
    numbers = [[int(part) for part in re.findall(r"\d+", it)[:3]] for it in (version, least)]
    return numbers[0] < numbers[1]
