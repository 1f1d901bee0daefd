"""The pytest plugin. It imports nothing but the standard library, and `session`, until a check has failed.

Options: ``--rheo-scope SCOPE`` for assertions that state none, ``--rheo-replay CASE`` to run `assert_lossless` on one
case, ``--rheo-save DIR`` to keep failing cases as test files (default: ``.rheo_verify``). Failing cases are listed with
their replay commands after the failures.
"""

from __future__ import annotations

import os
import re
from typing import Any

from rheo_verify.testing import session


def pytest_addoption(parser: Any) -> None:
    """Register the options."""
    group = parser.getgroup("rheo_verify", "exact checks of speculative decoders")
    group.addoption("--rheo-scope", metavar="SCOPE", help="quick, small, wide, or vocab=3,denominator=5,random=200,…")
    group.addoption(
        "--rheo-replay", metavar="CASE", help="run assert_lossless on this case only: JSON, or a file of it"
    )
    group.addoption("--rheo-save", metavar="DIR", default=".rheo_verify", help="where failing cases are saved")


def pytest_configure(config: Any) -> None:
    """Hand the options to the assertions."""
    session.scope = config.getoption("--rheo-scope")
    session.replay = config.getoption("--rheo-replay")
    session.failures.clear()


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """List the failing cases, and save each as a runnable test file."""
    if not session.failures:
        return
    terminalreporter.section("rheo_verify: failing cases")
    for report, command, source in session.failures:
        first = report.findings[0] if report.findings else None
        reason = f"{first.code}: {first.message}" if first else f"{report.verdict}: {report.scope}"
        terminalreporter.write_line(f"{report.way} {report.name}: {reason}")
        if command:
            terminalreporter.write_line(f"  again: pytest {command}")
        if source:
            terminalreporter.write_line(f"  saved: {_save(config, report, source)}")


def _save(config: Any, report: Any, source: str) -> str:
    folder = os.path.join(str(config.rootpath), config.getoption("--rheo-save"))
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"\W+", "_", f"test_{report.findings[0].code.lower()}_{report.name}") + ".py"
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    return os.path.relpath(path, str(config.rootpath))
