"""How much memory a check may hold: as much as it likes, unless `holding` says how much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rheo_verify.limits import Limits

_most: ContextVar[int | None] = ContextVar("most", default=None)


@contextmanager
def holding(most: int | None) -> Iterator[None]:
    """For the checks that run inside: bytes that a process may hold; None: any."""
    before = _most.set(most)
    try:
        yield
    finally:
        _most.reset(before)


def most_memory() -> int | None:
    """The bytes that `holding` said."""
    return _most.get()


def check_memory() -> None:
    """Raises `LimitReached` RV204 above them."""
    most = _most.get()
    if most is not None:
        Limits(memory=most).check_time()
