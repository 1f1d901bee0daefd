"""Cases of a check that several processes run: the same answer, to the byte."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from rheo_verify.cli.main import run
from rheo_verify.foreign import spreading

SOUND = """
import random

def verify(target, draft, tokens):
    for place, token in enumerate(tokens):
        if random.random() * draft[place][token] < target[place][token]:
            continue
        residual = [max(p - q, 0) for p, q in zip(target[place], draft[place])]
        return [*tokens[:place], random.choices(range(len(residual)), weights=residual)[0]]
    return [*tokens, random.choices(range(len(target[-1])), weights=target[-1])[0]]
"""
LATE = SOUND.replace("weights=residual", "weights=residual if len(residual) < 3 else target[place]")
"""Wrong from three tokens on: many cases hold before the first that fails."""
REFUSED = SOUND.replace("random.random()", "random.vonmisesvariate(0, 1)")
ARGUMENTS = ("--arrays", "list", "--scope", "denominator=2,drafts=1,random=6", "--json")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "CASES_A_PIECE", 6)


def answer(capsys: pytest.CaptureFixture[str], code: str, folder: Path, *more: str) -> tuple[int, str, str]:
    path = folder / "mine.py"
    path.write_text(code)
    number = run(["check", f"{path}:verify", *ARGUMENTS, *more])
    done = capsys.readouterr()
    return number, done.out, done.err


@pytest.mark.parametrize(("code", "number"), [(SOUND, 0), (LATE, 1), (REFUSED, 2)])
def test_who_runs_the_cases_changes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, code: str, number: int
) -> None:
    here = answer(capsys, code, tmp_path)
    assert here[0] == number
    kept = str(tmp_path / "kept")
    for more in (("--jobs", "2"), ("--jobs", "2", "--checkpoint", kept), ("--jobs", "1", "--checkpoint", kept)):
        assert answer(capsys, code, tmp_path, *more) == here


def test_code_that_has_changed_is_run_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = ("--jobs", "1", "--checkpoint", str(tmp_path / "kept"))
    assert answer(capsys, SOUND, tmp_path, *kept)[0] == 0
    assert answer(capsys, LATE, tmp_path, *kept)[0] == 1
    assert answer(capsys, SOUND, tmp_path, *kept)[0] == 0


def test_a_time_limit_is_inconclusive(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SOUND)
    scope = ("--arrays", "list", "--scope", "denominator=5,seconds=0.2", "--json", "--jobs", "2")
    assert run(["check", f"{tmp_path / 'mine.py'}:verify", *scope]) == 3
    data = json.loads(capsys.readouterr().out)
    assert "the time limit of 0.2 s struck" in data["scope"]


def test_what_one_process_must_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    number, _, error = answer(capsys, SOUND, tmp_path, "--jobs", "2", "--certificate", str(tmp_path / "c.json"))
    assert number == 2
    assert "--certificate is for one process" in error


ELSEWHERE = SOUND.replace("weights=residual", "weights=residual if os.getpid() == HERE else target[place]").replace(
    "import random", "import os\nimport random\n\nHERE = {here}"
)


def test_what_fails_elsewhere_alone_ends_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A case that fails in another process only is run again here, and so are all after it."""
    code = ELSEWHERE.replace("{here}", str(os.getpid()))
    here = answer(capsys, code, tmp_path)
    assert here[0] == 0
    assert answer(capsys, code, tmp_path, "--jobs", "2") == here


def test_what_is_loaded_later_counts_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Code that imports its neighbour while it runs: the neighbour changes, and nothing that was kept is believed."""
    code = SOUND.replace("    for place", "    from neighbour import law\n    for place").replace(
        "weights=residual", "weights=law(residual, target[place])"
    )
    folder = tmp_path / "lib"
    folder.mkdir()
    kept = ("--jobs", "1", "--checkpoint", str(tmp_path / "kept"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        for body, number in (("residual", 0), ("target", 1), ("residual", 0)):
            (folder / "neighbour.py").write_text(f"def law(residual, target):\n    return {body}\n")
            sys.modules.pop("neighbour", None)
            importlib.invalidate_caches()
            shutil.rmtree(folder / "__pycache__", ignore_errors=True)
            assert answer(capsys, code, tmp_path, *kept)[0] == number
        sys.modules.pop("neighbour", None)
