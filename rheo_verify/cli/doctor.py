"""`doctor`: what is installed here, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

EXAMPLES = """examples:
  rheo_verify doctor
  rheo_verify doctor --need torch --need rocq
  rheo_verify doctor --json

exit codes:
  0  the core, and every part named with --need, is there and works
  2  there is no part of that name
  3  something needed is missing; the output says how to install it
  4  internal error
"""


def add(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="say what is installed, what is missing, and how to install it",
        description="Versions, the rational type, torch and its device, extras, Rocq, a browser: what is there, what "
        "each is for, and how to get what is missing.",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "--need", metavar="PART", action="append", default=[], help="exit with 3 if it is missing; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command: 0 if all that is needed is there, else 3."""
    from rheo_verify.checks.installation import look
    from rheo_verify.report import installation as report
    from rheo_verify.report.text import stdout_style

    found = look()
    missing = found.missing(args.need)
    sys.stdout.write(report.to_json(found, missing) if args.json else report.to_text(found, missing, stdout_style()))
    return 3 if missing else 0
