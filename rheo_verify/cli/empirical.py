"""`empirical`: the same algorithms on a real pair: exact layers, acceptance, tau, and sampled tests."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheo_verify.cli.files import add_html_argument, check_output, write_output
from rheo_verify.cli.messages import note
from rheo_verify.cli.progress import ProgressBar
from rheo_verify.cli.settings import add_time_limit, limits_from
from rheo_verify.errors import InputError

if TYPE_CHECKING:
    from rheo_verify.limits import Limits
    from rheo_verify.models.pair import Pair

EXAMPLES = """examples:
  rheo_verify empirical
  rheo_verify empirical --temperature 0.3 --m 1 --tokens 100 --draws 20 --contexts 20 --fault bonus-at-temperature-1
  rheo_verify empirical --target llama-3.1-8b --head eagle3 --prompt-file prompts.txt --dtype bfloat16 --device auto

A sampled test can refute, never verify: VERIFIED is the exact layer check's, for the contexts that were looked at.

"""
_DEFAULT_TEXT = "The following sections describe the standard types that are built into the interpreter.\n\n"


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES
    from rheo_verify.models.torch_setup import DTYPES

    dtypes: dict[str, Any] = {"choices": DTYPES, "metavar": "TYPE"}
    parser = subparsers.add_parser(
        "empirical",
        help="check the decoder on a real Llama and EAGLE-3 pair",
        description="On a real pair (the shipped small one by default): the exact layer check over all outcomes of the "
        "sampled token, Table 4 and tau of top-K and each m, and sequential tests of what is emitted.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    models = parser.add_argument_group("models")
    models.add_argument("--target", metavar="DIR", help="a local Llama checkpoint (default: the shipped small one)")
    models.add_argument("--head", metavar="DIR", help="an EAGLE-3 head for it")
    models.add_argument("--dtype", **dtypes, default="float32", help="float64, float32 (default), bfloat16 or float16")
    models.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1, …, or auto")
    models.add_argument("--rows-dtype", **dtypes, default="float64", help="of rows and verification (default: float64)")
    models.add_argument("--prompt", metavar="TEXT", help="the text whose positions are the contexts")
    models.add_argument("--prompt-file", metavar="FILE", help="the same, from a file")
    tree = parser.add_argument_group("tree and sampling")
    tree.add_argument("--m", metavar="N,N,…", default="0,1,2", help="values of m (default: 0,1,2)")
    tree.add_argument("--k", type=int, default=8, metavar="N", help="candidates and beam, K = W (default: 8)")
    tree.add_argument("--depth", type=int, default=5, metavar="N", help="depth, D (default: 5)")
    tree.add_argument("--budget", type=int, default=24, metavar="N", help="nodes kept, R (default: 24)")
    tree.add_argument("--rule", choices=("rheo", "rrsw"), default="rheo", help="verification rule (default: rheo)")
    tree.add_argument("--temperature", type=float, default=1.0, metavar="T", help="of target and q^ (default: 1)")
    tree.add_argument("--support", type=int, default=128, metavar="S", help="tokens a draft row keeps (default: 128)")
    tests = parser.add_argument_group("tests")
    tests.add_argument("--tokens", type=int, default=200, metavar="N", help="emitted a design (default: 200)")
    tests.add_argument("--draws", type=int, default=300, metavar="N", help="cycles at one prompt (default: 300)")
    tests.add_argument("--greedy", type=int, default=64, metavar="N", help="tokens at temperature 0 (default: 64)")
    tests.add_argument("--contexts", type=int, default=400, metavar="N", help="rows of the exact check (default: 400)")
    tests.add_argument("--level", type=float, default=0.01, help="chance of a false alarm a design (default: 0.01)")
    tests.add_argument("--seed", type=int, default=0, metavar="S", help="seed of all draws (default: 0)")
    add_time_limit(tests, ", loading included; target, head and tokenizer are each loaded whole")
    tests.add_argument("--fault", metavar="NAME", help="plant a fault: residual-from-p, or bonus-at-temperature-1")
    add_html_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from rheo_verify.models.torch_setup import torch_and_transformers

    check_output("--html", args.html)
    if args.tokens < 1 or min(args.draws, args.greedy) < 0 or args.contexts < 2 or not 0 < args.level < 1:
        fault = "--tokens must be positive, --contexts at least 2, --draws and --greedy not negative, --level in (0, 1)"
        raise InputError("RV106", fault)
    if not 0 <= args.seed < 2**63:
        raise InputError("RV106", f"--seed {args.seed} must be from 0 to 2^63 - 1")
    leads = _checked(args)
    text = _text(args)
    torch, _ = torch_and_transformers()
    from rheo_verify.checks.empirical import Plan, check_pair
    from rheo_verify.checks.verdict import Verdict
    from rheo_verify.models.rows import RowSettings
    from rheo_verify.report import empirical as report
    from rheo_verify.report.text import stdout_style

    if args.device == "cpu":
        torch.set_num_threads(1)
    plan = Plan(
        settings=RowSettings(args.temperature, args.support, args.rows_dtype),
        leads=leads,
        rule=args.rule,
        pool=args.k,
        depth=args.depth,
        budget=args.budget,
        tokens=args.tokens,
        draws=args.draws,
        greedy=args.greedy,
        level=args.level,
        seed=args.seed,
        fault=args.fault,
    )
    with ProgressBar() as bar:
        limits = limits_from(args, bar.update)
        limits.tell("loading the models", 0)
        pair, tokens = _load(args, text, limits)
        result = check_pair(pair, tokens[: args.contexts + 2], plan, limits.tell)
    stopped = result.stopped if result.verdict is Verdict.INCONCLUSIVE else None
    if args.html is not None and stopped is None:
        from rheo_verify.report.html.empirical import to_html

        write_output("--html", args.html, to_html(result, args.command_line))
    sys.stdout.write(report.to_json(result) if args.json else report.to_text(result, stdout_style()))
    if stopped is not None:
        raise stopped
    if result.unseen:
        note(f"INCONCLUSIVE: {report.UNSEEN} (--tokens, --draws)")
    return result.verdict.exit_code


def _checked(args: argparse.Namespace) -> tuple[int, ...]:
    """The values of m, once all that needs no network is known to be in range. Raises `InputError` RV106, RV111."""
    from rheo_verify.checks.planted import check_fault
    from rheo_verify.drafting.design import TreeDesign
    from rheo_verify.models.rows import RowSettings

    if (args.target is None) != (args.head is None):
        raise InputError("RV106", "give --target and --head together, or neither for the shipped pair")
    TreeDesign(lead=0, pool=args.k, beam=args.k, depth=args.depth, budget=args.budget)
    RowSettings(args.temperature, args.support, args.rows_dtype)
    if args.fault is not None:
        check_fault(args.fault)
    if args.fault == "bonus-at-temperature-1" and args.temperature == 1:
        idle = "--fault bonus-at-temperature-1 has no effect with --temperature 1"
        raise InputError("RV111", f"{idle}, where that is what is right; give another --temperature, like 0.3")
    return _leads(args.m, args.k)


def _leads(written: str, pool: int) -> tuple[int, ...]:
    try:
        leads = tuple(int(it) for it in written.split(","))
    except ValueError:
        raise InputError("RV106", f"--m {written!r} is not a list of numbers like 0,1,2") from None
    if not all(0 <= lead < pool for lead in leads):
        raise InputError("RV106", f"--m {written}: each m must be from 0 to K - 1 = {pool - 1}")
    return leads


def _load(args: argparse.Namespace, text: str, limits: Limits) -> tuple[Pair, list[int]]:
    from rheo_verify.models.llama_checkpoint import check_target
    from rheo_verify.models.pair import load_pair, load_shipped
    from rheo_verify.models.prompt import prompt_tokens, read_as_bytes

    if args.target is None:
        return load_shipped(dtype=args.dtype, device=args.device, limits=limits), [0, *text.encode()]
    if (Path(args.target) / "config.json").is_file():
        check_target(Path(args.target))  # before the tokenizer, whose fault is the smaller one
        if read_as_bytes(args.target):
            note(f"{args.target}: there is no tokenizer, and the vocabulary is of 256: the prompt is read as bytes")
        tokens = prompt_tokens(args.target, text)
        return load_pair(args.target, args.head, dtype=args.dtype, device=args.device, limits=limits), tokens
    pair = load_pair(args.target, args.head, dtype=args.dtype, device=args.device, limits=limits)
    return pair, prompt_tokens(args.target, text)


def _text(args: argparse.Namespace) -> str:
    if args.prompt is not None:
        return str(args.prompt)
    if args.prompt_file is None:
        return default_text()
    try:
        return Path(args.prompt_file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError("RV120", f"--prompt-file {args.prompt_file}: is not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError("RV120", f"--prompt-file {args.prompt_file}: cannot be read ({why})") from None


def default_text() -> str:
    """What is read when no prompt is given: Python's own language reference."""
    from pydoc_data.topics import topics

    return _DEFAULT_TEXT + str(topics.get("types", ""))
