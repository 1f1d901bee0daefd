"""The pair that comes with the project: it drafts well, is lossless, and planted faults in it are found."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from rheo_verify.checks.empirical import EXACT, Plan, check_pair
from rheo_verify.checks.planted import planted
from rheo_verify.checks.sampled import SampledCheck, watch
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.empirical import default_text
from rheo_verify.cli.main import run
from rheo_verify.decoders.torch_decoding import TorchDecoding
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError
from rheo_verify.models.pair import Pair, load_shipped
from rheo_verify.models.rows import RowSettings
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule

TEXT = [0, *default_text().encode()[:130]]


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_shipped()


def sampled(pair: Pair, tokens: int, temperature: float = 1.0, fault: str | None = None, seed: int = 0) -> SampledCheck:
    sound = layer_rule("rheo")
    rule = planted(sound, fault, temperature) if fault else sound
    design = TreeDesign(lead=1, pool=3, beam=3, depth=3, budget=6)
    live = TorchDecoding(pair, design, in_one_draw(rule), TorchChance(seed), RowSettings(temperature))
    live.start(TEXT[:40])
    check = SampledCheck(0.02)
    for _ in watch(live, check, sound, tokens, stop_early=True):
        pass
    return check


def test_a_sound_decoder_raises_no_alarm_and_drafts_well(pair: Pair) -> None:
    check = sampled(pair, 150)
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.tokens_per_cycle > 1.5
    assert check.acceptance.layers > 30


@pytest.mark.parametrize(("fault", "temperature"), [("residual-from-p", 1.5), ("bonus-at-temperature-1", 0.5)])
def test_planted_faults_are_found_within_a_few_hundred_tokens(pair: Pair, fault: str, temperature: float) -> None:
    check = sampled(pair, 700, temperature, fault)
    assert check.found_at is not None
    assert check.verdict is Verdict.REFUTED


def test_everything_at_once(pair: Pair) -> None:
    plan = Plan(leads=(0, 1), pool=5, depth=2, budget=8, tokens=20, draws=60)
    result = check_pair(pair, TEXT[:60], plan)
    assert result.exact is Verdict.VERIFIED
    assert result.verdict is Verdict.VERIFIED
    assert result.rows == 58
    assert max(check.worst for check in result.layers) <= EXACT < result.rounded[1].worst
    assert result.table4["topk"] < result.table4["rrsw"]
    assert result.table4["topk"] < result.table4["rheo"]
    broken = check_pair(
        pair, TEXT[:40], Plan(leads=(1,), pool=5, depth=1, budget=5, tokens=3, draws=600, fault="residual-from-p")
    )
    assert broken.exact is Verdict.VERIFIED  # the sound rule's own
    assert len(broken.designs) == 2


def test_the_command(capsys: Any) -> None:
    small = [
        "--tokens",
        "12",
        "--draws",
        "40",
        "--contexts",
        "30",
        "--m",
        "1",
        "--k",
        "5",
        "--depth",
        "2",
        "--budget",
        "6",
    ]
    assert run(["empirical", *small, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == "VERIFIED"
    assert data["exact"]["rows"] == 30
    assert [it["m"] for it in data["designs"]] == [5, 1]
    assert run(["empirical", *small]) == 0
    text = capsys.readouterr().out
    assert "VERIFIED" in text
    assert "power" in text


def test_usage_errors(capsys: Any) -> None:
    for arguments in (["--m", "x"], ["--m", "9"], ["--target", "nowhere"], ["--dtype", "int8"], ["--device", "abacus"]):
        assert run(["empirical", *arguments]) == 2
        assert "RV" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"RV106.*fault"):
        planted(layer_rule("rheo"), "gremlins", 1.0)


def test_inspect(capsys: Any) -> None:
    from rheo_verify.models.shipped import shipped_pairs

    folder = shipped_pairs()["byte-llama"]
    assert run(["inspect", str(folder / "target"), str(folder / "head")]) == 0
    text = capsys.readouterr().out
    assert "they fit" in text
    assert "128 draft tokens of 256" in text
    assert run(["inspect", str(folder / "head"), str(folder / "head"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["fit"] is False


def test_precision(capsys: Any) -> None:
    assert run(["precision", "--rows", "400", "--json"]) == 0
    rows = {(it["dtype"], it["lead"]): it for it in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["bfloat16", 1]["broken"] > 0.04 > rows["float32", 1]["broken"]
    assert rows["bfloat16", 1]["largest"] > 1e-5
    assert all(it["remedied"] == 0 for it in rows.values())
    assert rows["bfloat16", 1]["ties"] > rows["float32", 1]["ties"]


def test_audit_of_the_decoders_own_transcript(pair: Pair, tmp_path: Any, capsys: Any) -> None:
    design = TreeDesign(lead=1, pool=6, beam=6, depth=3, budget=10)
    live = TorchDecoding(pair, design, in_one_draw(layer_rule("rheo")), TorchChance(0))
    live.start(TEXT[:40])
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        for cycle in live.run(30):
            for length, token in enumerate(cycle.emitted):
                p = cycle.row(cycle.emitted[:length])
                top = p.topk(20)
                stated = {str(t): float(torch.log(x)) for t, x in zip(top.indices.tolist(), top.values, strict=True)}
                line = {"id": "a", "token": token, "logprobs": stated, "rest": max(0.0, float(1 - top.values.sum()))}
                file.write(json.dumps(line) + "\n")
    assert run(["audit", str(path), "--state", str(tmp_path / "state"), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["tokens"] >= 30
    assert run(["audit", str(path), "--state", str(tmp_path / "state")]) == 3
    assert "INCONCLUSIVE" in capsys.readouterr().out
    assert run(["audit", str(path), "--state", str(tmp_path / "state"), "--level", "0.5"]) == 2
