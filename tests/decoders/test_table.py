"""The table on the default model, against the golden one (`decoders --json`), and its text."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from rheo_verify.checks import decoders
from rheo_verify.checks.adapted_growth import adapted_growth
from rheo_verify.checks.cycle_law import CycleLaws
from rheo_verify.checks.decoders import Evaluation, Unfinished, evaluate_all, evaluate_in_time
from rheo_verify.cli.main import run
from rheo_verify.decoders.registry import REGISTRY
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.random_tables import random_model
from rheo_verify.report import decoders as report
from rheo_verify.report.text import Style
from tests.clocks import Clock, ticking

GOLDEN = Path(__file__).parent / "table.json"
PUBLISHED = [
    "autoregressive",
    "speculative-sampling",
    "greedy-draft",
    "block-verification",
    "sampler-match",
    "specinfer",
    "rrs-without-replacement",
    "sequoia",
    "spectr",
    "spechub",
    "greedy-multi-draft",
    "optimal-transport",
    "pruned-transport",
    "eagle-2",
    "eagle-3",
    "opt-tree",
    "rheosampling-ad-hoc",
    "raw-score-tree",
    "token-ties",
    "tsubame",
    "treespark",
    "delayed-expansion",
    "traversal-verification",
    "jetspec",
    "domino-tree",
    "loopspec",
    "medusa-typical",
    "medusa-nucleus",
    "lenient",
]


@pytest.fixture(scope="module")
def rows() -> tuple[Evaluation, ...]:
    found = evaluate_all(REGISTRY.values(), random_model(4, 0))
    assert all(isinstance(row, Evaluation) for row in found)
    return found  # type: ignore[return-value]


def test_every_published_decoder_is_there() -> None:
    assert set(PUBLISHED) <= set(REGISTRY)
    assert {f"rheosampling-m{m}-{rule}" for m in range(3) for rule in ("rheo", "rrsw")} <= set(REGISTRY)
    assert all(entry.description and entry.source and entry.exactness for entry in REGISTRY.values())


def test_every_verdict_is_the_expected_one(rows: tuple[Evaluation, ...]) -> None:
    assert [row.entry.name for row in rows if not row.as_expected] == []


def test_the_table_is_the_golden_one(rows: tuple[Evaluation, ...]) -> None:
    found = json.loads(report.table_json(rows, rows[0].model, (), 2, 3))
    assert all(row.pop("paths") > 0 for row in found["decoders"])  # the cost is the engine's, not the decoder's
    assert found == json.loads(GOLDEN.read_text())


def test_the_optimum_bounds_every_lossless_decoder(rows: tuple[Evaluation, ...]) -> None:
    checked = [row for row in rows if row.entry.lossless and row.optimum is not None]
    assert len(checked) > 10
    assert all(row.accepted_by_depth[0] <= row.optimum for row in checked)


def test_text(rows: tuple[Evaluation, ...]) -> None:
    model = rows[0].model
    text = report.table_text(rows, model, (), 2, 3, Style(100))
    assert all(row.entry.name in text for row in rows)
    assert "raw-score-tree: the slot 2 after (empty): verified as drawn from B 9/23" in text
    assert max(map(len, text.splitlines())) <= 100
    narrow = report.table_text(rows, model, (), 2, 3, Style(80))
    assert max(map(len, narrow.splitlines())) <= 80
    assert sum(line.startswith("decoder ") for line in narrow.splitlines()) == 2, "two tables"
    folded = report.table_text(rows, model, (), 2, 3, Style(40))
    assert max(map(len, folded.splitlines())) <= 40
    for row in rows:
        assert f"paths: {row.paths:,}" in folded
        assert folded.count(row.entry.name) >= 1


def test_the_documentation_shows_the_table(rows: tuple[Evaluation, ...]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "decoders.md").read_text()
    printed = report.table_text(rows, rows[0].model, (), 2, 3, Style(100))
    assert f"```text\n{printed}```" in page


def test_one_decoder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decoders", "block-verification", "--vocab", "3"]) == 0
    shown = capsys.readouterr().out
    assert "VERIFIED: lossless" in shown
    assert "Block Verification Accelerates Speculative Decoding" in shown
    assert run(["decoders", "lenient", "--vocab", "3", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["version"]) == ("rheo_verify/decoders", 1)
    (row,) = data["decoders"]
    assert (row["name"], row["verdict"], row["blame"]["culprit"]) == ("lenient", "REFUTED", "rule")
    assert row["total_variation_by_factor"]["1"] == "0"


def test_too_many_outcomes_to_watch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two drafts a node, three levels: the layers are averaged in no time, but there are 6^7 trees."""
    with pytest.raises(LimitReached, match="RV202"):
        adapted_growth(random_model(3, 0), (), REGISTRY["rrs-without-replacement"].make(3), most=1000)
    monkeypatch.setattr(decoders, "adapted_growth", partial(adapted_growth, most=1000))
    assert run(["decoders", "rrs-without-replacement", "--vocab", "3", "--levels", "3"]) == 0
    assert "not watched" in capsys.readouterr().out
    assert run(["decoders", "spectr-lower-end", "--vocab", "3", "--levels", "3"]) == 1
    assert "too many outcomes to be watched" in capsys.readouterr().out


