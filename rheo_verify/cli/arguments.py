"""The parser: argparse, but every fault is one line with a code, and what was written on the line is known."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn

from rheo_verify.errors import InputError
from rheo_verify.report.terminal import NARROW, wrapped
from rheo_verify.words import meant, shortened

MAY_BE_EMPTY = ("context",)
"""Arguments for which "" is a value: the context before the first token."""
_KINDS = {int: "a whole number", float: "a number"}
_FORMS = (
    (r"argument (?P<flag>[^:]+): expected one argument", "{flag} needs a value"),
    (r"argument (?P<flag>[^:]+): not allowed with argument (?P<other>.+)", "{flag} and {other} exclude each other"),
    (
        r"argument (?P<flag>[^:]+): ignored explicit argument (?P<value>.+)",
        "{flag} takes no value, not {value}",
    ),
    (r"the following arguments are required: (?P<names>.+)", "{names} is missing"),
)
"""What argparse says, and how it is said here."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Paragraphs fit the terminal; lines that begin with a space (examples, exit codes) stay as they are."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if self._width < NARROW:
            self._max_help_position = 6

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = text.splitlines()
        return "\n".join(line if line[:1] in ("", " ") else "\n".join(wrapped(line, width)) for line in lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width)

    def _format_usage(self, *given: Any) -> str:
        width = self._width
        if width >= NARROW:
            return super()._format_usage(*given)
        self._width = 10_000
        words = re.sub(r"\[[^\[\]]*\]", lambda flag: flag[0].replace(" ", "\0"), super()._format_usage(*given))
        self._width = width
        fit = "\n".join(wrapped(words, width, then="  "))
        return fit.replace("\0", " ") + "\n\n"


class Parser(argparse.ArgumentParser):
    """Faults raise `InputError` RV110 instead of ending the process. Subparsers are of this class, too.

    The namespace gets `given`: for each argument on the line its name, as help has it (``--m``, ``FILE``).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", Help)
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # -1/4 is a value, not a flag
        self._given: dict[str, str] = {}
        self._written: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse has it; but what is not known is refused here, where it can be said what is."""
        self._given, self._written = {}, list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(self._written, namespace)
        if unknown:
            self._refuse(unknown[0])
        found.given = {**getattr(found, "given", {}), **self._given}
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the fault."""
        for form, words in _FORMS:
            if found := re.fullmatch(form, message):
                message = words.format(**found.groupdict()) + self._mistaken(found.groupdict().get("flag"))
        raise InputError("RV110", f"{message}{' See' if message.endswith('?') else '; see'} {self.prog} --help")

    def _mistaken(self, flag: str | None) -> str:
        """What follows a flag, where it was taken for another one."""
        for before, after in pairwise(self._written):
            if before == flag and after.startswith("-") and after not in self._option_string_actions:
                return f": {short(after)} begins with a minus, as flags do; write {flag}={after}"
        return ""

    def _refuse(self, word: str) -> NoReturn:
        if not word.startswith("-"):
            self.error(f"{short(word)} is one argument too many")
        flag = word.partition("=")[0]
        self.error(f"there is no flag {short(flag)}{meant(flag, self._option_string_actions)}")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.option_strings or arg_strings:
            name = name_of(action)
            if action.nargs != 0 and not _repeatable(action) and self._given.get(action.dest) == name:
                self.error(f"{name} is given twice, and takes one value; give it once")
            self._given[action.dest] = name
            empty = action.nargs != argparse.PARSER and any(not value.strip() for value in arg_strings)
            if empty and action.dest not in MAY_BE_EMPTY:
                self.error(f"{name} needs a value, but an empty one is given")
        return super()._get_values(action, arg_strings)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            kind = _KINDS.get(action.type, "of another form")  # type: ignore[call-overload]
            self.error(f"{name_of(action)} {short(arg_string)} must be {kind}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        commands = isinstance(action, argparse._SubParsersAction)
        what = "there is no command" if commands else f"{name_of(action)} cannot be"
        others = f"; there are {', '.join(known)}"
        if len(known) == 1:
            what, others = "there is no", f", only {known[0]}"
        remedy = meant(str(value), known) or others
        self.error(f"{what} {short(str(value))}{remedy}")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Where the help cannot be written, that is an error."""
        (file or sys.stderr).write(message)


def _repeatable(action: argparse.Action) -> bool:
    """Whether every value counts, not only the last one."""
    return isinstance(action, argparse._AppendAction)


def name_of(action: argparse.Action) -> str:
    """``--m``, or ``FILE`` of an argument without a flag."""
    return action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)


def short(value: str) -> str:
    """A value in quotes, without its middle where it is long."""
    return repr(shortened(value))
