"""docs/reference/exit-codes.md, cell by cell: a real run of the command ends with that code."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rheo_verify.checks import proofs
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import COMMANDS, run
from rheo_verify.decoders.registry import REGISTRY

ROOT = Path(__file__).parents[2]
VERIFIER = """
import random

def verify(target, draft, tokens):
    for place, token in enumerate(tokens):
        if not ({accept}):
            residual = [max(p - q, 0) for p, q in zip(target[place], draft[place])]
            return [*tokens[:place], random.choices(range(len(residual)), weights=residual)[0]]
    return [*tokens, random.choices(range(len(target[-1])), weights=target[-1])[0]]
"""
SOUND = "random.random() * draft[place][token] < target[place][token]"
CHECK = "check {}.py:verify --arrays list --scope quick"
RUNS = {
    "enumerate": (
        "enumerate --vocab 3",
        "enumerate --model table-1 --depth 1 --budget 2 --proxy 1/4",
        "enumerate --vocab 0",
        "enumerate --max-trees 1",
    ),
    "table1": ("table1", "table1", "table1 --m 1", ""),
    "replay": ("replay vocab=6:class:2.0", "replay {lossy}", "replay vocab=6:class:9", "replay {lossy}"),
    "acceptance": ("acceptance --vocab 3", "", "acceptance --vocab 0", "acceptance --time-limit 1e-9"),
    "search": (
        "search --where rheo>2 --vocab 2",
        "search --where rheo<1 --vocab 2",
        "search --where rheo",
        "search --where rheo>2 --time-limit 0",
    ),
    "decoders": ("decoders --vocab 2", "decoders --vocab 3", "decoders --levels 99", "decoders --time-limit 1e-9"),
    "decoders NAME": ("decoders sequoia", "decoders lenient", "decoders nobody", "decoders sequoia --time-limit 1e-9"),
    "check": (
        CHECK.format("sound"),
        CHECK.format("lossy"),
        CHECK.format("nowhere"),
        CHECK.format("sound").replace("quick", "seconds=0"),
    ),
    "prove": ("prove table-1 --level 1", "prove table-1 --level 1", "prove nothing", "prove --time-limit 1e-9"),
    "inspect": ("inspect {pair}/target", "", "inspect gpt2", "inspect {pair}/head"),
    "empirical": (
        "empirical --tokens 20 --draws 20 --greedy 4 --contexts 20 --m 1",
        "empirical --fault residual-from-p",
        "empirical --m x",
        "empirical --time-limit 1e-9",
    ),
    "precision": ("precision --rows 50", "precision --rows 50", "precision --m 0", "precision --time-limit 1e-9"),
    "audit": ("", "audit {transcript}", "audit empty.jsonl", "audit short.jsonl"),
    "doctor": ("doctor", "", "doctor --need magic", "doctor --need rocq"),
    "completion": ("completion bash", "", "completion tcsh", ""),
}


def rows() -> dict[str, list[str]]:
    """The cells of the table, for codes 0 to 3."""
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text()
    table = page[page.index("| command |") :]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:] if "|" in line]
    return {row[0].strip("`"): row[1:] for row in found}


def test_every_command_is_there() -> None:
    assert set(rows()) == set(RUNS) == {*COMMANDS, "decoders NAME"}
    for command, cells in rows().items():
        for code, cell in enumerate(cells):
            assert cell.startswith("–") == (not RUNS[command][code]), (command, code)


def test_help_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The codes that a command's own help names, where it does not have the common list."""
    for command in COMMANDS:
        run([command, "--help"])
        shown = capsys.readouterr().out
        for code, cell in enumerate(rows()[command]):
            said = re.search(rf"(?:^  |[:;] +){code} +\S", shown, re.MULTILINE)
            assert said is not None or cell.startswith("–"), (command, code)


def forced(command: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no run on this machine brings about by itself."""

    def patch(name: str, value: Callable[..., object]) -> None:
        monkeypatch.setattr(name, value)

    if (command, code) == ("table1", 1):
        patch("rheo_verify.report.table1.as_published", lambda rows: False)
    if (command, code) == ("decoders", 1):
        monkeypatch.setitem(REGISTRY, "lenient", replace(REGISTRY["lenient"], lossless=True))
    if (command, code) == ("replay", 3):
        from rheo_verify.cli import check

        again = check.replay
        patch("rheo_verify.cli.check.replay", lambda text: replace(again(text), verdict=Verdict.INCONCLUSIVE))
    if (command, code) == ("prove", 1):
        step = proofs.Step(1, "x", "x", Verdict.REFUTED, "it does not hold", 0.0)
        patch("rheo_verify.checks.proofs._run", lambda level, check: step)
    if (command, code) == ("precision", 1):
        from rheo_verify.checks import precision

        measure = precision.measure
        patch("rheo_verify.checks.precision.measure", lambda *a, **b: replace(measure(*a, **b), remedied=0.1))
    if (command, code) == ("inspect", 3):
        monkeypatch.setitem(sys.modules, "safetensors", None)
        monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    if (command, code) == ("doctor", 3):
        monkeypatch.setenv("PATH", "")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The folder in which the runs happen, and what they name."""
    monkeypatch.chdir(tmp_path)
    for name, accept in (("sound", SOUND), ("lossy", "True")):
        (tmp_path / f"{name}.py").write_text(VERIFIER.format(accept=accept))
    transcript = ROOT / "docs" / "how-to" / "transcript.jsonl"
    (tmp_path / "short.jsonl").write_text("".join(transcript.read_text().splitlines(keepends=True)[:5]))
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "gpt2" / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    return {"pair": ROOT / "toy_models" / "byte-llama", "transcript": transcript}


def needs_torch(command: str, code: int) -> bool:
    return (command in ("empirical", "precision") and code < 2) or (command, code) == ("inspect", 0)


@pytest.mark.parametrize(
    ("command", "code"), [(command, code) for command, runs in RUNS.items() for code in range(4) if runs[code]]
)
def test_a_run_ends_with_the_code(
    command: str,
    code: int,
    files: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if needs_torch(command, code) and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; `make test-models` runs this one")
    strings: dict[str, object] = dict(files)
    if command == "replay" and code in (1, 3):
        assert run(CHECK.format("lossy").split()) == 1
        found = re.search(r"replay (\S+)", capsys.readouterr().out)
        assert found is not None
        strings["lossy"] = found[1].strip("'")
    forced(command, code, monkeypatch)
    line = RUNS[command][code].format(**strings).split()
    assert run(line) == code, capsys.readouterr()
    err = capsys.readouterr().err
    if code == 2:
        assert re.fullmatch(rf"rheo_verify {line[0]}: RV\d\d\d: [^\n]+\n", err), err
