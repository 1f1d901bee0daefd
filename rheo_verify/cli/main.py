"""The command line: one file per command; this one parses, runs, and turns what went wrong into one line and a code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import shlex
import sys
from collections.abc import Sequence

import rheo_verify
from rheo_verify.cli import messages
from rheo_verify.cli.arguments import Parser
from rheo_verify.cli.combinations import check_combinations
from rheo_verify.cli.files import check_distinct, check_state, let_go, write_unfinished
from rheo_verify.cli.messages import add_message_arguments
from rheo_verify.cli.output import Output, one_line, steady_output, terminal_width
from rheo_verify.errors import LimitReached, RheoVerifyError
from rheo_verify.report.terminal import NARROW

COMMANDS = (
    "enumerate",
    "table1",
    "replay",
    "acceptance",
    "search",
    "decoders",
    "check",
    "prove",
    "inspect",
    "empirical",
    "precision",
    "audit",
    "doctor",
    "completion",
)
EXIT_CODES = """exit codes:
  0  verified: everything in the stated scope was exhausted
  1  refuted: there is a counterexample
  2  usage or bad input
  3  inconclusive: a limit was reached
  4  internal error
"""
EXAMPLES = """examples:
  rheo_verify enumerate --vocab 6 --m 1
  rheo_verify check my_package.sampling:verify --as verifier
  rheo_verify doctor

COMMAND --help has the flags, examples and exit codes of a command.

"""
_FLAGS = (
    (r"^lead m |^m = ", "--m"),
    (r"^pool K |^n = ", "--k"),
    (r"^beam W ", "--beam"),
    (r"^depth D ", "--depth"),
    (r"^budget R ", "--budget"),
    (r"^vocab ", "--vocab"),
    (r"^denominator ", "--denominator"),
    (r"^support ", "--support"),
    (r"^temperature \S+ must be at least 0", "--temperature"),
    (r"^fault ", "--fault"),
    (r"^proxy ", "--proxy"),
    (r"^epsilon ", "--epsilon"),
    (r"^cycles ", "--cycles"),
    (r"^levels ", "--levels"),
    (r"^length ", "--length"),
)
"""What the library calls a parameter, and the flag that sets it."""


def parser() -> Parser:
    """The whole parser, for the command line and for the documentation."""
    top = Parser(
        prog="rheo_verify",
        description="Decide, exactly, whether a speculative decoder is lossless.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    top.add_argument("--version", action="version", version=f"rheo_verify {rheo_verify.__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"rheo_verify.cli.{name}").add(subparsers)
    for command in set(subparsers.choices.values()):
        add_message_arguments(command)
    return top


def run(argv: Sequence[str] | None = None) -> int:
    """Parse and run one command; the exit code (see EXIT_CODES)."""
    if sys.stdout is None:
        if sys.stderr is not None:
            print("rheo_verify: RV122: the output cannot be written: stdout is closed", file=sys.stderr)
        return 2
    with steady_output() as out:
        try:
            code = _run(sys.argv[1:] if argv is None else list(argv), out)
        finally:
            let_go()
        messages.end(code)
        return code


def _run(given: Sequence[str], out: Output) -> int:
    args = argparse.Namespace(command=None)
    name = " ".join(["rheo_verify", *(it for it in given[:1] if it in COMMANDS)])
    width = terminal_width()
    out.width = width if width < NARROW else None
    try:
        parsed = _parse(given)
        if parsed is None:
            sys.stdout.flush()
            return 0
        args = parsed
        out.width = None if getattr(args, "json", False) else out.width
        messages.choose(args.quiet, args.verbose)
        messages.begin(args.command)
        check_combinations(args)
        check_distinct(args)
        check_state(args)
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except LimitReached as limit:
        covered = f" ({limit.covered})" if limit.covered else ""
        _say(f"INCONCLUSIVE: {limit}{covered}")
        write_unfinished(args, str(limit), limit.covered)
        return 3
    except RheoVerifyError as error:
        _say(f"{name}: {error}{_flag(args, error.message)}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("INCONCLUSIVE: RV203: interrupted")
        write_unfinished(args, "RV203: interrupted")
        return 3
    except OSError as error:
        if error.filename is not None:
            _say(f"{name}: RV120: {error.filename}: cannot be read ({error.strerror or error})")
            return 2
        _say(f"{name}: RV122: the output cannot be written: {error.strerror or error}")
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except BaseException as error:  # nothing but a verdict may end a command with 0 or 1
        import traceback

        traceback.print_exc()
        _say(f"{name}: internal error: {error!r}; please report it")
        return 4


def _parse(given: Sequence[str]) -> argparse.Namespace | None:
    """The arguments; None where --help or --version was printed instead."""
    try:
        args: argparse.Namespace = parser().parse_args(given)
    except SystemExit:
        return None
    args.command_line = shlex.join(["python", "-m", "rheo_verify", *given])
    return args


def _say(words: str) -> None:
    print(one_line(words), file=sys.stderr)


def _flag(args: argparse.Namespace, message: str) -> str:
    """The flag to change, where a message of the library does not name it."""
    if "--" in message or args.command == "replay":
        return ""
    found = next((it for form, it in _FLAGS if re.match(form, message) and hasattr(args, it.removeprefix("--"))), None)
    return "" if found is None else f"; change {found}"
