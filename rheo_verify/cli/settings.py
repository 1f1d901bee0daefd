"""What a run is about, as arguments, as objects, and as the short text inside a replay string."""

from __future__ import annotations

import argparse
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from rheo_verify.cli.messages import note
from rheo_verify.errors import InputError, LimitReached

if TYPE_CHECKING:
    from rheo_verify.drafting.design import TreeDesign
    from rheo_verify.limits import Limits, Progress
    from rheo_verify.models.model import Model
    from rheo_verify.pieces import Store, Workers
    from rheo_verify.pieces.running import Backend
    from rheo_verify.verification.layer import LayerRule

DEFAULTS: dict[str, Any] = {
    "model": None,
    "vocab": 4,
    "seed": 0,
    "support": None,
    "m": 1,
    "k": 3,
    "beam": 3,
    "depth": 3,
    "budget": 6,
    "proxy": "rheo",
    "epsilon": "0",
    "rule": "rheo",
    "ties": "position",
    "verification": "sampling",
}
_NUMBERS = ("vocab", "seed", "support", "m", "k", "beam", "depth", "budget")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """--model FILE, or --vocab V --seed S; --support S."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", metavar="FILE", help="a model file (docs/reference/model-files.md), or the name of a shipped one"
    )
    group.add_argument("--vocab", type=int, metavar="V", help="random tables over V tokens (default: 4)")
    group.add_argument("--seed", type=int, metavar="S", help="seed of the random tables (default: 0)")
    group.add_argument("--support", type=int, metavar="S", help="truncate the sampling draft to its S best tokens")


def add_tree_arguments(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The sizes of the tree."""
    group = parser.add_argument_group(title)
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    group.add_argument("--m", help="lead tokens before the sampled one (default: 1)", **number)
    group.add_argument("--k", help="candidates of an expanded context, K (default: 3)", **number)
    group.add_argument("--beam", help="contexts expanded at each depth, W (default: 3)", **number)
    group.add_argument("--depth", help="depth of the tree, D (default: 3)", **number)
    group.add_argument("--budget", help="nodes kept, R (default: 6)", **number)
    return group


def add_design_arguments(parser: argparse.ArgumentParser) -> None:
    """The parameters of the tree and the rule."""
    group = add_tree_arguments(parser, "tree and verification (SPEC 1.1 to 1.3)")
    group.add_argument("--proxy", metavar="P", help="the sampled slot's factor: rheo, raw, or a constant like 1/4")
    group.add_argument("--epsilon", metavar="E", help="added to q(x1) when m = 0, a rational (default: 0)")
    rules = ("rheo", "rrsw", "topk", "optimal-transport")
    group.add_argument("--rule", choices=rules, help="verification rule (default: rheo)")
    group.add_argument("--ties", choices=("position", "token"), help="how score ties are broken (default: position)")
    group.add_argument(
        "--verification",
        choices=("sampling", "ranking"),
        help="whose q~ verification uses: the sampling draft's, or (broken) the ranking draft's (default: sampling)",
    )


def add_work_arguments(parser: argparse.ArgumentParser) -> None:
    """Who does long work, where finished pieces of it are kept, and how much memory each may hold."""
    group = parser.add_argument_group("long work (docs/how-to/long-runs.md)")
    group.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core, for long runs only)")
    group.add_argument("--backend", choices=("loky", "dask", "serial"), help="who does the pieces (default: loky)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, e.g. tcp://host:8786")
    group.add_argument("--checkpoint", metavar="DIR", help="keep finished pieces here, and take them up from here")
    group.add_argument("--memory-limit", metavar="SIZE", help="end as INCONCLUSIVE above it, e.g. 500M or 2G a process")


def add_time_limit(group: argparse._ActionsContainer, besides: str = "") -> None:
    """--time-limit SECONDS; `besides` is said after it."""
    said = f"end as INCONCLUSIVE after so long{besides}"
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help=said)


def limits_from(
    args: argparse.Namespace, progress: Progress | None = None, trees: int | None = None, *, zero: bool = False
) -> Limits:
    """`--time-limit` (from now on) and `--memory-limit`, where the command has them. Raises `InputError` RV106.

    zero: whether no time at all is a limit, too.
    """
    from rheo_verify.limits import Limits

    seconds = args.time_limit
    if seconds is not None and not ((seconds > 0 or (zero and seconds == 0)) and seconds < float("inf")):
        wanted = "a number of seconds, 0 or more" if zero else "a positive number of seconds"
        raise InputError("RV106", f"--time-limit {seconds:g} must be {wanted}")
    deadline = None if seconds is None else time.monotonic() + seconds
    memory = memory_from(args) if hasattr(args, "memory_limit") else None
    return Limits(deadline, trees, progress, memory)


