"""Doing the pieces: in this process, in processes of this machine (loky), or on an existing Dask cluster.

One loop for all three: both kinds of workers are executors of `concurrent.futures`. A worker that dies takes the
pieces in its hands with it; they are handed out again, a few times.
"""

from __future__ import annotations

import importlib
import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from rheo_verify.errors import CannotRun, InputError, not_installed
from rheo_verify.limits import Limits
from rheo_verify.pieces.job import Data, Job
from rheo_verify.pieces.store import Store

Backend = Literal["serial", "loky", "dask"]
MOST_DEATHS = 3
_LOOK_AT_THE_CLOCK = 0.2


@dataclass(frozen=True)
class Workers:
    """Who does the pieces.

    backend: `serial` (this process), `loky` (`jobs` processes; None: one a core) or `dask` (all workers of the cluster
    at `scheduler`, e.g. ``tcp://host:8786``).
    """

    backend: Backend = "serial"
    jobs: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.backend not in ("serial", "loky", "dask"):
            raise InputError("RV106", f"backend must be serial, loky or dask, not {self.backend!r}")
        if self.jobs is not None and not 1 <= self.jobs <= 1024:
            raise InputError("RV106", f"--jobs {self.jobs} must be from 1 to 1024")
        if (self.backend == "dask") != (self.scheduler is not None):
            raise InputError("RV106", "--backend dask and --scheduler ADDRESS belong together")

    @property
    def count(self) -> int:
        """How many processes work at once on this machine."""
        return (self.jobs or _cores()) if self.backend == "loky" else 1


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def results(
    job: Job, workers: Workers, limits: Limits | None = None, store: Store | None = None
) -> Iterator[tuple[Data, Data]]:
    """Every piece with its result, in the order of the pieces. Raises `LimitReached`, and RV802, RV803 (workers).

    Finished pieces are put into the store as they come, also those whose turn has not come yet.
    """
    limits = limits or Limits()
    if workers.backend == "serial" or (workers.backend == "loky" and workers.count == 1):
        yield from _here(job, limits, store)
        return
    with _executor(workers) as executors:
        yield from _elsewhere(job, executors, limits, store)


def _here(job: Job, limits: Limits, store: Store | None) -> Iterator[tuple[Data, Data]]:
    for piece in job.pieces:
        result = store.get(job, piece) if store else None
        if result is None:
            limits.check_time()
            result = job.do(job.shared, piece)
            if store:
                store.put(job, piece, result)
        yield piece, result


@dataclass
class _Executors:
    """Makes an executor, and another one when that breaks; `ahead` pieces are handed out at once."""

    make: Any
    ahead: int

    def __post_init__(self) -> None:
        self.current: Executor = self.make()

    def renew(self) -> None:
        self.current = self.make()


def _elsewhere(job: Job, executors: _Executors, limits: Limits, store: Store | None) -> Iterator[tuple[Data, Data]]:
    waiting = deque(enumerate(job.pieces))
    running: dict[Future[Data], tuple[int, Data]] = {}
    finished: dict[int, Data] = {}
    failed: dict[int, Exception] = {}
    turn, deaths, broken = 0, 0, False

    def room() -> bool:
        return len(finished) < 64 * executors.ahead

    try:
        while turn < len(job.pieces):
            while waiting and not broken and len(running) < executors.ahead and (room() or waiting[0][0] == turn):
                number, piece = waiting.popleft()
                known = store.get(job, piece) if store else None
                if known is not None:
                    finished[number] = known
                else:
                    try:
                        running[executors.current.submit(job.do, job.shared, piece)] = (number, piece)
                    except BrokenExecutor:
                        waiting.appendleft((number, piece))
                        broken = True
            if running and turn not in finished and turn not in failed:
                wait(running, timeout=_LOOK_AT_THE_CLOCK, return_when=FIRST_COMPLETED)
                limits.check_time()
            for future in [future for future in running if future.done()]:
                number, piece = running.pop(future)
                try:
                    result = future.result()
                except Exception as error:
                    if not _died(error):
                        failed[number] = error
                        continue
                    deaths += 1
                    if deaths > MOST_DEATHS * executors.ahead:
                        raise CannotRun("RV803", f"workers died again and again, last at piece {number}") from error
                    waiting.appendleft((number, piece))
                    broken = broken or isinstance(error, BrokenExecutor)
                    continue
                if store:
                    store.put(job, piece, result)
                finished[number] = result
            if broken and not running:
                executors.renew()
                broken = False
            if turn in failed:
                raise failed[turn]
            while turn in finished:
                deaths = 0
                yield job.pieces[turn], finished.pop(turn)
                turn += 1
    finally:
        for future in running:
            future.cancel()


def _died(error: Exception) -> bool:
    return isinstance(error, BrokenExecutor) or type(error).__name__ in ("KilledWorker", "CancelledError")


@contextmanager
def _executor(workers: Workers) -> Iterator[_Executors]:
    if workers.backend == "dask":
        yield from _dask(workers)
        return
    from joblib.externals.loky import get_reusable_executor

    count = workers.count
    made = _Executors(lambda: get_reusable_executor(max_workers=count, timeout=60, reuse=True), 2 * count)
    try:
        yield made
    except BaseException:
        loky: Any = made.current
        loky.shutdown(wait=False, kill_workers=True)
        raise


def _dask(workers: Workers) -> Iterator[_Executors]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise not_installed("distributed", "dask", "--backend dask") from None
    if not re.search(
        r":\d+/?$|^inproc:", workers.scheduler or ""
    ):  # told here: a client that cannot begin hangs at its end
        raise InputError("RV802", f"--scheduler {workers.scheduler!r}: an address has a port, as in tcp://host:8786")
    try:
        client = distributed.Client(workers.scheduler, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError("RV802", f"--scheduler {workers.scheduler}: no cluster answers there ({error})") from None
    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError("RV802", f"--scheduler {workers.scheduler}: the cluster has no workers")
        yield _Executors(lambda: client.get_executor(pure=False, retries=MOST_DEATHS), 2 * threads)
    finally:
        client.close()
