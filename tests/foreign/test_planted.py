"""Every planted fault is refuted with its golden counterexample; sound code that looks wrong is verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.planted import check_planted, golden, kinds, load_file
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier

torch = pytest.importorskip("torch")
TOYS = Path(__file__).parents[2] / "toy_models"
BROKEN = dict(kinds(str(TOYS / "broken")))
SOUND = dict(kinds(str(TOYS / "sound")))
WARNING_ONLY = {"zero_probability_accepted_at_zero"}


@pytest.mark.parametrize("name", sorted(set(BROKEN) - WARNING_ONLY))
def test_a_planted_fault_is_refuted_by_its_golden_counterexample(name: str) -> None:
    expected = json.loads((TOYS / "broken" / f"{name}.json").read_text())
    found = golden(check_planted(BROKEN[name]))
    assert found["verdict"] == "REFUTED"
    distances = [float(given["total_variation"] or 0) for given in (found, expected)]
    assert distances[0] == pytest.approx(distances[1], abs=2e-6)
    assert found | {"total_variation": None} == expected | {"total_variation": None}


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
