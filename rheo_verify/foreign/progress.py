"""Who is told how far a check is: nobody, unless `telling` says who."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rheo_verify.limits import Progress

Item = TypeVar("Item")

_listener: ContextVar[Progress | None] = ContextVar("listener", default=None)


def say(what: str, done: int, total: int) -> None:
    """Tell whoever listens; `total` 0 is one that nobody knows."""
    tell = _listener.get()
    if tell is not None:
        tell(what, done, total)


@contextmanager
def telling(tell: Progress | None) -> Iterator[None]:
    """For the checks that run inside."""
    before = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(before)


def followed(items: Iterable[Item], what: str) -> Iterator[Item]:
    """The same items, one by one; whoever listens is told before each. Only then are they counted beforehand.

    >>> with telling(lambda what, done, total: print(what, done, "of", total)):
    ...     letters = list(followed("ab", "letters"))
    letters 0 of 2
    letters 1 of 2
    """
    tell = _listener.get()
    if tell is None:
        yield from items
        return
    listed = list(items)
    for number, item in enumerate(listed):
        tell(what, number, len(listed))
        yield item
