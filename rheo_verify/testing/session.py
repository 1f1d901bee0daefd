"""What the pytest plugin and the assertions share: options of the session, failures so far. Imports next to nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheo_verify.foreign.cases import Case
    from rheo_verify.foreign.reports import CheckReport

scope: str | None = None
replay: str | None = None
folder: str = ".rheo_verify"
failures: list[dict[str, str]] = []
"""Plain text for each check that failed: ``title``, ``command`` to see it again, ``name`` and ``source`` of a test."""

ASSERTIONS = {
    "verifier": "assert_lossless",
    "sampler": "assert_sampler",
    "decoder": "assert_decoder",
    "coins": "assert_coins",
}


def replayed(way: str, code: Callable[..., Any]) -> tuple[Case, str | None] | None:
    """The case, and perhaps the path, that ``--rheo-replay`` names, if it is one for this code and way in.

    It is a replay string, or a case as JSON, or a file that holds either. Raises `InputError` RV109, RV104.
    """
    if replay is None:
        return None
    from rheo_verify.foreign.cases import parse_case
    from rheo_verify.foreign.recipes import read_recipe

    written = replay
    if os.path.exists(written):
        with open(written, encoding="utf-8") as file:
            written = file.read()
    if written.lstrip()[:1] != "{":
        recipe = read_recipe(written.strip())
        fits = recipe.way == way and recipe.code == where(code)
        return (recipe.case, recipe.path) if fits else None
    case = parse_case(written)
    return (case, None) if (way == "sampler") is (case.drafts == 0) else None


def where(code: Callable[..., Any]) -> str:
    """``package.module:NAME`` or ``FILE.py:NAME``: how a command finds the code under test."""
    module, name = getattr(code, "__module__", None) or "", getattr(code, "__qualname__", type(code).__qualname__)
    file = getattr(sys.modules.get(module), "__file__", None)
    if "." in module or file is None:
        return f"{module}:{name}"
    return f"{os.path.relpath(file)}:{name}"


def importable(code: Callable[..., Any]) -> bool:
    """Whether the code has a name of its own at the top of a module that is a file."""
    name, module = getattr(code, "__qualname__", ""), sys.modules.get(getattr(code, "__module__", None) or "")
    known = re.fullmatch(r"[A-Za-z_]\w*", name) is not None and getattr(module, name, None) is code
    return known and getattr(module, "__file__", None) is not None


def record(report: CheckReport, code: Callable[..., Any], options: dict[str, Any]) -> None:
    """Remember a failure for the summary."""
    first = report.findings[0] if report.findings else None
    reason = f"{first.code}: {first.message}" if first else f"{report.verdict}: {report.scope}"
    command = ""
    if first is not None and report.way in ASSERTIONS:
        from rheo_verify.foreign.recipes import recipe

        node = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        string = recipe(report, first, where(code)).text()
        command = " ".join(filter(None, ("pytest", shlex.quote(node) if node else "", "--rheo-replay")))
        command += " " + shlex.quote(string)
    name = re.sub(r"\W+", "_", f"test_{first.code.lower()}_{report.name}") if first else ""
    failures.append(
        {
            "title": f"{report.way} {report.name}: {reason}",
            "command": command,
            "name": name,
            "source": runnable(report, code, options),
        }
    )


def runnable(report: CheckReport, code: Callable[..., Any], options: dict[str, Any]) -> str:
    """A test file that runs the failing case alone; empty where the code cannot be imported by name."""
    if report.way not in ASSERTIONS or not report.findings or not importable(code):
        return ""
    name, module = code.__qualname__, code.__module__
    finding, assertion = report.findings[0], ASSERTIONS[report.way]
    plain = (bool, int, float, str, type(None))
    left_out = ("name", "case", "path", "scope")
    given = "".join(f", {k}={v!r}" for k, v in options.items() if k not in left_out and isinstance(v, plain))
    root = os.path.abspath(sys.modules[module].__file__ or "")
    for _ in module.split("."):
        root = os.path.dirname(root)
    home = os.path.relpath(root, folder)
    comment = finding.message.replace("\\", "/").replace('"', "'").replace("\n", " ")
    return (
        f'"""{finding.code}: {comment}"""\n\n'
        "import sys\n"
        "from pathlib import Path\n\n"
        "from rheo_verify.foreign.cases import read_case\n"
        f"from rheo_verify.testing import {assertion}\n\n"
        f"sys.path.insert(0, str((Path(__file__).parent / {home!r}).resolve()))\n"
        f"from {module} import {name}  # noqa: E402\n\n"
        f"CASE = {json.dumps(finding.data, indent=4)}\n\n\n"
        f"def test_{name}_on_the_case_that_failed() -> None:\n"
        f"    {assertion}({name}, case=read_case(CASE){given})\n"
    )
