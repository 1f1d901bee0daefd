"""--quiet and --verbose: what a command says on stderr beside its result."""

from __future__ import annotations

import argparse
import enum
import platform
import sys
import time

import rheo_verify


class Loudness(enum.IntEnum):
    """How much is said."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_now = Loudness.NORMAL
_running: tuple[str, float] | None = None
"""The command that has begun, and when."""


def add_message_arguments(parser: argparse.ArgumentParser) -> None:
    """--quiet and --verbose, on every command."""
    group = parser.add_argument_group("messages on stderr").add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true", help="errors and missing files only: no progress, no notes")
    group.add_argument(
        "--verbose", action="store_true", help="also versions, what is being done (without a terminal, too) and times"
    )


def choose(quiet: bool, verbose: bool) -> None:
    """For the command that runs now."""
    global _now
    _now = Loudness.QUIET if quiet else Loudness.VERBOSE if verbose else Loudness.NORMAL


def loudness() -> Loudness:
    """What the command that runs now was told."""
    return _now


def note(words: str) -> None:
    """A remark that is neither result nor error."""
    if _now > Loudness.QUIET:
        print(words, file=sys.stderr)


def warn(words: str) -> None:
    """What --quiet does not drop: a file that was asked for is missing, though the exit code is that of an answer."""
    print(words, file=sys.stderr)


def begin(command: str) -> None:
    """With --verbose: the versions."""
    global _running
    if _now is Loudness.VERBOSE:
        from rheo_verify.probability.rationals import RATIONAL_TYPE

        versions = f"rheo_verify {rheo_verify.__version__}, Python {platform.python_version()}, {RATIONAL_TYPE}"
        print(f"{command}: {versions}", file=sys.stderr)
    _running = command, time.monotonic()


def end(code: int) -> None:
    """With --verbose: the exit code and the time of the command that has begun, if one has."""
    global _running
    if _running is not None and _now is Loudness.VERBOSE:
        command, began = _running
        print(f"{command}: exit code {code} after {time.monotonic() - began:.1f} s", file=sys.stderr)
    _running = None
