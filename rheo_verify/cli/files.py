"""Files that a command writes besides stdout: looked at before the work starts, written after it."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import stat
from typing import IO

from rheo_verify.cli.messages import note, warn
from rheo_verify.cli.output import one_line
from rheo_verify.errors import InputError

_held: dict[str, int] = {}
"""Pipes that were found to have a reader, opened: it would take the end of a first opening for that of the page."""


def add_html_argument(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """--html FILE."""
    group.add_argument("--html", metavar="FILE", help="also write the answer as one self-contained page")


def check_output(flag: str, path: str | None) -> None:
    """Raises `InputError` RV122 where a file cannot be written, before the long work. No file is left behind.

    A pipe, such as that of ``>(command)``, must have its reader already.
    """
    if path is None:
        return
    if not path:
        raise InputError("RV122", f"{flag} needs the name of a file")
    try:
        if _is_pipe(path):
            let_go(path)
            _held[path] = _open_pipe(path)
            return
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            return  # a device: opening it may do something
        missing = not os.path.exists(path)
        with open(path, "ab"):
            pass
        if missing:
            os.unlink(path)
    except (OSError, ValueError) as error:
        raise cannot_write(flag, path, error) from None


def check_state(args: argparse.Namespace) -> None:
    """Raises `InputError` RV122 where --state names what cannot be replaced by a file: a pipe, a device, a folder."""
    path = getattr(args, "state", None)
    if path is not None and os.path.exists(path) and not os.path.isfile(path):
        raise InputError("RV122", f"--state {path}: is no regular file, which a state is kept in; name another one")


def check_distinct(args: argparse.Namespace) -> None:
    """Raises `InputError` RV122 where an output would overwrite what the command reads, or another output."""
    taken: dict[str, str] = {}
    code = str(getattr(args, "code", None) or "").rpartition(":")[0]
    given = {"--model": getattr(args, "model", None), "--case": getattr(args, "case", None), "the code": code}
    for name, path in given.items():
        if isinstance(path, str) and os.path.isfile(path):
            taken[os.path.realpath(path)] = name
    for name in ("html", "svg", "certificate", "plot", "state"):
        path = getattr(args, name, None)
        if isinstance(path, str) and path and (os.path.isfile(path) or not os.path.exists(path)):
            real = os.path.realpath(path)
            if real in taken:
                raise InputError("RV122", f"--{name} {path}: would overwrite {taken[real]}; name another file")
            taken[real] = f"what --{name} writes"


def write_output(flag: str, path: str, written: str) -> None:
    """Write a file and say so on stderr. Raises `InputError` RV122."""
    try:
        with open_output(path) as file:
            file.write(written)
    except OSError as error:
        raise cannot_write(flag, path, error) from None
    note(f"wrote {path}")


def open_output(path: str) -> IO[str]:
    """A file to be written, UTF-8; a pipe that nobody reads is an `OSError`, and is not waited for."""
    target: str | int = path
    if _is_pipe(path):
        target = _held.pop(path) if path in _held else _open_pipe(path)
    return open(target, "w", encoding="utf-8", newline="\n")


def let_go(*paths: str) -> None:
    """Close the pipes that are held open: these, or all."""
    for path in paths or (*_held,):
        if path in _held:
            os.close(_held.pop(path))


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _open_pipe(path: str) -> int:
    opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(opened, True)
    return opened


def not_written(flag: str, path: str | None, why: str) -> None:
    """Say that a file that was asked for is not there, and remove an older one: it must not stand in its place."""
    if path is None:
        return
    older = ""
    if os.path.isfile(path):
        try:
            os.unlink(path)
            older = "; the older file of that name was removed"
        except OSError as error:
            older = f"; the file of that name is an OLDER one, and cannot be removed ({error.strerror or error})"
    warn(one_line(f"{flag} {path}: not written: {why}{older}"))


def write_unfinished(args: argparse.Namespace, why: str, covered: str = "") -> None:
    """For a command that a limit ended: no older file stands in the place of what was asked for, and a page says so.

    A command that has written a file already sets its argument to None.
    """
    for name in ("certificate", "svg", "plot"):
        not_written(f"--{name}", getattr(args, name, None), "there is no answer")
    path: str | None = getattr(args, "html", None)
    if path is None:
        return
    from rheo_verify.report.html.page import unfinished

    with contextlib.suppress(InputError):
        write_output("--html", path, unfinished(args.command, why, covered, args.command_line))


def cannot_write(flag: str, path: str, error: Exception, code: str = "RV122") -> InputError:
    """What went wrong with an output file, in one line."""
    folder = os.path.dirname(path) or "."
    if getattr(error, "errno", None) == errno.ENXIO and _is_pipe(path):
        return InputError(code, f"{flag} {path}: is a pipe that nobody reads; start its reader first, or name a file")
    why = getattr(error, "strerror", None) or str(error)
    if not os.path.isdir(folder):
        why = f"there is no folder {folder}"
    return InputError(code, f"{flag} {path}: cannot be written ({why})")
