"""`prove`: run the machine-checked proofs of the claims."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rheo_verify.cli.progress import ProgressBar
from rheo_verify.cli.settings import add_time_limit, interrupting, limits_from
from rheo_verify.errors import LimitReached

EXAMPLES = """examples:
  rheo_verify prove table-1 --level 1
  rheo_verify prove lossless optimal-acceptance
  rheo_verify prove --level 3 --json

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "prove",
        help="run the machine-checked proofs of the claims",
        description="Run every check of a claim (default: of all claims): Rocq theorems (level 3, needs coqc with "
        "mathcomp), symbolic proofs (level 2, needs z3 and sympy), bounded sweeps (level 1), random instances (level "
        "0). What is not installed is said, and then the answer is inconclusive.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="claim ids (docs/reference/claims.md); default: all")
    parser.add_argument("--level", type=int, choices=(0, 1, 2, 3), help="only the checks of this level")
    add_time_limit(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command: 0 if every check ran and held, 1 if one failed, 3 if one could not run or there was none."""
    from rheo_verify.checks.proofs import Proved, chosen_claims, prove
    from rheo_verify.checks.verdict import Verdict
    from rheo_verify.report import proofs as report
    from rheo_verify.report.text import stdout_style

    answers: list[Proved] = []
    stopped = None
    try:
        with ProgressBar() as bar, interrupting(limits_from(args, bar.update)) as limits:
            answers.extend(prove(chosen_claims(args.claims), args.level, limits.tell))
    except LimitReached as limit:
        stopped = limit
    asked = [answer for answer in answers if answer.steps or args.level is None or args.claims]
    if asked or args.json:
        sys.stdout.write(report.to_json(asked) if args.json else report.to_text(asked, stdout_style()))
    verdict = Verdict.worst(answer.verdict for answer in asked) if asked else Verdict.INCONCLUSIVE
    if stopped is not None and verdict is not Verdict.REFUTED:
        raise stopped
    return verdict.exit_code
