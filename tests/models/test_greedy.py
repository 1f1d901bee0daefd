"""Greedy output against the target's own: equal, near-ties reported, faults told from rounding."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from rheo_verify.checks.greedy import Close, GreedyCheck, greedy_check
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.decoders import torch_decoding
from rheo_verify.decoders.torch_decoding import TorchDecoding
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.rows import RowSettings
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule
from tests.models.small import random_pair

PROMPT = (0, 5, 17, 3, 3, 80)


def check(pair: Any = None, tokens: int = 30) -> GreedyCheck:
    design = TreeDesign(lead=1, pool=4, beam=4, depth=3, budget=10)
    settings = RowSettings(temperature=0, support=32)
    live = TorchDecoding(pair or random_pair(), design, in_one_draw(layer_rule("rheo")), TorchChance(0), settings)
    live.start(PROMPT)
    return greedy_check(live, tokens)


def test_greedy_output_is_the_targets_own_and_no_tie_is_near() -> None:
    found = check()
    assert (found.tokens, found.found, found.verdict) == (30, (), Verdict.VERIFIED)
    assert 0 < found.rounding < 1e-4
    assert 0 < found.tree_rounding < 1e-4


def test_tokens_of_one_row_are_a_near_tie_everywhere_they_are_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each token has a twin with the same logits: every position is a tie, and the smaller id is taken."""
    pair = random_pair(3)
    head = pair.target.network.lm_head.weight
    with torch.no_grad():
        before = head.clone()
        head[1::2] = head[::2]
        found = check(pair)
        head.copy_(before)
    assert found.verdict is Verdict.VERIFIED
    assert len(found.near_ties) == 30
    assert [it.position for it in found.near_ties] == list(range(30))
    assert all(it.gap <= found.bound and it.own % 2 == 0 and not it.differs for it in found.found)


def test_a_wrong_mask_is_no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_decoding, "tree_mask", lambda tree: torch.ones(len(tree) + 1, len(tree) + 1).bool())
    found = check()
    assert found.verdict is Verdict.REFUTED
    assert found.tree_rounding > 100 * found.rounding
    assert all(it.differs and it.gap > found.bound for it in found.faults)


def test_what_counts_as_near() -> None:
    near, far = Close(3, 0.03, 7, 8), Close(5, 0.05, 7, 8)
    found = GreedyCheck(9, 0.01, 0.01, (near, far), 0.02)
    assert (found.near_ties, found.faults, found.verdict) == ((near,), (far,), Verdict.REFUTED)
    assert GreedyCheck(9, 0.01, 0.01, (near,), 0.02).verdict is Verdict.VERIFIED
    assert GreedyCheck(9, 0.01, 0.01, (near,), 0.005).verdict is Verdict.INCONCLUSIVE
    assert GreedyCheck(9, 0.01, 0.01, (near, far), 0.005).verdict is Verdict.REFUTED


def test_the_command_lists_near_ties(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from rheo_verify.checks import empirical

    answer = GreedyCheck(9, 0.01, 0.01, (Close(3, 0.03, 7, 8), Close(4, 0.0, 5, 5)), 0.02)
    monkeypatch.setattr(empirical, "greedy_check", lambda live, tokens, progress: answer)
    flags = {"tokens": 2, "draws": 0, "contexts": 4, "m": 1, "k": 3, "depth": 1, "budget": 3, "greedy": 9}
    small = [word for flag, value in flags.items() for word in (f"--{flag}", str(value))]
    assert run(["empirical", *small]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 of them not the target's own" in text
    assert "near-ties 2 (two best logits closer than 4 x 1.0e-02" in text
    assert "token 4: gap 3.0e-02 <= 4.0e-02; differs: 7, the target's own is 8" in text
    assert "token 5: gap 0.0e+00 <= 4.0e-02; both take 5" in text
    answer = GreedyCheck(9, 0.01, 0.01, (Close(3, 0.5, 7, 8),), 0.02)
    assert run(["empirical", *small, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["verdict"], data["greedy"]["verdict"]) == ("REFUTED", "REFUTED")
    assert data["greedy"]["faults"] == [{"position": 3, "gap": 0.5, "emitted": 7, "own": 8}]
    assert run(["empirical", *small[:-1], "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["greedy"] is None


def test_half_precision_reports_its_ties() -> None:
    from dataclasses import replace

    from rheo_verify.models.pair import Pair

    pair = random_pair(4)
    target = replace(pair.target, network=pair.target.network.to(torch.bfloat16), dtype=torch.bfloat16)
    weights = {key: value.to(torch.bfloat16) for key, value in pair.head.weights.items()}
    found = check(Pair(target, replace(pair.head, weights=weights)))
    pair.target.network.to(torch.float32)
    assert found.rounding > 1e-3
    assert found.near_ties
    assert found.verdict is Verdict.VERIFIED
