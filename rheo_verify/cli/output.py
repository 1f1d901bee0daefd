"""Output that survives: readers that stop reading, and terminals that are narrow."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rheo_verify.report.terminal import COLOUR, wrapped
from rheo_verify.words import shortened

LONGEST = 2000
"""Characters of a message."""
_QUOTED = re.compile(r"""(?<!\w)(['"])([^/\n]{61,}?)\1(?!\w)""")
"""What a message quotes of its input: an apostrophe inside a word opens no quotation, and a path, which is not cut, has
a slash."""
_DIGITS = re.compile(r"(?<![\w./-])-?\d{61,}(?![\w./])")
_MARGIN = re.compile(r"[ │├└─•]*")


class Output:
    """A text stream. When its reader has gone the rest is dropped, so that the work ends with its own exit code.

    width: lines are fitted to it; None leaves them as they are. optional: what cannot be written is dropped as well
    (messages on stderr: the exit code must still be that of the answer).
    """

    def __init__(self, stream: Any, width: int | None = None, *, optional: bool = False) -> None:
        self._stream, self.width = stream, width
        self._dropped = OSError if optional else BrokenPipeError

    def write(self, words: str) -> int:
        """Write, fitted; returns the length of what was given."""
        try:
            self._stream.write(words if self.width is None else fitted(words, self.width))
        except self._dropped:
            self._drop()
        return len(words)

    def flush(self) -> None:
        """Flush, if anybody reads."""
        try:
            self._stream.flush()
        except self._dropped:
            self._drop()

    def _drop(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def steady_output() -> Iterator[Output]:
    """`sys.stdout` and `sys.stderr` as `Output` for the time of a command; yields that of stdout."""
    import sys

    before = sys.stdout, sys.stderr
    out = Output(sys.stdout)
    sys.stdout, sys.stderr = out, Output(sys.stderr or open(os.devnull, "w"), optional=True)  # noqa: SIM115
    try:
        yield out
    finally:
        out.flush()
        sys.stdout, sys.stderr = before


def one_line(words: str) -> str:
    """What is quoted in a message must not break its line or move the cursor, nor fill the screen.

    >>> one_line("no file 'a\\nb'\\033[2J")
    "no file 'a\\\\nb'\\\\x1b[2J"
    >>> one_line(f"there is no claim '{'x' * 99}'")
    "there is no claim 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxx'"
    """
    words = _QUOTED.sub(lambda found: f"{found[1]}{shortened(found[2])}{found[1]}", words)
    words = _DIGITS.sub(lambda found: shortened(found[0]), words)
    if len(words) > LONGEST:
        words = f"{words[: LONGEST // 2]} … {words[-LONGEST // 2 :]}"
    return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in words)


def terminal_width() -> int:
    """Columns of the terminal, or what `COLUMNS` says; 100 where there is none; at least 30."""
    return max(30, shutil.get_terminal_size((100, 24)).columns)


def fitted(words: str, width: int) -> str:
    """Lines wrapped to a narrow width, each under its own margin; commands stay whole, to be copied.

    >>> print(fitted("  └─ B  sampled, builds as 1/2", 20))
      └─ B  sampled,
           builds as 1/2
    """
    return "".join(_fitted(line, width) for line in words.splitlines(keepends=True))


def _fitted(line: str, width: int) -> str:
    body = line.rstrip("\r\n")
    if len(COLOUR.sub("", body)) <= width or "rheo_verify " in body:
        return line
    colour = COLOUR.match(body)
    plain = COLOUR.sub("", body)
    margin = _MARGIN.match(plain)
    assert margin is not None
    start = margin[0]
    rest = re.sub(r" {3,}", "  ", plain[len(start) :])  # the gaps of a table
    under = start.replace("├", "│").replace("└", " ").replace("─", " ") + ("  " if len(start) < width // 2 else "")
    lines = wrapped(rest, max(width, len(under) + 12), start, under)
    if colour is not None and COLOUR.findall(body)[-1] == "\033[0m" and body.endswith("\033[0m"):
        lines = [f"{colour[0]}{part}\033[0m" for part in lines]
    return "\n".join(lines) + line[len(body) :]
