"""Refusals: a use of randomness without an exact answer stops the run, names call and line, and says what to do."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
from types import CodeType, FrameType

from rheo_verify.errors import RheoVerifyError
from rheo_verify.foreign.interrupts import of_the_code

_HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_LIBRARIES = ("torch", "numpy", "random", "bisect", "contextlib", "functools", "statistics", "fractions")


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


def let_pass(error: BaseException) -> None:
    """Raises `error` again if it is not the code's: Ctrl-C, and what pytest ends tests with (a limit, skip, exit)."""
    pytest = sys.modules.get("_pytest.outcomes")
    if isinstance(error, KeyboardInterrupt) and of_the_code(error):
        return
    if isinstance(error, KeyboardInterrupt) or (pytest and isinstance(error, (pytest.OutcomeException, pytest.Exit))):
        raise error


def raised_at(error: BaseException) -> str | None:
    """``file.py:12 (source text)`` where the code under test raised; None if the exception never was in it."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if is_users(trace.tb_frame):
            found = line_text(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found


def raised(error: BaseException) -> str:
    """``it raised ValueError at file.py:12 (source text): reason``, on one line."""
    line, said = raised_at(error), " ".join(str(error).split())
    return f"it raised {type(error).__name__}{f' at {line}' if line else ''}" + (f": {said}" if said else "")


def searches_right(frame: FrameType) -> bool:
    """Whether the call under way in `frame` says ``"right"``, as in ``cumulative.searchsorted(u, "right")``.

    NumPy's method compares objects both ways whatever the side; what it does with u = 0 only the call itself tells.
    """
    return is_users(frame) and _says_right(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=256)
def _says_right(code: CodeType, instruction: int) -> bool:
    first, last, begin, end = list(code.co_positions())[instruction // 2]
    if first is None or last is None or begin is None or end is None:
        return False
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(first, last + 1)]
    if not lines:
        return False
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    try:
        call = ast.parse(b"".join(lines).decode(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)] if isinstance(call, ast.Call) else []
    return any(isinstance(value, ast.Constant) and value.value == "right" for value in given)
