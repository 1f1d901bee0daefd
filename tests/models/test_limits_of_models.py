"""`empirical` and `precision` at a limit: what was finished is reported, and what was refuted stays refuted."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.checks import precision
from rheo_verify.checks.sampled import SampledCheck
from rheo_verify.cli.main import run
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models import pair
from tests.clocks import ticking

ROWS = ["precision", "--rows", "20", "--vocab", "16"]


def test_work_that_is_done_meets_no_limit() -> None:
    over = Limits(deadline=time.monotonic() - 1)
    over.tell("rows", 3, 3)
    for done, total in ((2, 3), (0, 0), (5, 0)):
        with pytest.raises(LimitReached):
            over.tell("rows", done, total)


@pytest.mark.parametrize("remedied", [0.0, 0.25])
def test_precision_reports_the_rows_before_a_limit(
    remedied: float, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, calls = precision.measure, iter(range(100))

    def limited(*arguments: Any, **options: Any) -> Any:
        if next(calls) % 2:
            raise LimitReached("RV201", "the time limit was reached", "measurements: 1 of 6")
        return replace(measure(*arguments, **options), remedied=remedied)

    monkeypatch.setattr(precision, "measure", limited)
    assert run([*ROWS, "--json"]) == (1 if remedied else 3)
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert [it["remedied"] for it in data["rows"]] == [remedied]
    assert data["unfinished"] == {"why": "the time limit was reached", "covered": "measurements: 1 of 6"}
    assert ("INCONCLUSIVE: RV201" in err) == (not remedied)
    assert run(ROWS) == (1 if remedied else 3)
    assert "stopped" in capsys.readouterr().out


SMALL = shlex.split("empirical --tokens 40 --draws 20 --contexts 12 --m 0,1 --k 4 --depth 2 --budget 6 --greedy 4")


def _stop_at(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tell = Limits.tell

    def stopping(self: Limits, now: str, done: int, total: int = 0) -> None:
        tell(self, now, done, total)
        if now.startswith(what):
            raise LimitReached("RV201", "the time limit was reached", self.covered)

    monkeypatch.setattr(Limits, "tell", stopping)


@pytest.mark.parametrize(
    ("what", "layers", "designs"),
    [("layers", 0, 0), ("greedy", 4, 0), ("tokens of rheosampling m=1", 4, 2), ("draws at one prompt, m=1", 4, 3)],
)
def test_empirical_reports_what_a_limit_left(
    what: str, layers: int, designs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    _stop_at(what, monkeypatch)
    page = tmp_path / "page.html"
    assert run([*SMALL, "--json"]) == 3
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert (len(data["exact"]["layers"]), len(data["designs"])) == (layers, designs)
    assert (data["verdict"], data["exact"]["verdict"]) == ("INCONCLUSIVE", "VERIFIED" if layers else "INCONCLUSIVE")
    assert data["unfinished"]["why"] == "the time limit was reached"
    assert "INCONCLUSIVE: RV201" in err
    assert run([*SMALL, "--html", str(page)]) == 3
    assert "stopped" in capsys.readouterr().out
    assert "INCONCLUSIVE" in page.read_text()


def test_what_empirical_refuted_before_a_limit_stays_refuted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    found = SampledCheck.found_at
    monkeypatch.setattr(SampledCheck, "found_at", property(lambda self: 1 if self.process.tokens else None))
    _stop_at("tokens of eagle-3", monkeypatch)
    page = tmp_path / "page.html"
    assert run([*SMALL, "--json", "--html", str(page)]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [it["verdict"] for it in data["designs"]] == [data["verdict"]] == ["REFUTED"]
    assert data["designs"][0]["tokens"] < 40
    assert data["unfinished"] is not None
    assert "the rest is not shown" in page.read_text()
    assert run(SMALL) == 1
    assert "stopped" in capsys.readouterr().out
    monkeypatch.setattr(SampledCheck, "found_at", found)
    assert run([*SMALL, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["designs"] == []


def test_a_layer_refuted_before_a_limit_has_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr("rheo_verify.checks.empirical.EXACT", 0.0)
    _stop_at("greedy", monkeypatch)
    page = tmp_path / "page.html"
    assert run([*SMALL, "--html", str(page)]) == 1
    assert "REFUTED" in capsys.readouterr().out
    assert "the rest is not shown" in page.read_text()


def test_loading_looks_at_the_clock_between_target_and_head(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*given: Any, **named: Any) -> Any:
        clock.monotonic()
        clock.looks += 1_000
        return load_target(*given, **named)

    def never(*given: Any, **named: Any) -> Any:
        raise AssertionError("the time is up")

    clock, load_target = ticking(monkeypatch), pair.load_target
    monkeypatch.setattr(pair, "load_target", slow)
    monkeypatch.setattr(pair, "load_head", never)
    assert run([*SMALL, "--time-limit", "900"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "INCONCLUSIVE: RV201: the time limit was reached (loading the models: 0)" in err
