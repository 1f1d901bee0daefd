"""Refusals: a use of randomness without an exact answer stops the run, names call and line, and says what to do."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType

from rheo_verify.errors import RheoVerifyError

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = ("torch", "numpy", "random", "bisect", "contextlib", "functools", "statistics")


class Refused(RheoVerifyError):
    """A random value was used (RV402) or a random function called (RV403) in a way that cannot be resolved exactly."""


def user_line() -> str:
    """``file.py:12 (source text)`` of the innermost frame that belongs to neither this package nor a library."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_users(frame):
            return line_text(frame, frame.f_lineno)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "an unknown line"


def is_users(frame: FrameType) -> bool:
    """Whether a frame belongs to neither this package nor a library."""
    path = frame.f_code.co_filename
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    inside = os.path.abspath(path).startswith(_HERE) and not path.startswith("<")
    return not inside and module not in _LIBRARIES


def line_text(frame: FrameType, line: int) -> str:
    """``file.py:12 (source text)``."""
    path = frame.f_code.co_filename
    text = linecache.getline(path, line).strip()
    return f"{os.path.basename(path)}:{line}" + (f" ({text})" if text else "")
