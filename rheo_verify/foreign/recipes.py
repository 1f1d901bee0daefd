"""Replay strings of foreign code: one word that names the code, the way in, its options, the case, and one path.

``CODE,NAME=VALUE,…:WAY:PATH``; rows are written ``1/2+1/2``, rows by position ``ROW_ROW``, rows by context
``@ROW_0@ROW_0.1@ROW``; the path of a second call is ``FIRST+PATH``. No character in it means anything to a shell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.foreign.cases import Case, read_case
from rheo_verify.foreign.processing import PROCESSING
from rheo_verify.foreign.reports import CheckReport, Finding

WAYS = ("verifier", "sampler", "decoder", "coins", "strata", "huggingface")
TRANSFORMERS = "transformers"
"""The code of a replay string of `huggingface`: that package's own `generate`."""
KINDS = {"coins by strata": "strata"}
"""What a report's way in is called in a replay string, where that differs."""
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("arrays", "dtype", "device", "options"), str),
    **dict.fromkeys(("logits", "in_place", "batched", "assistant"), lambda value: {"yes": True, "no": False}[value]),
    **dict.fromkeys(("temperature", "top_p", "min_p", "within"), float),
    **dict.fromkeys(("top_k", "batch", "length", "coins", "grid", "cells", "changes", "most"), int),
}
_PROCESSED = ("arrays", "dtype", "logits", *PROCESSING)
_TAKES = {
    "verifier": ("arrays", "dtype", "logits", "in_place"),
    "sampler": _PROCESSED,
    "decoder": (*_PROCESSED, "in_place", "batch", "length"),
    "coins": ("arrays", "dtype", "coins", "grid"),
    "huggingface": ("length", "assistant", "options", *PROCESSING),
    "strata": ("arrays", "dtype", "device", "batched", "coins", "cells", "changes", "within", "most"),
}
_ROWS = ("target", "draft")
_CHOICES = r"\d+(\.\d+)*"
_PATH = {way: re.compile(f"-|{_CHOICES}(/{_CHOICES})*") for way in WAYS}
_PATH |= {
    way: re.compile(rf"((-|{_CHOICES})\+)?(-|{_CHOICES}(/{_CHOICES})*)") for way in ("verifier", "sampler", "decoder")
}
_COINS = r"\d+(\.\d+)*@[\de.+-]+(_[\de.+-]+)*"
_PATH["strata"] = re.compile("-")
_PATH["coins"] = re.compile(f"-|{_COINS}(/{_COINS})*")
_NEXT = re.compile(f",(?=(?:{'|'.join((*_TYPES, *_ROWS))})=)")


@dataclass(frozen=True)
class Recipe:
    """What to run again: `code` as ``MODULE:NAME`` or ``FILE.py:NAME``, and a path (``-`` for none)."""

    code: str
    way: str
    settings: Mapping[str, Any]
    case: Case
    path: str

    def text(self) -> str:
        """The replay string."""
        values = {name: {True: "yes", False: "no"}.get(value, value) for name, value in self.settings.items()}
        data = {"target": [self.case.data()["target"]], "draft": []} if "row" in self.case.data() else self.case.data()
        rows = {name: _rows_text(data[name]) for name in _ROWS if data[name]}
        parts = [self.code, *(f"{name}={value}" for name, value in (values | rows).items())]
        return f"{','.join(parts)}:{self.way}:{self.path}"


def recipe(report: CheckReport, finding: Finding, code: str) -> Recipe:
    """How to see one finding of a report again."""
    return Recipe(
        code, KINDS.get(report.way, report.way), dict(report.settings), read_case(finding.data), finding.replay
    )


def read_recipe(written: str) -> Recipe:
    """The inverse of `Recipe.text`. Raises `InputError` RV109 where it does not fit."""
    parts = written.rsplit(":", 2)
    if len(parts) != 3 or parts[1] not in WAYS:
        raise InputError("RV109", f"{written!r} is not a replay string like mine.py:verify,…:verifier:1.0 (see --help)")
    check_path(parts[1], parts[2])
    code, *options = _NEXT.split(parts[0])
    settings: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    for option in options:
        name, _, value = option.partition("=")
        if name not in (*_ROWS, *_TAKES[parts[1]]):
            raise InputError("RV109", f"replay string: a {parts[1]} has no {name}")
        try:
            (rows if name in _ROWS else settings)[name] = _read_rows(value) if name in _ROWS else _TYPES[name](value)
        except (ValueError, KeyError):
            raise InputError("RV109", f"replay string: {name} cannot be {value!r}") from None
    if "target" not in rows:
        raise InputError("RV109", "the replay string names no target rows")
    target = rows["target"]
    try:
        case = {"row": target[0]} if parts[1] == "sampler" else {"draft": [], **rows}
        return Recipe(code, parts[1], settings, read_case(case), parts[2])
    except (ValueError, KeyError, IndexError, TypeError):
        raise InputError("RV109", "the rows of the replay string do not fit together") from None


def check_path(way: str, path: str) -> None:
    """Raises `InputError` RV109 unless `path` is written as one of this way in."""
    if not _PATH[way].fullmatch(path):
        example = "1.0@0.25_0.5" if way == "coins" else "2.0.1"
        raise InputError("RV109", f"a path of a {way} is written like {example}, not {path!r}")


def _rows_text(rows: Any) -> str:
    if isinstance(rows, Mapping):
        return "_".join(f"{context.replace(' ', '.')}@{'+'.join(row)}" for context, row in rows.items())
    return "_".join("+".join(row) for row in rows)


def _read_rows(written: str) -> Any:
    parts = written.split("_")
    if "@" not in written:
        return [part.split("+") for part in parts]
    pairs = [part.split("@") for part in parts]
    return {context.replace(".", " "): row.split("+") for context, row in pairs}
