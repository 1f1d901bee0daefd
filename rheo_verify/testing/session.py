"""What the pytest plugin and the assertions share: options of the session, failures so far. Imports nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheo_verify.foreign.cases import Case
    from rheo_verify.foreign.reports import CheckReport

scope: str | None = None
replay: str | None = None
failures: list[tuple[Any, str, str]] = []
"""Reports that failed, each with a command to see it again and the source of a test file that shows it alone."""


def replayed_case() -> Case | None:
    """The case that ``--rheo-replay`` names (JSON, or a file that holds it), if any."""
    if replay is None:
        return None
    import os

    from rheo_verify.foreign.cases import read_case

    written = replay
    if os.path.exists(written):
        with open(written, encoding="utf-8") as file:
            written = file.read()
    return read_case(json.loads(written))


def record(report: CheckReport, code: Callable[..., Any], options: dict[str, Any]) -> None:
    """Remember a failure for the summary."""
    finding = report.findings[0] if report.findings else None
    data = json.dumps(finding.data) if finding is not None else ""
    command = f"--rheo-replay '{data}'" if report.way == "verifier" and data else ""
    failures.append((report, command, runnable(report, code, options)))


def runnable(report: CheckReport, code: Callable[..., Any], options: dict[str, Any]) -> str:
    """A test file that runs the failing case alone; empty where the code cannot be imported by name."""
    name = getattr(code, "__qualname__", "")
    module = getattr(code, "__module__", "")
    if report.way != "verifier" or not report.findings or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return ""
    finding = report.findings[0]
    given = "".join(f", {option}={value!r}" for option, value in options.items() if option not in ("name", "case"))
    comment = finding.message.replace("\n", " ")
    return (
        f'"""{finding.code}: {comment}"""\n\n'
        "from rheo_verify.foreign.cases import read_case\n"
        "from rheo_verify.testing import assert_lossless\n\n"
        f"from {module} import {name}\n\n"
        f"CASE = {json.dumps(finding.data, indent=4)}\n\n\n"
        f"def test_{name}_on_the_case_that_failed() -> None:\n"
        f"    assert_lossless({name}, case=read_case(CASE){given})\n"
    )
