"""`inspect`: what is this checkpoint, and do a target and a head fit?"""

from __future__ import annotations

import argparse
import sys
from typing import Any

EXAMPLES = """examples:
  rheo_verify inspect llama-3.1-8b
  rheo_verify inspect llama-3.1-8b eagle3-llama-3.1-8b

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "inspect",
        help="say what a checkpoint folder is, and whether target and head fit",
        description="Read a local Llama or EAGLE-3 checkpoint: layout, sizes, vocabulary maps; with two folders also "
        "whether they fit. Every fault is named by its key. Needs the torch extra.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", help="one checkpoint, or a target and a head")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command: 0 if everything can be used and fits; else the report, and its first fault as bad input."""
    from rheo_verify.checks.inspection import inspect_folder, misfit
    from rheo_verify.errors import InputError
    from rheo_verify.report import inspection as report
    from rheo_verify.report.text import stdout_style

    if len(args.folders) > 2:
        raise InputError("RV106", "inspect takes one folder, or a target and a head")
    found = [inspect_folder(folder) for folder in args.folders]
    reason = None
    if len(found) == 2 and not any(it.faults for it in found):
        target, head = found if found[1].head is not None else (found[1], found[0])
        reason = misfit(target, head)
    pair = len(found) == 2
    sys.stdout.write(
        report.to_json(found, pair, reason) if args.json else report.to_text(found, pair, reason, stdout_style())
    )
    faults = [fault for it in found for fault in it.faults]
    if faults:
        code, _, message = faults[0].partition(": ")
        raise InputError(code, message)
    if reason is not None:
        raise InputError("RV605", reason)
    return 0
