"""Progress on stderr, for work that takes longer than a second: a bar on a terminal, lines elsewhere with --verbose."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from rheo_verify.cli.messages import Loudness, loudness

if TYPE_CHECKING:
    from rich.progress import Progress


class ProgressBar:
    """A context manager whose `update` is the `progress` of `Limits`."""

    def __init__(self) -> None:
        loud = loudness()
        self._shown = sys.stderr.isatty() and loud > Loudness.QUIET
        self._told = loud is Loudness.VERBOSE and not self._shown
        self._begin = self._last = time.monotonic()
        self._what = ""
        self._bar: Progress | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def update(self, what: str, done: int, total: int) -> None:
        """Say that `done` of `total` (0 if unknown) are done."""
        if self._told:
            self._tell(what, done, total)
        if not self._shown or time.monotonic() - self._begin < 1:
            return
        if self._bar is None:
            self._bar = _new_bar()
            self._task = self._bar.add_task(what, total=total or None)
        self._bar.update(self._task, completed=done, description=what, total=total or None)

    def _tell(self, what: str, done: int, total: int) -> None:
        """A line for each kind of work, and one every five seconds, with an estimate where the total is known."""
        now = time.monotonic()
        if what == self._what and now - self._last < 5:
            return
        self._last, self._what = now, what
        passed = now - self._begin
        left = f", about {passed * (total - done) / done:.0f} s left" if 0 < done < total else ""
        of = f" of {total:,}" if total else ""
        print(f"{passed:6.1f} s  {what}: {done:,}{of}{left}", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _new_bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar
