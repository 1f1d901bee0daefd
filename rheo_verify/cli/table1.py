"""`table1`: the paper's Table 1, computed."""

from __future__ import annotations

import argparse
import sys
from typing import Any

EXAMPLES = """examples:
  rheo_verify table1
  rheo_verify table1 --json

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "table1",
        help="reproduce the paper's Table 1, with verdicts",
        description="The candidate pool of the paper's Table 1 under the paper's proxy and under an ad-hoc one: what "
        "survives, the law of the sampled token given that it does, the verdict and the total variation.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command: 0 if the paper's proxy is verified and the ad-hoc one refuted, as the paper says."""
    from rheo_verify.checks.table1 import table1
    from rheo_verify.report import table1 as report
    from rheo_verify.report.text import stdout_style

    rows = table1()
    sys.stdout.write(report.to_json(rows) if args.json else report.to_text(rows, stdout_style()))
    return 0 if report.as_published(rows) else 1
