"""`search`: for which p and q does a statement about acceptance rates hold, and how often?"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from rheo_verify.cli.progress import ProgressBar
from rheo_verify.cli.settings import add_time_limit, add_work_arguments, limits_from, workers_from

EPILOG = """examples:
  rheo_verify search --where "rrsw > rheo" --vocab 4 --denominator 6
  rheo_verify search --where "optimal - rheo >= 1/3" --largest "optimal - rheo" --json
  rheo_verify search --where "rrsw > rheo" --denominator 16 --state search.json --time-limit 60

rates:      rheo  rrsw  topk  optimal  bound  single (one sampled draft token)  top1 (one top-1 draft token);
            also written top_k (topk) and upper_bound (bound)
question:   comparisons of sums of rates, with and, or, not and parentheses: "optimal - rheo >= 1/3 and rrsw < rheo"
exit codes: 0 no such pair in the whole scope; 1 a pair was found; 2 bad input; 3 stopped before the end, none found;
            4 internal error
"""


def add(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser(
        "search",
        help="search all p, q on a grid for an acceptance statement",
        description="Search all p, q with a common denominator of at most N, smallest first, in exact integers.",
        epilog=EPILOG,
    )
    parser.add_argument("--where", required=True, metavar="QUESTION", help='what to look for, e.g. "rrsw > rheo"')
    parser.add_argument("--vocab", type=int, default=4, metavar="V", help="tokens (default 4)")
    parser.add_argument("--denominator", type=int, default=8, metavar="N", help="largest denominator (default 8)")
    parser.add_argument("--m", type=int, metavar="M", help="only this many lead tokens (default: all, 0 to V-1)")
    parser.add_argument("--k", type=int, metavar="K", help="only this many candidates (default: all, m+1 to V)")
    parser.add_argument("--largest", metavar="SUM", help='also where this is largest, e.g. "optimal - rheo"')
    add_time_limit(parser)
    parser.add_argument("--state", metavar="FILE", help="store the search here, and take it up again from here")
    add_work_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Search and report; the exit code is that of "there is no such pair"."""
    from rheo_verify.checks.instances import check_grid, shapes_of
    from rheo_verify.checks.search import Scope, begin, steps
    from rheo_verify.checks.search_pieces import MOST_PAIRS, most_pairs, position, search_in_pieces
    from rheo_verify.checks.search_state import store, take_up
    from rheo_verify.errors import InputError, LimitReached
    from rheo_verify.probability.rationals import about
    from rheo_verify.report.search import search_data, search_text
    from rheo_verify.report.text import stdout_style

    limits = limits_from(args, zero=True)
    workers, kept = workers_from(args)
    if args.state is not None and args.checkpoint is not None:
        raise InputError("RV106", "--state and --checkpoint exclude each other: give one of them")
    check_grid(args.vocab, args.denominator)
    scope = Scope(args.where, args.vocab, args.denominator, shapes_of(args.vocab, args.m, args.k), args.largest)
    pairs = most_pairs(scope)
    if pairs > MOST_PAIRS:
        message = f"{about(pairs)} pairs are too many to look at (at most {MOST_PAIRS:,})"
        raise InputError("RV108", f"{message}; take a smaller --vocab or --denominator")
    found = begin(scope)
    if args.state is not None:
        found = take_up(scope, args.state) or found
    before, started, shown = found.seconds, time.monotonic(), 0.0
    try:
        with ProgressBar() as bar:
            for latest in steps(found) if args.state is not None else search_in_pieces(scope, workers, limits, kept):
                now = time.monotonic() - started
                found = latest.after(before + now)
                if args.time_limit is not None and now >= args.time_limit:
                    break
                if now - shown > 0.2:
                    shown = now
                    bar.update("pairs", position(found), pairs)
                    if args.state is not None:
                        store(found, args.state)
    except LimitReached as limit:
        print(f"{limit.message}; what was found so far:", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted; what was found so far:", file=sys.stderr)
    if args.state is not None:
        store(found, args.state)
    print(json.dumps(search_data(found), indent=1) if args.json else search_text(found, stdout_style()))
    return found.verdict.exit_code
