"""`decoders`: every published decoder of the family under its own name, with its verdict and exact acceptance."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from rheo_verify.cli import settings
from rheo_verify.cli.files import add_html_argument, check_output, write_output, write_unfinished
from rheo_verify.cli.progress import ProgressBar

if TYPE_CHECKING:
    from rheo_verify.limits import Limits
    from rheo_verify.models.model import Model

EXAMPLES = """examples:
  rheo_verify decoders
  rheo_verify decoders block-verification --vocab 3 --levels 3 --length 4
  rheo_verify decoders --model weather --json
  rheo_verify decoders --html decoders.html

The table's exit code is 0 if every decoder that should be lossless is, whatever the lossy ones do.
"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "decoders",
        help="the table of published decoders: verdict, acceptance, cost; or one of them",
        description="Decide for every decoder of the family, exactly, whether it is lossless, and what it accepts.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="one decoder (default: all of them)")
    settings.add_model_arguments(parser)
    group = parser.add_argument_group("what is compared")
    group.add_argument("--levels", type=int, default=2, metavar="D", help="depth of the trees (default: 2)")
    group.add_argument("--length", type=int, default=3, metavar="L", help="tokens that are compared (default: 3)")
    settings.add_time_limit(group)
    add_html_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command: one decoder's verdict, or 1 if one that should be lossless is not, 3 if one is unfinished."""
    check_output("--html", args.html)
    model = settings.from_arguments(args).model
    with ProgressBar() as bar:
        limits = settings.limits_from(args, bar.update)
        if args.name is not None:
            code, output = _one(args, model, limits)
        else:
            code, output = _table(args, model, limits)
    sys.stdout.write(output)
    return code


def _one(args: argparse.Namespace, model: Model, limits: Limits) -> tuple[int, str]:
    from rheo_verify.checks.decoders import Unfinished, evaluate_in_time, total_variation_by_lenience, watched
    from rheo_verify.decoders.registry import entry
    from rheo_verify.report import decoders as report
    from rheo_verify.report.text import stdout_style

    row = evaluate_in_time(entry(args.name, model.vocab), model, limits, levels=args.levels, length=args.length)
    if isinstance(row, Unfinished):
        scope = (model, (), args.levels, args.length)
        write_unfinished(args, row.why, row.covered)
        unfinished = report.table_json([row], *scope) if args.json else report.unfinished_text(row, stdout_style())
        return row.verdict.exit_code, unfinished
    growth = watched(model, row.context, row.decoder, limits)
    scale = {"levels": args.levels, "length": args.length, "limits": limits}
    curve = total_variation_by_lenience(model, **scale) if args.name == "lenient" else ()
    if args.html is not None:
        from rheo_verify.report.html.decoders import one_html

        write_output("--html", args.html, one_html(row, growth, curve, args.command_line))
    output = report.one_json(row, growth, curve) if args.json else report.one_text(row, growth, curve, stdout_style())
    return row.verdict.exit_code, output


def _table(args: argparse.Namespace, model: Model, limits: Limits) -> tuple[int, str]:
    from rheo_verify.checks.decoders import Evaluation, evaluate_all
    from rheo_verify.checks.verdict import Verdict
    from rheo_verify.decoders.registry import REGISTRY
    from rheo_verify.report import decoders as report
    from rheo_verify.report.text import stdout_style

    rows = evaluate_all(REGISTRY.values(), model, levels=args.levels, length=args.length, limits=limits)
    scope = (model, (), args.levels, args.length)
    if args.html is not None:
        from rheo_verify.report.html.decoders import table_html

        write_output("--html", args.html, table_html(rows, *scope, args.command_line))
    output = report.table_json(rows, *scope) if args.json else report.table_text(rows, *scope, stdout_style())
    wrong = any(isinstance(row, Evaluation) and row.entry.lossless and not row.as_expected for row in rows)
    unfinished = any(row.verdict is Verdict.INCONCLUSIVE for row in rows)
    return 1 if wrong else 3 if unfinished else 0, output
