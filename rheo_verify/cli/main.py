"""The command line: one file per command; this one parses, runs, and turns what went wrong into one line and a code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import shlex
import sys
from collections.abc import Sequence

import rheo_verify
from rheo_verify.cli.outputs import write_unfinished
from rheo_verify.errors import LimitReached, RheoVerifyError

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
)
EXIT_CODES = """exit codes:
  0  verified: everything in the stated scope was exhausted
  1  refuted: there is a counterexample
  2  usage or bad input
  3  inconclusive: a limit was reached
  4  internal error
"""


def parser() -> argparse.ArgumentParser:
    """The whole parser, for the command line and for the documentation."""
    top = argparse.ArgumentParser(
        prog="rheo_verify",
        description="Decide, exactly, whether a speculative decoder is lossless.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"rheo_verify {rheo_verify.__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"rheo_verify.cli.{name}").add(subparsers)
    return top


def run(argv: Sequence[str] | None = None) -> int:
    """Parse and run one command; the exit code (see EXIT_CODES)."""
    given = sys.argv[1:] if argv is None else list(argv)
    args = parser().parse_args(given)
    args.command_line = shlex.join(["python", "-m", "rheo_verify", *given])
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except LimitReached as limit:
        covered = f" ({limit.covered})" if limit.covered else ""
        print(f"INCONCLUSIVE: {limit}{covered}", file=sys.stderr)
        write_unfinished(args, str(limit), limit.covered)
        return 3
    except RheoVerifyError as error:
        print(f"rheo_verify {args.command}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("INCONCLUSIVE: RV203: interrupted", file=sys.stderr)
        write_unfinished(args, "RV203: interrupted")
        return 3
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"rheo_verify {args.command}: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except Exception as error:
        import traceback

        traceback.print_exc()
        print(f"rheo_verify {args.command}: internal error: {error!r}; please report it", file=sys.stderr)
        return 4
