"""`replay`: walk through one class, one tree, or one path of foreign code, step by step."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rheo_verify.cli.files import check_output, write_output
from rheo_verify.errors import InputError

WAYS = ("verifier", "sampler", "decoder", "coins", "strata", "huggingface")
HELP = """a replay string is SETTINGS:KIND:CHOICES, as printed by the other commands:
  SETTINGS  what differs from the defaults, e.g. vocab=6,m=2, or default
  KIND      class (best-first growth) or tree (build all, then prune)
  CHOICES   the tokens drawn, in order, e.g. 2.0; then, if it goes on,
            the choices of one verification

of foreign code (`check` prints them): KIND is verifier, sampler, decoder, coins, strata or huggingface, SETTINGS are
the code, its options and the case; the case is enumerated again, one path is walked through, and the exit code is the
verdict's

examples:
  rheo_verify replay vocab=6:class:2.0
  rheo_verify replay default:tree:1.2.3.2.3.2.1
  rheo_verify replay default:tree:1.2.3.2.3.2.1 --svg tree.svg
  rheo_verify replay mine.py:verify,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:1.1.0

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "replay",
        help="walk through one class or path: pools, scores, what survived, each verification step",
        epilog=HELP + EXIT_CODES,
    )
    parser.add_argument("string", metavar="STRING", help="a replay string")
    parser.add_argument("--svg", metavar="FILE", help="also draw the tree, with what was pruned faded, as SVG")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command; 0 when the path fits, whatever it shows. Of foreign code: the verdict on its case."""
    from rheo_verify.checks.walkthrough import walk_through
    from rheo_verify.cli.settings import from_text
    from rheo_verify.probability.replay import read_choices
    from rheo_verify.report import walkthrough as report
    from rheo_verify.report.text import stdout_style

    parts = args.string.rsplit(":", 2)
    foreign = parts[-2:-1] and parts[-2] in WAYS
    if foreign and args.svg is not None:
        raise InputError("RV106", "--svg draws a tree: a path of foreign code has none")
    check_output("--svg", args.svg)
    if foreign:
        return _foreign(args.string)
    if len(parts) != 3 or parts[1] not in ("class", "tree"):
        raise InputError("RV109", f"{args.string!r} is not a replay string like vocab=6,m=1:class:2.0 (see --help)")
    settings, kind, choices = parts
    chosen = from_text(settings)
    chosen.design.check_vocab(chosen.model.vocab)
    shown = walk_through(chosen.model, chosen.design, chosen.rule, kind == "class", read_choices(choices))
    if args.svg is not None:
        from rheo_verify.report.html.pictures import walk_svg

        write_output("--svg", args.svg, walk_svg(shown, args.command_line))
    sys.stdout.write(report.to_text(shown, stdout_style()))
    return 0


def _foreign(string: str) -> int:
    from rheo_verify.cli.check import replay
    from rheo_verify.foreign.texts import report_text

    found = replay(string)
    sys.stdout.write(report_text(found, string.rsplit(":", 2)[0].partition(",")[0]))
    code: int = found.verdict.exit_code
    return code
