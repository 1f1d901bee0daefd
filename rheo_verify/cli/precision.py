"""`precision`: how often rounding breaks the proxy, how often scores tie, and what the remedy does."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from rheo_verify.cli.progress import ProgressBar
from rheo_verify.cli.settings import add_time_limit, limits_from
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.probability.rationals import about
from rheo_verify.words import count

if TYPE_CHECKING:
    from rheo_verify.limits import Limits

MOST_ENTRIES = 2**28

EXAMPLES = """examples:
  rheo_verify precision --vocab 128 --scale 8
  rheo_verify precision --pair

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "precision",
        help="measure what bf16, fp16 and fp32 do to the proxy and to ties",
        description="On random logits or a real head's: how often the proxy computed as 1 minus the lead falls below a "
        "fill, the total variation that results, how often scores tie; and the same with the tail's sum.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    parser.add_argument("--rows", type=int, default=2000, metavar="N", help="rows to look at (default: 2000)")
    parser.add_argument("--vocab", type=int, default=128, metavar="V", help="tokens of random rows (default: 128)")
    parser.add_argument("--scale", type=float, default=8.0, help="spread of random logits (default: 8)")
    parser.add_argument("--pair", action="store_true", help="real rows: of the shipped pair, along its default text")
    parser.add_argument("--m", default="1,2", metavar="N,N,…", help="values of m, at least 1 (default: 1,2)")
    parser.add_argument("--k", type=int, default=8, metavar="N", help="candidates, K (default: 8)")
    parser.add_argument("--rule", choices=("rheo", "rrsw"), default="rheo", help="verification rule (default: rheo)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the random rows (default: 0)")
    add_time_limit(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command: 0 if the remedy broke no row, 1 if it broke one, even if a limit ended the work after that."""
    from rheo_verify.models.torch_setup import torch_and_transformers

    leads = _checked(args)
    with ProgressBar() as bar:
        limits = limits_from(args, bar.update)
        torch_and_transformers()[0].set_num_threads(1)
        return _measured(args, leads, limits)


def _checked(args: argparse.Namespace) -> list[int]:
    """The values of m. Raises `InputError` RV106, RV108."""
    if args.k < 2:
        raise InputError("RV106", f"--k {args.k} must be at least 2, as m is from 1 to K - 1")
    try:
        leads = [int(it) for it in args.m.split(",")]
    except ValueError:
        leads = [0]
    if not all(1 <= lead < args.k for lead in leads):
        raise InputError("RV106", f"--m {args.m} must be numbers from 1 to K - 1 = {args.k - 1}")
    if args.rows < 1 or args.vocab < max(leads) + args.k or not 0 < args.scale < float("inf"):
        raise InputError("RV106", "--rows and --scale must be positive, and --vocab at least m + K")
    if args.rows * args.vocab > MOST_ENTRIES:
        size = f"{about(args.rows)} rows of {count(args.vocab, 'token')}"
        raise InputError("RV108", f"{size} are too many (at most {MOST_ENTRIES:,} entries); change --rows or --vocab")
    if not 0 <= args.seed < 2**63:
        raise InputError("RV106", f"--seed {args.seed} must be from 0 to 2^63 - 1")
    return leads


def _measured(args: argparse.Namespace, leads: list[int], limits: Limits) -> int:
    from rheo_verify.checks.precision import LOW, PrecisionRow, measure, random_logits
    from rheo_verify.report import precision as report
    from rheo_verify.report.text import stdout_style
    from rheo_verify.verification.rules import layer_rule

    limits.tell("measurements", 0, len(LOW) * len(leads))
    draft, target = _real(args.rows) if args.pair else random_logits(args.rows, args.vocab, args.scale, args.seed)
    found: list[PrecisionRow] = []
    stopped = None
    try:
        for dtype in LOW:
            for lead in leads:
                limits.tell("measurements", len(found), len(LOW) * len(leads))
                rule = layer_rule(args.rule)
                found.append(measure(draft, target, rule, dtype=dtype, lead=lead, pool=args.k, limits=limits))
    except LimitReached as limit:
        if not found:
            raise
        stopped = limit
    source = "the shipped pair" if args.pair else f"random rows of {args.vocab}, logits of scale {args.scale:g}"
    written = report.to_json(found, source, stopped) if args.json else None
    sys.stdout.write(written or report.to_text(found, source, stdout_style(), stopped))
    if any(it.remedied for it in found):
        return 1
    if stopped is not None:
        raise stopped
    return 0


def _real(rows: int) -> tuple[Any, Any]:
    from rheo_verify.cli.empirical import default_text
    from rheo_verify.models.contexts import logits_along
    from rheo_verify.models.pair import load_shipped

    pair = load_shipped()
    target, draft = logits_along(pair, [0, *default_text().encode()][: rows + 2])
    return draft, target[:, pair.head.to_target]
