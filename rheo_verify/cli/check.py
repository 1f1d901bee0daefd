"""`check`: is this Python, NumPy or PyTorch code, unchanged, lossless?"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from rheo_verify.cli import settings
from rheo_verify.cli.certificates import add_certificate, check_name, write
from rheo_verify.cli.files import add_html_argument, check_output, write_output
from rheo_verify.cli.progress import ProgressBar
from rheo_verify.errors import InputError

if TYPE_CHECKING:
    from rheo_verify.foreign.processing import Processing

EXAMPLES = """examples:
  rheo_verify check my_package.sampling:verify --as verifier
  rheo_verify check my_file.py:generate --as decoder --temperature 0.5 --top-p 0.9
  rheo_verify check my_file.py:Sampler --as sampler --arrays numpy --json
  rheo_verify check kernel.py:verify --as coins --strata 8 --batched --device cuda
  rheo_verify check my_file.py:verify --arrays numpy --scope quick --certificate verdict.v
  rheo_verify check --planted toy_models/broken

"""
WAYS = ("verifier", "sampler", "decoder", "coins")


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "check",
        help="decide whether other people's code is lossless, by exact enumeration of its random calls",
        description="Run a function while its calls of random, numpy.random and torch are answered by enumeration, and "
        "compare its exact output law with the target's.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "code", nargs="?", metavar="MODULE:FUNCTION", help="or FILE.py:FUNCTION; a class is built per path"
    )
    parser.add_argument("--as", dest="way", choices=WAYS, default="verifier", help="what it is (default: verifier)")
    parser.add_argument("--arrays", choices=("torch", "numpy", "list"), help="what it is given (default: torch)")
    parser.add_argument(
        "--dtype", default="float64", choices=("float64", "float32"), help="of the rows (default: float64)"
    )
    parser.add_argument("--logits", action="store_true", help="hand over logarithms of probabilities")
    parser.add_argument("--probabilities", action="store_true", help="a sampler is given probabilities, not logits")
    parser.add_argument(
        "--in-place", action="store_true", help="a verifier may write into its arguments, a decoder into the prompt"
    )
    group = parser.add_argument_group("processing (sampler and decoder): the target law is the processed one")
    group.add_argument("--temperature", type=float, metavar="T")
    group.add_argument("--top-k", type=int, metavar="K")
    group.add_argument("--top-p", type=float, metavar="P")
    group.add_argument("--min-p", type=float, metavar="P")
    group = parser.add_argument_group("scope")
    group.add_argument(
        "--scope", default="", metavar="SCOPE", help="quick, small, wide, or vocab=3,denominator=5,random=200,…"
    )
    group.add_argument("--batch", type=int, default=1, metavar="B", help="rows of a decoder's batch (default: 1)")
    group.add_argument(
        "--length", type=int, metavar="N", help="tokens whose joint law is compared (decoder; default: 3)"
    )
    group.add_argument("--case", metavar="JSON", help="run on this case only: JSON as --json gives it, or a file")
    group.add_argument("--path", metavar="CHOICES", help="with --case: show this one path, e.g. 1.0.2")
    add_certificate(group, "the verdict's numbers")
    group.add_argument("--planted", metavar="DIR", help="check every file of a folder of planted faults; print a table")
    group = parser.add_argument_group(
        "coins by strata: integrate with a stated error bound instead of searching for breakpoints"
    )
    group.add_argument("--strata", type=int, metavar="N", help="strata of each coin at first, a power of two")
    group.add_argument(
        "--changes",
        type=int,
        metavar="B",
        help="assume at most B changes of the output along a coin (default: each output is one interval of each coin)",
    )
    group.add_argument(
        "--within", type=float, metavar="X", help="VERIFIED allows total variation X (default: rounding)"
    )
    group.add_argument(
        "--evaluations", type=int, default=5_000, metavar="M", help="at most, for each drafts (default: 5000)"
    )
    group.add_argument("--coins", type=int, metavar="C", help="uniforms it is given (default: one per draft and one)")
    group.add_argument("--batched", action="store_true", help="every argument and result has a leading batch axis")
    group.add_argument("--device", default="cpu", metavar="D", help="of torch tensors, e.g. cuda (default: cpu)")
    settings.add_work_arguments(parser, memory=False)
    add_html_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from rheo_verify.foreign import texts
    from rheo_verify.foreign.evidence import keeping
    from rheo_verify.foreign.loading import load
    from rheo_verify.foreign.paths_certificate import MOST_KEPT, paths_certificate
    from rheo_verify.foreign.progress import telling
    from rheo_verify.foreign.recipes import check_path
    from rheo_verify.report.paths_certificate import to_json, to_rocq

    if args.html is not None and (args.planted or args.path):
        raise InputError("RV106", "--html is for one check: leave --planted and --path out")
    check_output("--html", args.html)
    check_name(args.certificate)
    if args.certificate and (args.planted or args.path):
        raise InputError("RV701", "a certificate speaks of one check: leave --planted and --path out")
    if args.planted:
        if args.code or args.json or args.case or args.jobs or args.backend or args.scheduler or args.checkpoint:
            raise InputError("RV106", "--planted checks a whole folder and prints a table: leave all other flags out")
        from rheo_verify.foreign.planted import table

        with ProgressBar() as bar, telling(bar.update):
            written = table(args.planted)
        sys.stdout.write(written)
        return 0
    if not args.code:
        raise InputError("RV106", "name what to check: MODULE:FUNCTION or FILE.py:FUNCTION")
    if args.path and not args.case:
        raise InputError("RV106", "--path needs --case")
    if args.path:
        check_path(args.way, args.path)
    with contextlib.redirect_stdout(sys.stderr):
        code = load(args.code)
    keep = keeping(MOST_KEPT) if args.certificate else contextlib.nullcontext()
    with contextlib.redirect_stdout(sys.stderr), keep as kept, ProgressBar() as bar, telling(bar.update):
        report = check(code, args)
    if kept is not None:
        certificate = paths_certificate(report, kept.cases)
        write(args.certificate, lambda: to_json(certificate), lambda: to_rocq(certificate), certificate.stated())
    if args.html is not None:
        from rheo_verify.report.html.check import to_html

        write_output("--html", args.html, to_html(report, _paths(code, report, args), args.code, args.command_line))
    sys.stdout.write(
        json.dumps(texts.report_json(report, args.code), indent=1) + "\n"
        if args.json
        else texts.report_text(report, args.code)
    )
    code_number: int = report.verdict.exit_code
    return code_number


def check(code: Any, args: argparse.Namespace) -> Any:
    """The report of the check that the arguments ask for."""
    from rheo_verify.foreign.rerunning import CHECKS
    from rheo_verify.foreign.spreading import Spread, spreading

    options = _options(args)
    one = {"case": _read_case(args.case) if args.case else None, "path": args.path}
    workers, store = settings.workers_from(args)
    if args.way == "coins" or args.certificate or args.case:
        if args.jobs or args.backend or args.scheduler or store:
            why = "--as coins" if args.way == "coins" else "--certificate" if args.certificate else "--case"
            raise InputError("RV106", f"{why} is for one process: leave --jobs, --backend and --checkpoint out")
        return _by_strata(code, args) if args.strata is not None else CHECKS[args.way](code, **options, **one)
    with spreading(Spread(args.code, args.way, options, workers, store)):
        return CHECKS[args.way](code, **options, **one)


def _options(args: argparse.Namespace) -> dict[str, Any]:
    from rheo_verify.foreign.decoder import DecoderScope
    from rheo_verify.foreign.scope import Scope

    processing = _processing(args)
    common: dict[str, Any] = {"arrays": args.arrays or "torch", "dtype": args.dtype}
    if args.way in ("verifier", "coins") and processing.options():
        raise InputError(
            "RV106", f"a {args.way} is given rows that are already processed: leave {processing.options()} out"
        )
    for_strata = (
        args.changes,
        args.within,
        args.coins,
        args.batched or None,
        args.device if args.device != "cpu" else None,
    )
    if args.strata is None and any(value is not None for value in for_strata):
        raise InputError("RV106", "--changes, --within, --coins, --batched and --device go with --strata")
    if args.strata is not None and args.way != "coins":
        raise InputError("RV106", "--strata goes with --as coins")
    if args.strata is not None and (args.certificate or args.path):
        raise InputError("RV106", "what is integrated has no paths: leave --certificate and --path out")
    if args.way == "verifier":
        return {**common, "logits": args.logits, "scope": Scope.read(args.scope), "in_place": args.in_place}
    if args.way == "sampler":
        scope = Scope.read(args.scope)
        return {**common, "logits": not args.probabilities, "processing": processing, "scope": scope}
    if args.way == "decoder":
        limits = DecoderScope.read(args.scope, batch=args.batch, length=args.length)
        common |= {"logits": args.logits, "processing": processing}
        return {**common, "scope": limits, "in_place": args.in_place}
    return {**common, "scope": Scope.read(args.scope or "small")}


def replay(written: str) -> Any:
    """The report of one case and one path that a replay string names. Raises `InputError` RV109, RV103."""
    from rheo_verify.foreign.loading import load
    from rheo_verify.foreign.recipes import read_recipe
    from rheo_verify.foreign.rerunning import rerun

    recipe = read_recipe(written)
    return rerun(load(recipe.code), recipe)


def _by_strata(code: Any, args: argparse.Namespace) -> Any:
    from rheo_verify.foreign.coin_strata import Strata, check_strata
    from rheo_verify.foreign.scope import Scope

    return check_strata(
        code,
        strata=Strata(args.strata, args.changes, args.within, args.evaluations),
        arrays=args.arrays or "torch",
        dtype=args.dtype,
        device=args.device,
        batched=args.batched,
        scope=Scope.read(args.scope or "small"),
        coins=args.coins,
        case=_read_case(args.case) if args.case else None,
    )


def _paths(code: Any, report: Any, args: argparse.Namespace) -> Any:
    """The paths of the first finding's case, for verifiers and decoders."""
    from rheo_verify.foreign.arrays_in_out import Maker
    from rheo_verify.foreign.cases import read_case
    from rheo_verify.foreign.decoder import DecoderScope, DecoderSetting
    from rheo_verify.foreign.signatures import accepted
    from rheo_verify.foreign.paths import decoder_paths, verifier_paths

    if not report.findings or not {"target", "draft"} <= set(report.findings[0].data):
        return ()
    case = read_case(report.findings[0].data)
    arrays = args.arrays or "torch"
    if args.way == "verifier":
        common = {"arrays": arrays, "logits": args.logits, "dtype": args.dtype, "in_place": args.in_place}
        return verifier_paths(code, case, **common)
    if args.way == "decoder":
        scope, processing = DecoderScope.read(args.scope, args.batch, args.length), _processing(args)
        maker, options = Maker(arrays, args.logits, args.dtype), accepted(code, processing.options())
        setting = DecoderSetting(maker, processing, scope.length, scope.batch, options, args.in_place)
        return decoder_paths(code, case, setting)
    return ()


def _processing(args: argparse.Namespace) -> Processing:
    from rheo_verify.foreign.processing import Processing

    return Processing(args.temperature, args.top_k, args.top_p, args.min_p)


def _read_case(written: str) -> Any:
    from rheo_verify.foreign.cases import parse_case

    if os.path.exists(written):
        try:
            with open(written, encoding="utf-8") as file:
                written = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("RV120", f"--case {written}: cannot be read ({error})") from None
    return parse_case(written)
