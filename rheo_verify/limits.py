"""Limits on long work: a deadline, a number of trees, memory; and somebody to tell how far it got."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from rheo_verify.errors import LimitReached
from rheo_verify.words import size

Item = TypeVar("Item")
Progress: TypeAlias = Callable[[str, int, int], None]
"""Told `(what, done, total)`, total 0 where it is not known."""


WEIGHTS_UNSEEN = 10_000
"""Exact rationals that may be worked at between two looks at the clock."""


@dataclass
class Limits:
    """When long work must stop.

    deadline: in seconds of `time.monotonic()`. trees: how many unpruned trees may be formed. progress: told how
    far it is. memory: bytes that this process may hold. `covered` says how
    far the work got, in words.
    """

    deadline: float | None = None
    trees: int | None = None
    progress: Progress | None = None
    memory: int | None = None
    covered: str = field(default="no tree and no class was finished", init=False)
    _unseen: int = field(default=0, init=False, repr=False)

    def check(self, what: str, done: int, total: int = 0) -> None:
        """Note the progress. Raises `LimitReached` RV201 when the time is up before the end."""
        of = f" of {total:,}" if total else ""
        self.covered = f"{done:,}{of} {what} were enumerated"
        if self.progress is not None:
            self.progress(what, done, total)
        if done == total:
            return
        self.check_time()

    def tell(self, what: str, done: int, total: int = 0) -> None:
        """A `Progress` for work that knows no limits: raises `LimitReached` once one is reached before the end."""
        if self.progress is not None:
            self.progress(what, done, total)
        self.covered = f"{what}: {done:,} of {total:,}" if total else f"{what}: {done:,}"
        if not done == total > 0:
            self.check_time()

    def watch(self, items: Iterable[Item], every: int = 256) -> Iterator[Item]:
        """The same items, looking at the clock once in a while."""
        for number, item in enumerate(items):
            if number % every == 0:
                self.check_time()
            yield item

    def work(self, weights: int) -> None:
        """So many weights are worked at: look at the clock once that is some milliseconds since the last time."""
        self._unseen += weights
        if self._unseen >= WEIGHTS_UNSEEN:
            self._unseen = 0
            self.check_time()

    def check_time(self) -> None:
        """Raises `LimitReached` RV201 once the deadline has passed, RV204 above the memory limit."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LimitReached("RV201", "the time limit was reached", self.covered)
        if self.memory is not None and resident() > self.memory:
            message = f"the memory limit of {size(self.memory)} was reached"
            raise LimitReached("RV204", message, self.covered)


def resident() -> int:
    """Bytes of memory that this process holds now (at most so far, where the system does not say)."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
