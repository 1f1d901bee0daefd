"""`empirical` and `precision` at a limit: what was finished is reported, and what was refuted stays refuted."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from rheo_verify.checks import precision
from rheo_verify.cli.main import run
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits

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
