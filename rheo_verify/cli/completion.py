"""`completion`: shell completion, written from the same parser that reads the command line."""

from __future__ import annotations

import argparse
import sys
from typing import Any

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """examples:
  rheo_verify completion bash > ~/.local/share/bash-completion/completions/rheo_verify
  rheo_verify completion zsh > "${fpath[1]}/_rheo_verify"
  rheo_verify completion fish > ~/.config/fish/completions/rheo_verify.fish

It completes the installed commands rheo_verify and rheo-verify; bash loads it at once with
  source <(rheo_verify completion bash)

exit codes:
  0  the script was printed
  2  no such shell
  4  internal error
"""


def add(subparsers: Any) -> None:
    """Register the command."""
    parser = subparsers.add_parser(
        "completion",
        help="print a completion script for bash, zsh or fish",
        description="Print a script that completes commands, flags, their values, decoders, models and files.",
        epilog=EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from rheo_verify.cli.main import parser
    from rheo_verify.report.completion import SCRIPTS

    sys.stdout.write(SCRIPTS[args.shell](commands(parser())))
    return 0


def commands(top: argparse.ArgumentParser) -> dict[str, Any]:
    """What can be completed: for each command its help, its flags and what stands without a flag."""
    from rheo_verify.report.completion import Command

    subparsers = next(it for it in top._actions if isinstance(it, argparse._SubParsersAction))
    helps = {choice.dest: choice.help or "" for choice in subparsers._choices_actions}
    return {
        name: Command(
            helps.get(name, ""),
            tuple(_word(it) for it in command._actions if it.option_strings),
            tuple(_word(it) for it in command._actions if not it.option_strings),
        )
        for name, command in subparsers.choices.items()
    }


def _word(action: argparse.Action) -> Any:
    from rheo_verify.report.completion import Word

    values = tuple(map(str, action.choices)) if action.choices is not None else _names(action.dest)
    metavar = str(action.metavar or "")
    files = metavar in ("FILE", "STATE", "MODULE:FUNCTION", "JSON") or (metavar == "DIR")
    text = (action.help or "").replace("%%", "%") % {"default": action.default, "prog": "rheo_verify"}
    return Word(tuple(action.option_strings), action.nargs != 0, values, files, metavar == "DIR", text)


def _names(what: str) -> tuple[str, ...]:
    """Values that are no choices of argparse, but are known: decoders, shipped models, claims."""
    if what == "name":
        from rheo_verify.decoders.registry import REGISTRY

        return tuple(REGISTRY)
    if what == "model":
        from rheo_verify.models.shipped import shipped_models

        return tuple(shipped_models())
    if what == "claims":
        from rheo_verify.checks.proofs import load

        return tuple(claim.id for claim in load("registry").CLAIMS)
    return ()
