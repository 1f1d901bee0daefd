"""The pytest plugin. It imports nothing but the standard library, and `session`, until a check has failed.

Options: ``--rheo-scope SCOPE`` for assertions that state none, ``--rheo-replay STRING`` to run one case alone,
``--rheo-save DIR`` to keep failing cases as test files (default: ``.rheo_verify``). Failing cases are listed with
their replay commands after the failures.
"""

from __future__ import annotations

import os
from typing import Any

from rheo_verify.testing import session


def pytest_addoption(parser: Any) -> None:
    """Register the options."""
    group = parser.getgroup("rheo_verify", "exact checks of speculative decoders")
    group.addoption("--rheo-scope", metavar="SCOPE", help="quick, small, wide, or vocab=3,denominator=5,random=200,…")
    group.addoption(
        "--rheo-replay",
        metavar="STRING",
        help="run the assertion on that code on this case only: a replay string, a case as JSON, or a file of one",
    )
    group.addoption("--rheo-save", metavar="DIR", default=".rheo_verify", help="where failing cases are saved")


def pytest_configure(config: Any) -> None:
    """Hand the options to the assertions."""
    session.scope = config.getoption("--rheo-scope")
    session.replay = config.getoption("--rheo-replay")
    session.folder = os.path.join(str(config.rootpath), config.getoption("--rheo-save"))
    session.failures.clear()


def pytest_sessionfinish(session: Any) -> None:
    """A worker of pytest-xdist hands its failures to the process that prints the summary."""
    from rheo_verify.testing import session as ours

    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["rheo_verify"] = list(ours.failures)


class _Workers:
    """Hooks that exist only under pytest-xdist."""

    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        session.failures.extend(getattr(node, "workeroutput", {}).get("rheo_verify", []))


def pytest_plugin_registered(plugin: Any, manager: Any) -> None:
    """Listen to the workers where there are any."""
    if type(plugin).__name__ == "DSession" and not manager.has_plugin("rheo_verify_workers"):
        manager.register(_Workers(), "rheo_verify_workers")


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """List the failing cases, and save each as a runnable test file."""
    if not session.failures:
        return
    terminalreporter.section("rheo_verify: failing cases")
    taken: set[str] = set()
    for failure in session.failures:
        terminalreporter.write_line(failure["title"])
        if failure["command"]:
            terminalreporter.write_line(f"  again: {failure['command']}")
        if failure["source"]:
            terminalreporter.write_line(f"  saved: {_save(config, failure, taken)}")


def _save(config: Any, failure: dict[str, str], taken: set[str]) -> str:
    name, number = failure["name"], 1
    while name in taken:
        number += 1
        name = f"{failure['name']}_{number}"
    taken.add(name)
    os.makedirs(session.folder, exist_ok=True)
    path = os.path.join(session.folder, name + ".py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(failure["source"])
    return os.path.relpath(path, str(config.rootpath))