@contextmanager
def interrupting(limits: Limits) -> Iterator[Limits]:
    """The limits also end work that never looks at them: proofs, other programs.

    Once, so that what is cleaned up then is not ended as well. Where there are signals for it, in the main thread.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if limits.deadline is None or not hasattr(signal, "setitimer") or not in_main:
        yield limits
        return

    def ring(number: int, frame: object) -> None:
        try:
            limits.check_time()
        except LimitReached:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(0.001, limits.deadline - time.monotonic()), 0.2)
        yield limits
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def workers_from(args: argparse.Namespace) -> tuple[Workers, Store | None]:
    """From the parsed arguments. Raises `InputError`."""
    from rheo_verify.pieces import Store, Workers

    backend: Backend = args.backend or ("dask" if args.scheduler is not None else "loky")
    workers = Workers(backend, args.jobs, args.scheduler)
    return workers, None if args.checkpoint is None else Store(args.checkpoint)


def memory_from(args: argparse.Namespace) -> int | None:
    """`--memory-limit` in bytes. Raises `InputError` RV106."""
    if args.memory_limit is None:
        return None
    found = re.fullmatch(r"(\d{1,12})([KMGT]?)(?:i?B)?", args.memory_limit, re.IGNORECASE | re.ASCII)
    if found is None or not int(found[1]):
        raise InputError("RV106", f"--memory-limit {args.memory_limit!r} must be a size like 500M or 2G")
    power: int = " KMGT".index(found[2].upper() or " ")
    size: int = int(found[1]) * 1024**power
    return size


@dataclass(frozen=True)
class Settings:
    """One run's model, tree design and rule, with the values they were made from."""

    values: dict[str, Any]
    model: Model
    design: TreeDesign
    rule: LayerRule
    digest: str | None = None

    def text(self) -> str:
        """``vocab=6,m=2``: what differs from the defaults, with a digest of the model file."""
        parts = []
        for key, value in self.values.items():
            if key == "model" and value is not None:
                parts.append(f"model={quote(os.fsencode(value), safe='/._-')}@{self.digest}")
            elif value != DEFAULTS[key]:
                parts.append(f"{key}={quote(str(value), safe='/')}")
        return ",".join(parts) or "default"


def from_arguments(args: argparse.Namespace) -> Settings:
    """Settings from parsed arguments. Raises `InputError`."""
    given = {key: getattr(args, key) for key in DEFAULTS if getattr(args, key, None) is not None}
    if "model" in given and ("vocab" in given or "seed" in given):
        raise InputError("RV106", "--model and --vocab/--seed exclude each other: give one of them")
    once = "model" in given and _can_be_read_once(given["model"])
    found = _build({**DEFAULTS, **given})
    if once:
        note(f"{given['model']} is no file that can be read again: to replay what follows, save the model in one")
    return found


def _can_be_read_once(name: str) -> bool:
    return os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)


def from_text(written: str) -> Settings:
    """The inverse of `Settings.text`. Raises `InputError` RV109 when it does not fit, or its model file has changed."""
    values, stated = dict(DEFAULTS), set[str]()
    for part in written.split(",") if written != "default" else []:
        key, equals, value = part.partition("=")
        if key not in DEFAULTS or not equals:
            raise InputError("RV109", f"{part!r} in the replay string is not a setting like m=1")
        if key in stated:
            raise InputError("RV109", f"{key} stands twice in the replay string")
        stated.add(key)
        values[key] = os.fsdecode(unquote_to_bytes(os.fsencode(value)))
        if key in _NUMBERS:
            values[key] = _number(key, value)
    expected = None
    if values["model"] is not None:
        values["model"], at, expected = values["model"].rpartition("@")
        if not at or not values["model"]:
            raise InputError("RV109", "a model in a replay string is written FILE@DIGEST, as enumerate prints it")
    return _build(values, expected)


def _number(key: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        raise InputError("RV109", f"{key}={value!r} in the replay string is not a number")
    return int(value)


def _build(values: dict[str, Any], expected: str | None = None) -> Settings:
    from rheo_verify.drafting.design import TreeDesign
    from rheo_verify.models.model import truncate_sampling
    from rheo_verify.models.random_tables import random_model
    from rheo_verify.models.shipped import find_model
    from rheo_verify.models.table_file import load_model_and_digest
    from rheo_verify.probability.rationals import exact

    design = TreeDesign(
        lead=values["m"],
        pool=values["k"],
        beam=values["beam"],
        depth=values["depth"],
        budget=values["budget"],
        proxy=values["proxy"] if values["proxy"] in ("rheo", "raw") else exact(values["proxy"], "--proxy"),
        epsilon=exact(values["epsilon"], "--epsilon"),
        ties=values["ties"],
        verification=values["verification"],
    )
    digest = None
    if values["model"] is not None:
        model, digest = load_model_and_digest(find_model(values["model"]))
        if expected not in (None, digest):
            message = f"{values['model']} has changed since the replay string was made ({expected}, now {digest})"
            raise InputError("RV109", message)
    else:
        model = random_model(values["vocab"], values["seed"])
    if values["support"] is not None:
        model = truncate_sampling(model, values["support"])
    return Settings(values, model, design, _rule(values["rule"]), digest)


def _rule(name: str) -> LayerRule:
    from rheo_verify.checks.optimal import optimal_rule
    from rheo_verify.verification.rules import layer_rule

    return optimal_rule() if name == "optimal-transport" else layer_rule(name)
