"""`check`: is this Python, NumPy or PyTorch code, unchanged, lossless?"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from dataclasses import replace
from typing import Any

from rheo_verify.cli import settings
from rheo_verify.cli.certificates import check_name, write
from rheo_verify.cli.check_flags import add_flags, filled, refuse_idle_flags
from rheo_verify.cli.files import check_output, write_output
from rheo_verify.cli.progress import ProgressBar
from rheo_verify.errors import InputError

EXAMPLES = """examples:
  rheo_verify check my_package.sampling:verify --as verifier
  rheo_verify check my_file.py:generate --as decoder --temperature 0.5 --top-p 0.9
  rheo_verify check my_file.py:Sampler --as sampler --arrays numpy --json
  rheo_verify check kernel.py:verify --as coins --strata 8 --batched --device cuda
  rheo_verify check my_file.py:verify --arrays numpy --scope quick --certificate verdict.v
  rheo_verify check --planted toy_models/broken

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "check",
        help="decide whether other people's code is lossless, by exact enumeration of its random calls",
        description="Run a function while its calls of random, numpy.random and torch are answered by enumeration, and "
        "compare its exact output law with the target's.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from rheo_verify.foreign import texts
    from rheo_verify.foreign.evidence import keeping
    from rheo_verify.foreign.loading import load
    from rheo_verify.foreign.memory import holding
    from rheo_verify.foreign.paths_certificate import MOST_KEPT, paths_certificate
    from rheo_verify.foreign.progress import telling
    from rheo_verify.foreign.recipes import check_path
    from rheo_verify.report.paths_certificate import to_json, to_rocq

    refuse_idle_flags(args)
    check_output("--html", args.html)
    check_name(args.certificate)
    if args.planted:
        from rheo_verify.foreign.planted import table

        with ProgressBar() as bar, telling(bar.update):
            written = table(args.planted)
        sys.stdout.write(written)
        return 0
    if not args.code:
        raise InputError("RV106", "name what to check: MODULE:FUNCTION or FILE.py:FUNCTION")
    args = filled(args)
    if args.path is not None:
        check_path(args.way, args.path)
    case = None if args.case is None else read_case_argument(args.case)
    options, memory = _options(args), settings.memory_from(args)
    with contextlib.redirect_stdout(sys.stderr):
        code = load(args.code)
    keep = keeping(MOST_KEPT) if args.certificate else contextlib.nullcontext()
    with contextlib.redirect_stdout(sys.stderr), keep as kept, ProgressBar() as bar, telling(bar.update):
        with holding(memory):
            report = check(code, args, options, case)
        seen = None if args.html is None else _seen(code, report, args, options)
    if kept is not None:
        certificate = paths_certificate(report, kept.cases)
        write(args.certificate, lambda: to_json(certificate), lambda: to_rocq(certificate), certificate.stated())
        args.certificate = None  # written: an interrupt from here on leaves it
    if args.html is not None:
        from rheo_verify.report.html.check import to_html

        write_output("--html", args.html, to_html(report, seen, args.code, args.command_line))
    sys.stdout.write(
        json.dumps(texts.report_json(report, args.code), indent=1) + "\n"
        if args.json
        else texts.report_text(report, args.code)
    )
    code_number: int = report.verdict.exit_code
    return code_number


def check(code: Any, args: argparse.Namespace, options: dict[str, Any], case: Any) -> Any:
    """The report of the check that the arguments ask for."""
    from rheo_verify.foreign.coin_strata import check_strata
    from rheo_verify.foreign.rerunning import CHECKS
    from rheo_verify.foreign.spreading import Spread, spreading

    if args.strata is not None:
        return check_strata(code, **options, case=case)
    workers, store = settings.workers_from(args)
    if args.way == "coins" or args.certificate or case is not None:
        return CHECKS[args.way](code, **options, case=case, path=args.path)
    with spreading(Spread(args.code, args.way, options, workers, store)):
        return CHECKS[args.way](code, **options)


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """What the check of this way in is called with, besides the code."""
    from rheo_verify.foreign.coin_strata import Strata
    from rheo_verify.foreign.decoder import DecoderScope
    from rheo_verify.foreign.processing import Processing
    from rheo_verify.foreign.scope import Scope

    scope: Any
    if args.way == "decoder":
        scope = DecoderScope.read(args.scope, batch=args.batch, length=args.length)
    else:
        scope = Scope.read(args.scope or ("small" if args.way == "coins" else ""))
    scope = scope if args.time_limit is None else replace(scope, seconds=args.time_limit)
    common: dict[str, Any] = {"arrays": args.arrays, "dtype": args.dtype, "scope": scope}
    processing = Processing(args.temperature, args.top_k, args.top_p, args.min_p)
    if args.way == "verifier":
        return {**common, "logits": args.logits, "in_place": args.in_place}
    if args.way == "sampler":
        return {**common, "logits": not args.probabilities, "processing": processing}
    if args.way == "decoder":
        return {**common, "logits": args.logits, "processing": processing, "in_place": args.in_place}
    if args.strata is None:
        return {**common, "coins": args.coins}
    strata = Strata(args.strata, args.changes, args.within, args.evaluations)
    return {**common, "coins": args.coins, "strata": strata, "device": args.device, "batched": args.batched}


def replay(written: str) -> Any:
    """The report of one case and one path that a replay string names. Raises `InputError` RV109, RV103."""
    from rheo_verify.foreign.loading import load
    from rheo_verify.foreign.progress import telling
    from rheo_verify.foreign.recipes import read_recipe
    from rheo_verify.foreign.rerunning import rerun

    recipe = read_recipe(written)
    with contextlib.redirect_stdout(sys.stderr), ProgressBar() as bar, telling(bar.update):
        return rerun(None if recipe.way == "huggingface" else load(recipe.code), recipe)


def _seen(code: Any, report: Any, args: argparse.Namespace, options: dict[str, Any]) -> Any:
    """The first finding's case from inside; None where there is none, or no paths."""
    from rheo_verify.foreign.cases import read_case
    from rheo_verify.foreign.paths import seen
    from rheo_verify.foreign.second_call import read_second

    if not report.findings or args.strata is not None:
        return None
    first = report.findings[0]
    return seen(code, args.way, read_case(first.data), after=read_second(first.replay)[0], **options)


def read_case_argument(written: str) -> Any:
    """The case that ``--case`` gives: JSON, or the name of a file of it. Raises `InputError` RV120, RV104."""
    from rheo_verify.foreign.cases import parse_case
    from rheo_verify.models.table_file import read_file

    if written.lstrip()[:1] in ("{", "["):
        return parse_case(written)
    try:
        content = read_file(written, "RV120")
    except InputError as error:
        raise InputError("RV120", f"--case {error.message}, and a case itself begins with {{") from None
    return parse_case(content, f"--case {written}")
