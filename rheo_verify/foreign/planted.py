"""Planted faults: files with one function each, run the way their header says.

A file of `toy_models/broken/` or `toy_models/sound/` has a docstring that names its kind, ``WAY`` (verifier, decoder or
sampler), a function of that name, and perhaps ``OPTIONS`` for the check.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.loading import load_file
from rheo_verify.foreign.processing import PROCESSING, Processing
from rheo_verify.foreign.progress import followed, telling
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.probability.rationals import decimal

_SCOPE = ("length", "batch", "vocab", "random", "denominator")
_FULL, _QUICK = Scope(denominator=4, random=60), Scope(denominator=2, random=6)


def check_planted(path: str, quick: bool = False) -> CheckReport:
    """Check one file the way its header says; `quick` makes the scope smaller."""
    module = load_file(path)
    if getattr(module, "WAY", None) not in ("verifier", "sampler", "decoder") or not hasattr(module, module.WAY):
        raise InputError("RV121", f"{path}: a planted fault says WAY = verifier, sampler or decoder, and defines that")
    way, options = module.WAY, dict(getattr(module, "OPTIONS", {}))
    processing = Processing(**{name: options.pop(name) for name in PROCESSING if name in options})
    scope = {name: options.pop(name) for name in _SCOPE if name in options}
    if quick:
        scope |= {"denominator": 2, "random": 4}
    name = os.path.splitext(os.path.basename(path))[0]
    code: Any = getattr(module, way)
    if way == "verifier":
        return check_verifier(code, name=name, scope=_QUICK if quick else _FULL, **options)
    if way == "sampler":
        return check_sampler(code, name=name, processing=processing, scope=_QUICK if quick else _FULL, **options)
    return check_decoder(code, name=name, processing=processing, scope=DecoderScope(**scope), **options)


def golden(report: CheckReport) -> dict[str, Any]:
    """What a golden file holds: the first code, the smallest counterexample, its total variation, and the warnings."""
    first = report.findings[0] if report.findings else None
    distance = next((f.total_variation for f in report.findings if f.total_variation is not None), None)
    return {
        "verdict": str(report.verdict),
        "code": report.code,
        "case": first.data if first else None,
        "total_variation": None if distance is None else decimal(distance, 6),
        "warnings": sorted({code for code, _ in report.warnings}),
    }


def kinds(folder: str) -> Iterator[tuple[str, str]]:
    """The files of a folder in order: name and path. Raises `InputError` RV120."""
    try:
        entries = sorted(os.listdir(folder))
    except OSError as error:
        raise InputError("RV120", f"--planted {folder}: cannot be read ({error.strerror or error})") from None
    if not any(entry.endswith(".py") for entry in entries):
        raise InputError("RV120", f"--planted {folder}: there is no Python file")
    for entry in entries:
        if entry.endswith(".py"):
            yield entry[:-3], os.path.join(folder, entry)


def table(folder: str) -> str:
    """A Markdown table of a folder's files: what it is, how it was checked, what was found. Runs every check."""
    lines = ["| kind | what it is | checked as | verdict | total variation | paths |", "|---|---|---|---|---|---|"]
    for name, path in followed(kinds(folder), "files"):
        with telling(None):
            lines.append(table_row(name, check_planted(path)))
    return "\n".join(lines) + "\n"


def table_row(name: str, report: CheckReport) -> str:
    """One row: every code found, causes first, then warnings."""
    found, module = golden(report), sys.modules["rheo_verify_checked_" + name]
    codes = [*(finding.code for finding in report.findings), *found["warnings"]]
    verdict = f"{found['verdict']} {', '.join(codes)}".strip()
    summary = " ".join((module.__doc__ or "").split()).replace("|", "\\|")
    return f"| `{name}` | {summary} | {report.way} | {verdict} | {found['total_variation'] or ''} | {report.paths:,} |"
