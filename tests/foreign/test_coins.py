"""Coins as inputs: breakpoints to the last float, exact volumes, and verdicts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.coins import boxes, breakpoints, check_coins
from rheo_verify.foreign.scope import Scope

SCOPE = Scope(vocab=2, denominator=3, drafts=1, random=4)


def verify(target: Any, draft: Any, tokens: Any, uniforms: Any) -> Any:
    for i, token in enumerate(tokens):
        if uniforms[i] * draft[i][token] < target[i][token]:
            continue
        return [*tokens[:i], pick([max(p - q, 0.0) for p, q in zip(target[i], draft[i], strict=True)], uniforms[-1])]
    return [*tokens, pick(target[-1], uniforms[-1])]


def pick(row: Any, u: float) -> int:
    point, total = u * sum(row), 0.0
    for token, value in enumerate(row):
        total += value
        if point < total:
            return token
    return max(token for token, value in enumerate(row) if value > 0)


def one_coin(target: Any, draft: Any, tokens: Any, uniforms: Any) -> Any:
    return verify(target, draft, tokens, [uniforms[0], uniforms[0]])


def test_breakpoints_to_the_last_float() -> None:
    assert breakpoints(lambda u: ((int(u < 0.3),), ()), 8) == [0.3]
    assert breakpoints(lambda u: ((int(u <= 0.3),), ()), 8) == [math.nextafter(0.3, 1)]
    assert breakpoints(lambda u: ((int(3 * u),), ()), 2) == [1 / 3, 2 / 3]


def test_boxes_are_a_partition_with_exact_volumes() -> None:
    def function(point: Any) -> Any:
        u, v = point
        return ((0,), ()) if u < 0.25 else ((1,), ()) if v < 0.5 else ((2,), ())

    law: dict[Any, Any] = {}
    for _, outcome, volume in boxes(function, 2, 8):
        law[outcome[0]] = law.get(outcome[0], 0) + volume
    assert law == {(0,): Fraction(1, 4), (1,): Fraction(3, 8), (2,): Fraction(3, 8)}


def test_verdicts() -> None:
    report = check_coins(verify, arrays="list", scope=SCOPE)
    assert report.verdict is Verdict.VERIFIED, report.findings
    assert report.cases == 25 + 4
    wrong = check_coins(one_coin, arrays="list", scope=SCOPE)
    assert wrong.verdict is Verdict.REFUTED
    assert wrong.code == "RV401"
    crash = check_coins(lambda p, q, x, u: [1] if p[0][1] else 1 / 0, arrays="list", scope=SCOPE)
    assert crash.code == "RV405"


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
def test_arrays(arrays: str) -> None:
    if arrays == "torch":
        pytest.importorskip("torch")

    def code(target: Any, draft: Any, tokens: Any, uniforms: Any) -> Any:
        return verify(target.tolist(), draft.tolist(), tokens.tolist(), uniforms.tolist())

    report = check_coins(code, arrays=arrays, scope=Scope(vocab=2, denominator=2, drafts=1, random=0))
    assert report.verdict is Verdict.VERIFIED
