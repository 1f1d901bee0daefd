"""Files that a command writes besides stdout: looked at before the work starts, written after it."""

from __future__ import annotations

import argparse
import contextlib
import os

from rheo_verify.cli.messages import note, warn
from rheo_verify.cli.output import one_line
from rheo_verify.errors import InputError


def add_html_argument(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """--html FILE."""
    group.add_argument("--html", metavar="FILE", help="also write the answer as one self-contained page")


def check_output(flag: str, path: str | None) -> None:
    """Raises `InputError` RV122 where a file cannot be written, before the long work. No file is left behind."""
    if path is None:
        return
    if not path:
        raise InputError("RV122", f"{flag} needs the name of a file")
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return  # a pipe or a device: opening it may wait or do something
    try:
        missing = not os.path.exists(path)
        with open(path, "ab"):
            pass
        if missing:
            os.unlink(path)
    except (OSError, ValueError) as error:
        raise _cannot(flag, path, error) from None


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
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(written)
    except OSError as error:
        raise _cannot(flag, path, error) from None
    note(f"wrote {path}")


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


def _cannot(flag: str, path: str, error: Exception) -> InputError:
    folder = os.path.dirname(path) or "."
    why = getattr(error, "strerror", None) or str(error)
    if not os.path.isdir(folder):
        why = f"there is no folder {folder}"
    return InputError("RV122", f"{flag} {path}: cannot be written ({why})")
