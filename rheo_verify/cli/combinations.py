"""Flags that have no effect beside others: refused or said, for a flag that does nothing may hide a mistake."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from rheo_verify.cli.settings import DEFAULTS
from rheo_verify.errors import InputError

_ONE_PROCESS = ("--jobs", "--backend", "--scheduler", "--checkpoint")
WITHOUT_EFFECT: dict[str, tuple[tuple[str, str, str], ...]] = {
    "": (
        ("--jobs", "--backend serial", "which works in this process alone"),
        ("--jobs", "--backend dask", "where the cluster's workers do the pieces"),
        ("--jobs", "--scheduler", "where the cluster's workers do the pieces"),
    ),
    "search": tuple(
        (flag, "--state", "which searches in one process, pair by pair") for flag in (*_ONE_PROCESS, "--memory-limit")
    ),
    "empirical": (("--prompt-file", "--prompt", "which is the text itself"),),
    "precision": tuple((flag, "--pair", "whose rows are real ones") for flag in ("--vocab", "--scale", "--seed")),
    "acceptance": (
        *((flag, "--layer-only", "which looks at no tree") for flag in ("--beam", "--depth", "--budget")),
        ("--context", "--target", "whose row is that of every context"),
    ),
}
"""By command ("": all): the flag that would do nothing, the flag (with its value) beside which it does, and why."""
NOTED: dict[str, tuple[tuple[str, str, str], ...]] = {
    "enumerate": (
        ("--max-trees", "--method classes", "which forms no unpruned trees"),
        ("--epsilon", "--m above 0", "where no slot is scored by it"),
        ("--epsilon", "--proxy other than rheo", "which has no epsilon"),
        *((flag, "--method classes", "which grows the classes in one process") for flag in _ONE_PROCESS),
    ),
}
"""Likewise, but only said: a sweep over m, the proxy or the method keeps its other flags."""


def check_combinations(args: argparse.Namespace) -> None:
    """Raises `InputError` RV111 where a flag that was given would do nothing, naming both."""
    for words in _without_effect(args, (*WITHOUT_EFFECT[""], *WITHOUT_EFFECT.get(args.command, ()))):
        raise InputError("RV111", f"{words}; leave one of them out")


def without_effect(args: argparse.Namespace, **known: str) -> Iterator[str]:
    """``--max-trees has no effect with --method classes, …``, for each flag that did nothing, to be said.

    known: by the name of its argument, what became of a flag that left the choice to the program.
    """
    return _without_effect(argparse.Namespace(**{**vars(args), **known}), NOTED.get(args.command, ()), known)


def _without_effect(
    args: argparse.Namespace, pairs: Iterable[tuple[str, str, str]], known: Iterable[str] = ()
) -> Iterator[str]:
    written = {name: dest for dest, name in args.given.items()} | {f"--{name}": name for name in known}
    for flag, beside, why in pairs:
        if flag in written and _stands(args, beside, written):
            yield f"{flag} has no effect with {beside}, {why}"


def _stands(args: argparse.Namespace, beside: str, written: dict[str, str]) -> bool:
    name, _, stated = beside.partition(" ")
    if name not in written and not stated.startswith(("above", "other")):
        return False
    dest = written.get(name, name.strip("-").replace("-", "_"))
    value = getattr(args, dest)
    value = str(DEFAULTS[dest] if value is None and dest in DEFAULTS else value)
    if stated.startswith("above "):
        return int(value) > int(stated.removeprefix("above "))
    if stated.startswith("other than "):
        return value != stated.removeprefix("other than ")
    return stated in ("", value)
