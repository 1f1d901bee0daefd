"""Ctrl-C, told from a `KeyboardInterrupt` that the code under test raises itself: only the first comes by a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Seen:
    """watched: how many blocks of `watching` are open. pressed: a signal came since the first of them."""

    watched = 0
    pressed = False


@contextmanager
def watching() -> Iterator[None]:
    """While this is open, it is seen whether an interrupt came by a signal. The handler that was there runs as ever.

    Nothing is watched beside the main thread, or where the signal is not Python's.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def pressed(number: int, frame: Any) -> Any:
        _Seen.pressed = True
        return before(number, frame)

    if not _Seen.watched:
        _Seen.pressed = False
    signal.signal(signal.SIGINT, pressed)
    _Seen.watched += 1
    try:
        yield
    finally:
        _Seen.watched -= 1
        if signal.getsignal(signal.SIGINT) is pressed:
            signal.signal(signal.SIGINT, before)


def of_the_code(error: KeyboardInterrupt) -> bool:
    """Whether no signal can have raised it."""
    in_main = threading.current_thread() is threading.main_thread()
    return not in_main or (_Seen.watched > 0 and not _Seen.pressed)


def stop_if_pressed() -> None:
    """Raises `KeyboardInterrupt` where one came by a signal and the code under test caught it."""
    if _Seen.pressed and _Seen.watched:
        raise KeyboardInterrupt
