"""The flags of `check`, and which of them mean anything to which way in: one table, for the help and for the check."""

from __future__ import annotations

import argparse
import math
from typing import Any

from rheo_verify.cli import settings
from rheo_verify.cli.certificates import add_certificate
from rheo_verify.cli.files import add_html_argument
from rheo_verify.errors import InputError

WAYS = ("verifier", "sampler", "decoder", "coins")
_ENUMERATED = ("verifier", "sampler", "decoder")
TAKEN_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("logits", "in_place"), ("verifier", "decoder")),
    "probabilities": ("sampler",),
    **dict.fromkeys(("temperature", "top_k", "top_p", "min_p"), ("sampler", "decoder")),
    **dict.fromkeys(("batch", "length"), ("decoder",)),
    **dict.fromkeys(("strata", "changes", "within", "evaluations", "coins", "batched", "device"), ("coins",)),
    **dict.fromkeys(("jobs", "backend", "scheduler", "checkpoint"), _ENUMERATED),
}
"""Flags that some ways in do not take."""
NEEDS = {
    **dict.fromkeys(("changes", "within", "evaluations", "batched", "device"), "strata"),
    "path": "case",
}
"""Flags that mean nothing without another one."""
EXCLUDES = (
    ("strata", ("certificate", "path"), "what is integrated has no paths"),
    ("case", ("jobs", "backend", "scheduler", "checkpoint"), "--case is for one process"),
    (
        "certificate",
        ("jobs", "backend", "scheduler", "checkpoint"),
        "--certificate is for one process",
    ),
    ("path", ("html", "certificate"), "a page and a certificate are of one check, and not of one path"),
)
_ALWAYS = {"command", "quiet", "verbose", "planted"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Register all of them. None, or False, is what a flag is where it was not given."""
    parser.add_argument(
        "code", nargs="?", metavar="MODULE:FUNCTION", help="or FILE.py:FUNCTION; a class is built per path"
    )
    parser.add_argument("--as", dest="way", choices=WAYS, help="what it is (default: verifier)")
    parser.add_argument("--arrays", choices=("torch", "numpy", "list"), help="what it is given (default: torch)")
    parser.add_argument("--dtype", choices=("float64", "float32"), help="of the rows (default: float64)")
    parser.add_argument("--logits", action="store_true", help="hand over logarithms of probabilities")
    parser.add_argument("--probabilities", action="store_true", help="it is given probabilities, not logits")
    parser.add_argument("--in-place", action="store_true", help="it may write into its arguments, or into the prompt")
    group = parser.add_argument_group("processing: the target law is the processed one")
    group.add_argument("--temperature", type=float, metavar="T", help="0 is greedy")
    group.add_argument("--top-k", type=int, metavar="K", help="keep the K likeliest tokens")
    group.add_argument("--top-p", type=float, metavar="P", help="keep the likeliest tokens until they have mass P")
    group.add_argument("--min-p", type=float, metavar="P", help="keep tokens of at least P times the likeliest's mass")
    group = parser.add_argument_group("scope")
    group.add_argument("--scope", metavar="SCOPE", help="quick, small, wide, or vocab=3,denominator=5,random=200,…")
    group.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="end as INCONCLUSIVE after so long; goes before the seconds of --scope (default: 600)",
    )
    group.add_argument("--batch", type=int, metavar="B", help="rows of its batch (default: 1)")
    group.add_argument("--length", type=int, metavar="N", help="tokens whose joint law is compared (default: 3)")
    group.add_argument("--case", metavar="JSON", help="run on this case only: JSON as --json gives it, or a file")
    group.add_argument("--path", metavar="CHOICES", help="with --case: show this one path, e.g. 1.0.2")
    add_certificate(group, "the verdict's numbers")
    group.add_argument("--planted", metavar="DIR", help="check every file of a folder of planted faults; print a table")
    group = parser.add_argument_group(
        "coins by strata", "integrate with a stated error bound instead of searching for breakpoints"
    )
    group.add_argument("--coins", type=int, metavar="C", help="uniforms it is given (default: one per draft and one)")
    group.add_argument("--strata", type=int, metavar="N", help="strata of each coin at first, a power of two")
    group.add_argument(
        "--changes",
        type=int,
        metavar="B",
        help="with --strata: assume at most B changes of the output along a coin (default: an output is one interval)",
    )
    group.add_argument(
        "--within", type=float, metavar="X", help="with --strata: VERIFIED allows total variation X (default: rounding)"
    )
    group.add_argument(
        "--evaluations", type=int, metavar="M", help="with --strata: at most, for each drafts (default: 5000)"
    )
    group.add_argument(
        "--batched", action="store_true", help="with --strata: every argument and result has a leading batch axis"
    )
    group.add_argument("--device", metavar="D", help="with --strata: of torch tensors, e.g. cuda (default: cpu)")
    settings.add_work_arguments(parser)
    add_html_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    for action in parser._actions:
        if action.dest in TAKEN_BY:
            action.help = f"[{', '.join(TAKEN_BY[action.dest])}] {action.help}"


def refuse_idle_flags(args: argparse.Namespace) -> None:
    """Raises `InputError` RV106 where a flag means nothing to the way in, or beside the others."""
    given = args.given
    if "planted" in given:
        others = [name for name in given if name not in _ALWAYS]
        if others:
            shown = ", ".join(map(_flag, others))
            raise InputError("RV106", f"--planted checks a whole folder and prints a table: leave {shown} out")
        return
    way = args.way or WAYS[0]
    for name in given:
        ways = TAKEN_BY.get(name, WAYS)
        if way not in ways:
            raise InputError("RV106", f"{_flag(name)} is for --as {' or '.join(ways)}; this is checked as a {way}")
    for name, other in NEEDS.items():
        if name in given and other not in given:
            raise InputError("RV106", f"{_flag(name)} goes with {_flag(other)}")
    for name, excluded, why in EXCLUDES:
        shown = ", ".join(_flag(other) for other in excluded if other in given)
        if name in given and shown:
            raise InputError("RV106", f"{why}: leave {_flag(name)} or {shown} out")
    if args.arrays == "list" and args.dtype is not None:
        raise InputError("RV106", "lists hold Python's own floats: --dtype is for --arrays torch or numpy")
    if args.time_limit is not None and not 0 < args.time_limit < math.inf:
        raise InputError("RV106", f"--time-limit {args.time_limit:g} must be a positive number of seconds")


def filled(args: argparse.Namespace) -> argparse.Namespace:
    """The same with the defaults of what was not given."""
    usual: dict[str, Any] = {
        "way": WAYS[0],
        "arrays": "torch",
        "dtype": "float64",
        "scope": "",
        "batch": 1,
        "evaluations": 5_000,
        "device": "cpu",
    }
    values = {name: usual.get(name) if value is None else value for name, value in vars(args).items()}
    return argparse.Namespace(**values)


def _flag(name: str) -> str:
    if name == "code":
        return "MODULE:FUNCTION"
    return "--as" if name == "way" else f"--{name.replace('_', '-')}"
