"""Every planted fault is refuted with its golden counterexample; sound code that looks wrong is verified."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.planted import check_planted, golden, kinds, load_file, table_row
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier

torch = pytest.importorskip("torch")
TOYS = Path(__file__).parents[2] / "toy_models"
DOCS = Path(__file__).parents[2] / "docs"
BROKEN = dict(kinds(str(TOYS / "broken")))
SOUND = dict(kinds(str(TOYS / "sound")))
WARNING_ONLY = {"zero_probability_accepted_at_zero"}


@pytest.mark.parametrize("name", sorted(set(BROKEN) - WARNING_ONLY))
def test_a_planted_fault_is_refuted_by_its_golden_counterexample(name: str) -> None:
    expected = json.loads((TOYS / "broken" / f"{name}.json").read_text())
    report = check_planted(BROKEN[name])
    found = golden(report)
    assert found["verdict"] == "REFUTED"
    distances = [float(given["total_variation"] or 0) for given in (found, expected)]
    assert distances[0] == pytest.approx(distances[1], abs=2e-6)
    assert found | {"total_variation": None} == expected | {"total_variation": None}
    assert table_row(name, report) in (DOCS / "check-planted.md").read_text().splitlines()


@pytest.mark.parametrize("name", sorted(SOUND))
def test_sound_code_is_verified(name: str) -> None:
    report = check_planted(SOUND[name], quick=True)
    assert report.verdict is Verdict.VERIFIED, report.findings
    assert report.paths > report.cases > 5
    assert not report.warnings


def test_acceptance_at_zero_is_a_warning_not_a_verdict() -> None:
    module = load_file(BROKEN["zero_probability_accepted_at_zero"])
    report = check_verifier(module.verifier, scope=Scope(denominator=2, random=0))
    assert report.verdict is Verdict.VERIFIED
    [(code, remark)] = report.warnings
    assert code == "RV414"
    assert "zero_probability_accepted_at_zero.py:" in remark


def test_there_are_enough_kinds_and_each_has_a_golden_file() -> None:
    assert len(BROKEN) >= 40
    for name, path in BROKEN.items():
        assert Path(path[:-3] + ".json").exists(), name
    text = [Path(path).read_text() for path in (*BROKEN.values(), *SOUND.values())]
    assert all(source.startswith('"""') for source in text)


@pytest.mark.parametrize(
    ("page", "folder", "word"), [("check-planted", BROKEN, ""), ("check-sound", SOUND, "VERIFIED")]
)
def test_the_table_in_the_documents_has_every_kind(page: str, folder: dict[str, str], word: str) -> None:
    rows = [line for line in (DOCS / f"{page}.md").read_text().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == sorted(folder)
    for row in rows:
        name, summary, way, verdict = (cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:5])
        module = load_file(folder[name.strip("`")])
        assert summary.replace("\\|", "|") == " ".join((module.__doc__ or "").split())
        assert way == module.WAY
        assert verdict == word or not word


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SOUND))
def test_the_table_of_sound_code_is_current(name: str) -> None:
    assert table_row(name, check_planted(SOUND[name])) in (DOCS / "check-sound.md").read_text().splitlines()


@pytest.mark.parametrize("name", ["nucleus", "one_draft_per_cycle", "sampler_by_gumbel", "verifier_in_plain_python"])
def test_rows_of_sound_code_are_what_the_command_prints(name: str) -> None:
    assert table_row(name, check_planted(SOUND[name])) in (DOCS / "check-sound.md").read_text().splitlines()
