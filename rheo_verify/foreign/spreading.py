"""The cases of one check in pieces, done by several processes or kept from an earlier run.

Each piece runs its cases up to the first that fails, or cannot be run; the first of these, in the order of the cases,
is then run here again, made smaller and reported, as if nobody else had been at work.
"""

from __future__ import annotations

import hashlib
import os
import sys
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
    question = [spread.where, spread.way, repr(sorted(spread.options.items())), sources(spread.where)]
    pieces = [[low, min(low + CASES_A_PIECE, len(listed))] for low in range(0, len(listed), CASES_A_PIECE)]
    job = Job("cases", question, _piece, (spread.where, spread.way, dict(spread.options)), pieces)
    progress = Progress()
    try:
        for piece, found in results(job, workers, Limits(time.monotonic() + seconds), spread.store):
            progress.cases, progress.paths = progress.cases + found["cases"], progress.paths + found["paths"]
            progress.skipped, progress.large = progress.skipped + found["skipped"], progress.large + found["large"]
            progress.dtypes.update(found["dtypes"])
            for remark, code in found["warnings"]:
                progress.warnings.setdefault(remark, code)
            if found["fails"] is not None:
                return progress, [listed[piece[0] + found["fails"]]]
    except LimitReached:
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


def _piece(shared: tuple[str, str, dict[str, Any]], piece: list[int]) -> Data:
    from rheo_verify.foreign.rerunning import CHECKS

    where, way, options = shared
    part = _Part(piece[0], piece[1])
    token = _PART.set(part)
    try:
        CHECKS[way](load(where), **options)
    finally:
        _PART.reset(token)
    return part.found


def sources(where: str) -> str:
    """A digest of the code under test: every module that is loaded from its folder or the working directory.

    Libraries count by their version only.
    """
    code = load(where)
    own = Path(getattr(sys.modules.get(code.__module__), "__file__", None) or ".").resolve().parent
    folders = {own, Path.cwd().resolve()}
    package = Path(foreign.__file__).resolve().parent.parent
    found = hashlib.sha256(sys.version.encode())
    for name, module in sorted(sys.modules.items()):
        path = Path(getattr(module, "__file__", None) or os.devnull).resolve()
        if name in ("numpy", "torch", "transformers"):
            found.update(f"{name} {getattr(module, '__version__', '')}".encode())
        elif "site-packages" not in path.parts and package not in path.parents and folders & set(path.parents):
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()
