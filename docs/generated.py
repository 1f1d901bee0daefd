"""What the site takes from the source when it is built: every command, every module, docstrings that are Markdown."""

from __future__ import annotations

import argparse
import pkgutil
import re
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

import rheo_verify

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {
    "probability": ("words", "errors", "limits", "probability"),
    "models": ("models",),
    "drafting": ("drafting",),
    "verification": ("verification",),
    "decoders": ("decoders",),
    "pieces": ("pieces",),
    "checks": ("checks",),
    "foreign": ("foreign",),
    "testing": ("testing",),
    "report": ("report",),
}
INSIDE = ("torch_eager", "torch_memory", "torch_moves", "torch_orders", "torch_random", "torch_tensors")
"""Modules behind `foreign.answering` that only torch can load; they have no name that others use."""
MARK = "<!-- generated when the site is built -->"


def modules(floor: str) -> list[str]:
    """The modules of a floor, and of folders in it, in alphabetical order."""
    found = []
    for name in FLOORS[floor]:
        full = f"rheo_verify.{name}"
        folder = f"{next(iter(rheo_verify.__path__))}/{name}"
        found += [
            full,
            *(it.name for it in pkgutil.walk_packages([folder], f"{full}.") if _stem(it.name) not in INSIDE),
        ]
    return found


def _stem(name: str) -> str:
    return name.rpartition(".")[2]


def api_page(floor: str) -> str:
    """One section a module, filled by autodoc."""
    lines = []
    for name in modules(floor):
        lines += [f"## {name}", "", "```{eval-rst}", f".. automodule:: {name}", "   :members:", "```", ""]
    return "\n".join(lines)


def commands_page() -> str:
    """Every command: what it does, its usage, flags, examples and exit codes, from argparse itself."""
    from rheo_verify.cli.main import parser

    top = parser()
    subparsers = next(it for it in top._actions if isinstance(it, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in subparsers._choices_actions}
    lines: list[str] = []
    for name, command in subparsers.choices.items():
        lines += [f"## {name}", "", str(command.description or helps[name]), ""]
        lines += ["```text", _usage(command), "```", ""]
        for group in command._action_groups:
            rows = [it for it in group._group_actions if it.help is not argparse.SUPPRESS]
            if rows:
                lines += [f"**{group.title}**", "", "| | |", "|---|---|"]
                lines += [f"| {_names(it)} | {_meaning(it)} |" for it in rows]
                lines.append("")
        if command.epilog:
            lines += ["```text", command.epilog.strip(), "```", ""]
    return "\n".join(lines)


def _usage(command: argparse.ArgumentParser) -> str:
    words = re.sub(r"\s+", " ", command.format_usage()).strip().removeprefix("usage: ")
    whole = re.sub(r"\[[^\]]*\]", lambda part: part[0].replace(" ", "\0"), words)
    lines = textwrap.wrap(whole, 88, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def _names(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or '{' + ','.join(map(str, action.choices or ())) + '}'}"
    if value.strip() == "{}":
        value = f" {action.dest.upper()}"
    return f"`{', '.join(action.option_strings)}{value}`" if action.option_strings else f"`{value.strip()}`"


def _meaning(action: argparse.Action) -> str:
    return ((action.help or "") % {"default": action.default, "prog": "rheo_verify"}).replace("|", "\\|")


def proofs_page() -> str:
    """proofs/README.md, its links to source files as plain code."""
    written = (ROOT / "proofs" / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\[`?([^\]`]+)`?\]\((?!#)[^)]*\)", r"`proofs/\1`", written).partition("\n")[2]


def fill(app: Any, name: str, source: list[str]) -> None:
    """Put the generated part where a page asks for it, and lead links to files outside of docs/ to their pages."""
    if MARK in source[0]:
        page = name.rpartition("/")[2]
        made = {"command-line": commands_page, "proofs": proofs_page}.get(page, partial(api_page, page))
        source[0] = source[0].replace(MARK, made())
    source[0] = source[0].replace("](../../proofs/README.md", "](../reference/proofs.md")


def to_rst(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Docstrings use single backticks for code, as Markdown does; reST wants two, and its own marks escaped."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = re.split(r"(``.+?``|`[^`]+`)", line)
        for place, part in enumerate(parts):
            if place % 2:
                parts[place] = f"``{part.strip('`')}``"
            else:
                parts[place] = re.sub(r"([*|])", r"\\\1", re.sub(r"(\w)_(?=\W|$)", r"\1\\_", part))
        lines[number] = "".join(parts)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", to_rst)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
