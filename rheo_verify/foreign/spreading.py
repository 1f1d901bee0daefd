"""The cases of one check in pieces, done by several processes or kept from an earlier run.

Each piece runs its cases up to the first that fails, or cannot be run. From the first of these on, in the order of the
cases, they are run here, as if nobody else had been at work: what others say of a failing case is never believed, and
what they say of the cases before it only if they ran the very code that is here.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from rheo_verify import foreign
from rheo_verify.errors import LimitReached
from rheo_verify.foreign.answering import Answering
from rheo_verify.foreign.cases import Case
from rheo_verify.foreign.loading import load
from rheo_verify.foreign.memory import holding, most_memory
from rheo_verify.limits import Limits
from rheo_verify.pieces import Job, Store, Workers, results
from rheo_verify.pieces.job import Data

CASES_A_PIECE = 200
WORTH_PROCESSES = 5_000
"""From so many cases on, other processes are worth their start where nobody asked for them."""


@dataclass
class Progress:
    """How far a check came. `large` cases had too many paths, `skipped` ones have no stated law.

    dtypes: the number formats met. warnings: remarks, with their codes.
    """

    cases: int = 0
    paths: int = 0
    skipped: int = 0
    large: int = 0
    late: bool = False
    dtypes: set[str] = field(default_factory=set)
    warnings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Spread:
    """Who runs the cases, where they find the code (``MODULE:NAME``), and the way in with its options."""

    where: str
    way: str
    options: Mapping[str, Any]
    workers: Workers
    store: Store | None = None


@dataclass
class _Part:
    low: int
    high: int
    found: dict[str, Data] = field(default_factory=dict)


_SPREAD: ContextVar[Spread | None] = ContextVar("spread", default=None)
_PART: ContextVar[_Part | None] = ContextVar("part", default=None)


@contextmanager
def spreading(spread: Spread) -> Iterator[None]:
    """Checks that are begun while this is open have their cases run by `spread.workers`."""
    token = _SPREAD.set(spread)
    try:
        yield
    finally:
        _SPREAD.reset(token)


def run_elsewhere(cases: Iterable[Case], seconds: float) -> tuple[Progress, Iterable[Case]]:
    """What is known of the cases by now, and those that are still to be run here.

    Not to be called while random functions are answered: processes are started with names drawn at random.
    """
    spread = _SPREAD.get()
    if spread is None:
        return Progress(), cases
    listed = list(cases)
    few = spread.workers.jobs is None and len(listed) < WORTH_PROCESSES
    workers = Workers() if few and spread.workers.backend == "loky" else spread.workers
    if spread.store is None and workers.backend == "serial":
        return Progress(), listed
    made_of = sources(spread.where)
    question = [spread.where, spread.way, repr(sorted(spread.options.items())), sys.version, made_of]
    pieces = [[low, min(low + CASES_A_PIECE, len(listed))] for low in range(0, len(listed), CASES_A_PIECE)]
    job = Job("cases", question, _piece, (spread.where, spread.way, dict(spread.options), most_memory()), pieces)
    progress, limits = Progress(), Limits(time.monotonic() + seconds, memory=most_memory())
    try:
        for piece, found in results(job, workers, limits, spread.store):
            if not _unchanged(found["made_of"]):
                return progress, listed[piece[0] :]
            progress.cases, progress.paths = progress.cases + found["cases"], progress.paths + found["paths"]
            progress.skipped, progress.large = progress.skipped + found["skipped"], progress.large + found["large"]
            progress.dtypes.update(found["dtypes"])
            for remark, code in found["warnings"]:
                progress.warnings.setdefault(remark, code)
            if found["fails"] is not None:
                return progress, listed[piece[0] + found["fails"] :]
    except LimitReached as limit:
        if limit.code == "RV204":
            raise
        progress.late = True
    return progress, []


def part_of(cases: Iterable[Case]) -> list[Case] | None:
    """The cases of the piece that this process was given, None if it was given none."""
    part = _PART.get()
    return None if part is None else list(islice(cases, part.low, part.high))


def run_part(
    cases: list[Case],
    skip: Callable[[Case], bool],
    judged: Callable[[Case, int | None], tuple[list[Any], int] | None],
    door: Answering,
) -> None:
    """Run the cases of a piece up to the first that fails or cannot be run."""
    progress, fails = Progress(), None
    for number, case in enumerate(cases):
        if skip(case):
            progress.skipped += 1
            continue
        try:
            answer = judged(case, progress.paths)
        except Exception:  # it is raised again where the case is run again
            fails = number
            break
        if answer is None:
            progress.large += 1
            continue
        if answer[0]:
            fails = number
            break
        progress.cases, progress.paths = progress.cases + 1, progress.paths + answer[1]
    part = _PART.get()
    assert part is not None
    part.found = {
        "cases": progress.cases,
        "paths": progress.paths,
        "skipped": progress.skipped,
        "large": progress.large,
        "fails": fails,
        "dtypes": sorted(door.dtypes),
        "warnings": [list(item) for item in door.warnings.items()],
    }


def _piece(shared: tuple[str, str, dict[str, Any], int | None], piece: list[int]) -> Data:
    from rheo_verify.foreign.rerunning import CHECKS

    where, way, options, memory = shared
    part = _Part(piece[0], piece[1])
    token = _PART.set(part)
    try:
        with contextlib.redirect_stdout(sys.stderr), holding(memory):
            CHECKS[way](load(where), **options)
    finally:
        _PART.reset(token)
    return {**part.found, "made_of": sources(where)}


def sources(where: str) -> dict[str, dict[str, str]]:
    """What the code under test is made of, as far as it is loaded: its files with their digests, libraries' versions.

    files: every module outside the standard library, site-packages and this package, and the file that `where` names.
    """
    load(where)
    place = where.rpartition(":")[0]
    files = {os.path.realpath(place)} if place.endswith(".py") else set()
    libraries = set()
    for name, module in list(sys.modules.items()):
        path = Path(os.path.realpath(getattr(module, "__file__", None) or os.devnull))
        if {"site-packages", "dist-packages"} & set(path.parts):
            libraries.add(name.partition(".")[0])
        elif not {_STANDARD, _PACKAGE} & set(path.parents):
            files.add(str(path))
    known = importlib.metadata.packages_distributions()
    names = {each for library in libraries for each in known.get(library, ())}
    return {
        "files": {path: digest for path in sorted(files) if (digest := _digest(path))},
        "libraries": {name: importlib.metadata.version(name) for name in sorted(names)},
    }


_STANDARD = Path(os.path.realpath(sysconfig.get_paths()["stdlib"]))
_PACKAGE = Path(os.path.realpath(foreign.__file__)).parent.parent


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _unchanged(made_of: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a piece was run on the code that is here: also on what was loaded only while it ran."""
    files = all(_digest(path) == digest for path, digest in made_of["files"].items())
    return files and all(_version(name) == version for name, version in made_of["libraries"].items())


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
