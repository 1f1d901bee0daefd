"""Every command in README and docs is run, ends with the exit code that stands there, and prints what is shown."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from rheo_verify.cli.main import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
EXIT = re.compile(r" +# exit code (\d)$")
NEEDS_TORCH = ("empirical", "inspect", "precision")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, body) of every fenced block; those inside lists lose their indentation."""
    found = []
    for margin, language, body in BLOCK.findall(page.read_text()):
        found.append((language, re.sub(rf"^{margin}", "", body, flags=re.MULTILINE)))
    return found


def shown_commands() -> list[tuple[str, str, int, str]]:
    """(page, command, exit code, expected output or "") for each command of the package in an sh block."""
    found = []
    for page in PAGES:
        parts = blocks(page)
        for index, (language, body) in enumerate(parts):
            if language != "sh":
                continue
            following = parts[index + 1] if index + 1 < len(parts) else ("", "")
            commands = re.findall(r"python -m rheo_verify ([^\n]*)", body)
            for number, command in enumerate(commands):
                stated = EXIT.search(command)
                code = int(stated[1]) if stated else 0
                expected = following[1] if following[0] == "text" and number == len(commands) - 1 else ""
                found.append((page.name, EXIT.sub("", command), code, expected))
    return found


@pytest.mark.parametrize(
    ("page", "command", "code", "expected"), shown_commands(), ids=lambda value: str(value).strip()[:60]
)
def test_documented_commands(
    page: str,
    command: str,
    code: int,
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = shlex.split(command)
    if arguments[0] in NEEDS_TORCH and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; `make test-models` runs this one")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    found = run(arguments)
    out = capsys.readouterr().out
    assert found == code, f"{page}: the exit code is {found}; write `# exit code {found}` after the command"
    for line in expected.splitlines():
        assert line.rstrip() in out, f"{page}: {line!r} is not what the command prints"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name
)
def test_documented_python_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one page that assert something, in one namespace, in order."""
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for language, body in blocks(page):
        if language == "python" and "assert " in body and "torch" not in body:
            exec(compile(body, str(page), "exec"), names)


def files_shown() -> list[tuple[str, str]]:
    """(file, text) of every Python block that begins with the name of a file."""
    shown = [re.fullmatch(r"# (docs/\S+\.py)\n(.*)", body, re.DOTALL) for page in PAGES for _, body in blocks(page)]
    return [(found[1], found[2]) for found in shown if found]


@pytest.mark.parametrize(("name", "body"), files_shown(), ids=lambda value: value[:40])
def test_files_that_are_shown_are_those_that_are_run(name: str, body: str) -> None:
    assert (ROOT / name).read_text() == body


def test_the_pages_that_must_show_something_do() -> None:
    shown = [page for page, *_ in shown_commands()]
    assert all(shown.count(page) >= 2 for page in ("README.md", "find-a-bug.md", "classes.md", "check-a-pair.md"))
    assert len(files_shown()) == 3
    assert {code for *_, code, _ in shown_commands()} >= {0, 1}


def test_the_test_that_is_shown_passes() -> None:
    names: dict[str, object] = {}
    path = ROOT / "docs" / "how-to" / "test_verifier.py"
    exec(compile(path.read_text(), str(path), "exec"), names)
    names["test_the_verifier_is_lossless"]()  # type: ignore[operator]


def test_ci_runs_the_readme_test_line() -> None:
    assert re.search(r"^make test$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
