"""Every command in README and docs is run, and every output shown there is what it prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rheo_verify.cli.main import run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def shown_commands() -> list[tuple[str, str, str]]:
    """(page, command, expected output or "") for each command of the package in an sh block."""
    found = []
    for page in PAGES:
        blocks = BLOCK.findall(page.read_text())
        for index, (language, body) in enumerate(blocks):
            if language != "sh":
                continue
            following = blocks[index + 1] if index + 1 < len(blocks) else ("", "")
            commands = re.findall(r"python -m rheo_verify ([^\n]*)", body)
            for number, command in enumerate(commands):
                expected = following[1] if following[0] == "text" and number == len(commands) - 1 else ""
                found.append((page.name, command, expected))
    return found


@pytest.mark.parametrize(("page", "command", "expected"), shown_commands(), ids=lambda value: value.strip()[:60])
def test_documented_commands(
    page: str, command: str, expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    code = run(shlex.split(command))
    out = capsys.readouterr().out
    assert code in (0, 1, 3)
    for line in expected.splitlines():
        assert line.rstrip() in out, f"{page}: {line!r} is not what the command prints"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name
)
def test_documented_python_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one page that assert something, in one namespace, in order."""
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for language, body in BLOCK.findall(page.read_text()):
        if language == "python" and "assert " in body and "torch" not in body:
            exec(compile(body, str(page), "exec"), names)


def test_the_readme_shows_commands() -> None:
    assert sum(page == "README.md" for page, _, _ in shown_commands()) >= 2


def test_ci_runs_the_readme_test_line() -> None:
    assert re.search(r"^make test$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