def test_rheosampling_for_any_m(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decoders", "rheosampling-m3-rheo", "--vocab", "5", "--length", "2"]) == 0
    assert "3 lead tokens" in capsys.readouterr().out


def test_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decoders", "spec-infer"]) == 2
    assert "did you mean specinfer" in capsys.readouterr().err
    assert run(["decoders", "specinfer", "--levels", "0"]) == 2
    assert run(["decoders", "specinfer", "--vocab", "1000"]) == 2
    assert "RV108" in capsys.readouterr().err


def test_a_time_limit_is_inconclusive() -> None:
    rows = evaluate_all([REGISTRY["specinfer"]], random_model(3, 0), limits=Limits(deadline=0.0))
    assert [str(row.verdict) for row in rows] == ["INCONCLUSIVE"]
    assert "INCONCLUSIVE" in report.table_text(rows, random_model(3, 0), (), 2, 3, Style())
    assert json.loads(report.table_json(rows, random_model(3, 0), (), 2, 3))["decoders"][0]["why"]


@pytest.mark.parametrize("vocab", [1, 2])
def test_tiny_vocabularies(vocab: int) -> None:
    """One token, two tokens: nothing may break, and nothing that should be lossless is lossy."""
    for row in evaluate_all(REGISTRY.values(), random_model(vocab, 0)):
        assert isinstance(row, Evaluation)
        assert row.as_expected or not row.entry.lossless, row.entry.name


def test_the_time_limit_is_looked_at_between_contexts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking(monkeypatch)
    assert run(["decoders", "specinfer", "--vocab", "12", "--time-limit", "200"]) == 3
    assert re.search(r"time limit was reached; \d+ of the cycles were finished", capsys.readouterr().out)


def test_one_decoder_that_a_limit_ends_says_what_was_covered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking(monkeypatch)
    assert run(["decoders", "treespark", "--time-limit", "2", "--json"]) == 3
    (row,) = json.loads(capsys.readouterr().out)["decoders"]
    assert (row["name"], row["verdict"], row["covered"]) == ("treespark", "INCONCLUSIVE", "no cycle was finished")
    assert run(["decoders", "treespark", "--time-limit", "2"]) == 3
    assert "INCONCLUSIVE: the time limit was reached; no cycle was finished" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["rrs-without-replacement", "specinfer", "spectr", "treespark", "block-verification", "tsubame"]
)
def test_the_time_limit_is_looked_at_inside_a_cycle(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("rheo_verify.limits.time", clock)
    laws = CycleLaws(REGISTRY[name].make(2), random_model(4, 0), Limits(deadline=1e9))
    laws.at(())
    whole = clock.looks
    assert whole > 5
    clock.looks = 0
    with pytest.raises(LimitReached, match="RV201"):
        CycleLaws(REGISTRY[name].make(2), random_model(4, 0), Limits(deadline=whole / 2)).at(())
    assert clock.looks < whole


def test_the_time_limit_is_looked_at_while_drafting_is_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_verify.limits.time", Clock())
    decoder, model = REGISTRY["treespark"].make(2), random_model(4, 0)
    whole = CycleLaws(decoder, model)
    whole.at(())
    cut = CycleLaws(decoder, model, Limits(deadline=4.0))
    with pytest.raises(LimitReached, match="RV201"):
        cut.at(())
    assert 0 < cut.paths < whole.paths


def test_finished_rows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("rheo_verify.limits.time", clock)
    entries = [REGISTRY[name] for name in ("autoregressive", "specinfer", "treespark", "eagle-2")]
    finished = evaluate_all(entries[:2], random_model(3, 0), limits=Limits(deadline=1e9))
    deadline, clock.looks = clock.looks + 30.0, 0
    first, second, *others = evaluate_all(entries, random_model(3, 0), limits=Limits(deadline=deadline))
    assert [row.verdict for row in (first, second)] == [row.verdict for row in finished]
    assert [type(row) for row in others] == [Unfinished] * 2
    assert report.table_text((first, second, *others), random_model(3, 0), (), 2, 3, Style(100)).count("INCONCL") == 2


def test_an_unfinished_row_says_how_many_cycles_were_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("rheo_verify.limits.time", clock)
    evaluate_in_time(REGISTRY["treespark"], random_model(3, 0), Limits(deadline=1e9))
    deadline, clock.looks = clock.looks / 3, 0
    row = evaluate_in_time(REGISTRY["treespark"], random_model(3, 0), Limits(deadline=deadline))
    assert isinstance(row, Unfinished)
    assert re.fullmatch(r"[1-9]\d* of the cycles were finished", row.covered)


def test_a_known_verdict_outlives_the_time_to_explain_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuted is refuted, though no time is left to watch the drafting."""
    clock = Clock()
    monkeypatch.setattr("rheo_verify.limits.time", clock)
    model = random_model(3, 0)
    row = evaluate_in_time(REGISTRY["raw-score-tree"], model, Limits(deadline=1e9))
    assert isinstance(row, Evaluation)
    whole = clock.looks
    clock.looks = 0
    row = evaluate_in_time(REGISTRY["raw-score-tree"], model, Limits(deadline=whole - 2.0))
    assert isinstance(row, Evaluation)
    assert str(row.verdict) == "REFUTED"
    assert row.blame is None or row.blame.growth is None


def test_more_lead_tokens_than_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decoders", "rheosampling-m99-rheo"]) == 2
    assert "m = 99 lead tokens, but the vocabulary has only 4" in capsys.readouterr().err
    assert run(["decoders", "rheosampling-m99"]) == 2
    assert run(["decoders", "rheosampling-m5-rheo"]) == 2
