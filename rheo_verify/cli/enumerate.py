"""`enumerate`: is RheoSampling, or a broken relative, lossless on this model, for every tree it can make?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from rheo_verify.cli import settings
from rheo_verify.cli.certificates import add_certificate, check_name, write
from rheo_verify.cli.combinations import without_effect
from rheo_verify.cli.files import add_html_argument, check_output, not_written, write_output
from rheo_verify.cli.messages import note
from rheo_verify.cli.progress import ProgressBar
from rheo_verify.errors import InputError, LimitReached

if TYPE_CHECKING:
    from rheo_verify.checks.enumeration import Enumeration
    from rheo_verify.limits import Limits

EXAMPLES = """examples:
  rheo_verify enumerate --vocab 6 --m 1
  rheo_verify enumerate --model table-1 --budget 2 --depth 1 --proxy 1/4
  rheo_verify enumerate --vocab 8 --k 4 --beam 4 --depth 5 --budget 16 --method classes --json
  rheo_verify enumerate --model table-1 --budget 2 --depth 1 --certificate table-1.v
  rheo_verify enumerate --model table-1 --budget 2 --depth 1 --proxy 1/4 --html table-1.html --svg table-1.svg
  rheo_verify enumerate --vocab 5 --depth 4 --method exhaustive --jobs 2 --checkpoint build/finished

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "enumerate",
        help="decide losslessness by enumerating every stochastic tree",
        description="Enumerate every tree that the drafting's randomness can make, prune and group them, and compare "
        "what is emitted with the target, in exact rationals, at every budget 1…R.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    settings.add_model_arguments(parser)
    settings.add_design_arguments(parser)
    group = parser.add_argument_group("enumeration")
    group.add_argument("--cycles", type=int, default=1, metavar="N", help="decoding cycles to compare (default: 1)")
    group.add_argument(
        "--method",
        choices=("auto", "exhaustive", "classes"),
        default="auto",
        help="every unpruned tree, or one growth a class (refused where it would repair the design); default: auto",
    )
    settings.add_time_limit(group)
    group.add_argument(
        "--max-trees",
        type=int,
        metavar="N",
        help="form at most so many unpruned trees, else end as INCONCLUSIVE (exhaustive method)",
    )
    add_certificate(group, "the verdict")
    add_html_argument(group)
    group.add_argument("--svg", metavar="FILE", help="also draw the class that the report shows, as SVG")
    group.add_argument("--json", action="store_true", help="print one JSON object")
    settings.add_work_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from rheo_verify.checks.certificate import check_certifiable
    from rheo_verify.checks.enumeration import enumerate_design
    from rheo_verify.report import enumeration as report
    from rheo_verify.report.text import stdout_style

    if args.cycles < 1:
        raise InputError("RV106", f"--cycles {args.cycles} must be at least 1")
    if args.max_trees is not None and args.max_trees < 1:
        raise InputError("RV106", f"--max-trees {args.max_trees} must be at least 1")
    check_name(args.certificate)
    check_output("--html", args.html)
    check_output("--svg", args.svg)
    chosen = settings.from_arguments(args)
    if args.certificate is not None:
        check_certifiable(args.cycles, chosen.rule.name)
    workers, store = settings.workers_from(args)
    with ProgressBar() as bar:
        limits = settings.limits_from(args, bar.update, args.max_trees)
        try:
            result = enumerate_design(
                chosen.model,
                chosen.design,
                chosen.rule,
                method=args.method,
                cycles=args.cycles,
                limits=limits,
                workers=workers,
                store=store,
            )
        except (LimitReached, KeyboardInterrupt) as stop:
            why = stop.message if isinstance(stop, LimitReached) else "interrupted"
            ended = report.Unfinished(chosen.model, chosen.design, chosen.rule, why, limits.covered)
            if args.html is not None:
                from rheo_verify.report.html.enumeration import unfinished_html

                write_output("--html", args.html, unfinished_html(ended, args.command_line))
            sys.stdout.write(
                report.unfinished_json(ended) if args.json else report.unfinished_text(ended, stdout_style())
            )
            for name in ("certificate", "svg"):
                not_written(f"--{name}", getattr(args, name), "there is no answer")
            return 3
    for words in without_effect(args, method=result.method):
        note(words)
    limits.progress = None
    if args.certificate is not None:
        try:
            _write_certificate(result, args.certificate, limits)
        except LimitReached as limit:
            not_written("--certificate", args.certificate, f"{limit.message} while its rows were collected")
        args.certificate = None
    if args.html is not None:
        from rheo_verify.report.html.enumeration import to_html

        write_output("--html", args.html, to_html(result, chosen.text(), args.command_line, limits))
    if args.svg is not None:
        from rheo_verify.report.html.pictures import class_svg

        try:
            write_output("--svg", args.svg, class_svg(result, args.command_line, limits))
        except LimitReached as limit:
            not_written("--svg", args.svg, f"{limit.message} before its class was found")
        args.svg = None
    if args.json:
        sys.stdout.write(report.to_json(result, chosen.text(), limits))
    else:
        sys.stdout.write(report.to_text(result, chosen.text(), stdout_style(), limits))
    return result.verdict.exit_code


def _write_certificate(result: Enumeration, path: str, limits: Limits) -> None:
    from rheo_verify.checks.certificate import certificate_of
    from rheo_verify.report.certificate_json import to_json
    from rheo_verify.report.certificate_rocq import to_rocq

    certificate = certificate_of(result, limits)
    write(path, lambda: to_json(certificate), lambda: to_rocq(certificate))
