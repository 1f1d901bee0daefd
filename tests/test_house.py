"""The house rules: floors, style, types, sizes, links, and what public text may say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rheo_verify import errors

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "rheo_verify").rglob("*.py"))
PROOFS = sorted((ROOT / "proofs").rglob("*.py"))


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "rheo_verify", "proofs", "tests", "benchmarks", "docs"),
        ("ruff", "format", "--check", "rheo_verify", "proofs", "tests", "benchmarks", "docs"),
        ("mypy",),
        ("lint-imports",),
    ],
    ids=lambda command: command[0] + (" format" if "--check" in command else ""),
)
def test_tools_are_content(command: tuple[str, ...]) -> None:
    tool = Path(sys.executable).with_name(command[0])
    if not tool.exists():
        pytest.skip(f"{command[0]} is not installed: pip install '.[dev]'")
    done = subprocess.run([tool, *command[1:]], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_are_small() -> None:
    sizes = sorted((len(path.read_text().splitlines()), path.name) for path in [*SOURCES, *PROOFS])
    assert sizes[-1][0] <= 400, sizes[-5:]
    assert sizes[len(sizes) // 2][0] <= 120


def test_only_the_top_floor_prints() -> None:
    for path in SOURCES:
        floor = path.relative_to(ROOT / "rheo_verify").parts[0]
        if floor not in ("cli", "report"):
            assert not re.search(r"^\s*print\(|sys\.std(out|err)\.write", path.read_text(), re.MULTILINE), path


def test_codes_are_registered_used_and_documented() -> None:
    used = {code for path in SOURCES for code in re.findall(r"RV\d{3}", path.read_text())}
    assert used == set(errors.CODES)
    pages = {path.stem for path in (ROOT / "docs" / "codes").glob("RV*.md")}
    assert pages == set(errors.CODES)
    listed = (ROOT / "docs" / "codes" / "README.md").read_text()
    for code, words in errors.CODES.items():
        assert f"- [{code}]({code}.md): {words}\n" in listed
        assert (ROOT / "docs" / "codes" / f"{code}.md").read_text().startswith(f"# {code}: {words}\n"), code


def test_public_text_names_no_machine() -> None:
    """No path of one machine, and no host of a package registry, in anything that is shipped."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("not a git checkout")
    named = re.compile(r"/(?:home|root|Users|work|opt)/\w|\b(?:pypi|npmjs|debian)\.(?:org|io)\b")
    kinds = (".py", ".md", ".toml", ".v", ".json", ".sh", "Makefile")
    for name in listed.stdout.split():
        if name.endswith(kinds) and name != "tests/test_house.py":
            found = named.search((ROOT / name).read_text(errors="replace"))
            assert found is None, f"{name}: {found and found[0]}"
