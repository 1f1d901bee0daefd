"""Coins by strata: the bound holds, agrees with bisection, refutes what is wrong and never hides a bias above it."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.foreign.coin_strata import Strata, check_strata
from rheo_verify.foreign.coins import boxes, check_coins
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.strata import Integral, by_corners, by_middles, last_float
from tests.foreign.test_coins import one_coin, verify

SCOPE = Scope(vocab=2, denominator=2, drafts=1, random=2)
EDGES = st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=4, unique=True).map(sorted)


def distance(found: Integral, exact: dict[Any, Any]) -> Fraction:
    """The total variation of the masses from the exact law."""
    outcomes = found.masses.keys() | exact.keys()
    apart = sum(abs(Fraction(found.masses.get(x, 0)) - Fraction(exact.get(x, 0))) for x in outcomes)
    return Fraction(apart) / 2


@st.composite
def step_functions(draw: Any, comes_back: bool) -> tuple[int, Any, dict[Any, Any], int]:
    """Coins, a function of them made of thresholds, its exact law, and how often it changes along a coin at most.

    The first coin chooses the edges of the second, as acceptance chooses the row of the last draw.
    """
    first = draw(EDGES)
    second = [draw(EDGES) for _ in range(len(first) + 1)]
    names = [[(i % 2, j % 2) if comes_back else (i, j) for j in range(len(row) + 1)] for i, row in enumerate(second)]

    def function(point: Any) -> Any:
        i = sum(point[0] >= edge for edge in first)
        return names[i][sum(point[1] >= edge for edge in second[i])]

    def lengths(edges: list[float]) -> list[Fraction]:
        return [Fraction(b) - Fraction(a) for a, b in itertools.pairwise([0.0, *edges, 1.0])]

    law: dict[Any, Any] = {}
    for i, wide in enumerate(lengths(first)):
        for j, high in enumerate(lengths(second[i])):
            law[names[i][j]] = law.get(names[i][j], 0) + wide * high
    changes = max(len(first), *map(len, second))
    return 2, function, law, changes


def many(function: Any) -> Any:
    return lambda points: [function(point) for point in points]


@settings(max_examples=60, deadline=None)
@given(step_functions(comes_back=False), st.sampled_from([1, 2, 8]), st.sampled_from([20, 300, 3000]))
def test_corners_are_wrong_by_at_most_their_bound(case: Any, cells: int, most: int) -> None:
    coins, function, law, _ = case
    found = by_corners(many(function), coins, cells, most)
    assert found.contradiction is None
    assert sum(found.masses.values()) == 1
    assert distance(found, law) <= found.bound
    assert all(mass <= law[outcome] for outcome, mass in found.sure.items())
    assert sum(found.sure.values()) == 1 - found.bound


@settings(max_examples=60, deadline=None)
@given(step_functions(comes_back=True), st.sampled_from([1, 4, 16, 64]))
def test_middles_are_wrong_by_at_most_their_bound(case: Any, cells: int) -> None:
    coins, function, law, changes = case
    found = by_middles(many(function), coins, cells, 10_000, changes)
    assert found.contradiction is None
    assert distance(found, law) <= found.bound


def test_the_bound_of_middles_is_reached() -> None:
    """Two changes just around the middle of a cell: one cell of four is wrong, and the bound is 1 * 2 / (2 * 4)."""
    inside = (math.nextafter(0.125, 0), math.nextafter(0.125, 1))
    found = by_middles(many(lambda point: int(inside[0] <= point[0] < inside[1])), 1, 4, 100, 2)
    assert found.bound == Fraction(1, 4)
    assert Fraction(1, 4) - distance(found, {0: 1}) < Fraction(1, 10**9)


@settings(max_examples=20, deadline=None)
@given(step_functions(comes_back=False))
def test_corners_and_bisection_agree(case: Any) -> None:
    coins, function, law, _ = case
    bisected: dict[Any, Any] = {}
    for _, outcome, volume in boxes(lambda point: (function(point), ()), coins, 256):
        bisected[outcome[0]] = bisected.get(outcome[0], 0) + volume
    found = by_corners(many(function), coins, 1, 3000)
    off = sum(abs(bisected.get(x, 0) - mass) for x, mass in law.items()) / 2  # what a grid of 256 cannot see
    assert distance(found, bisected) <= found.bound + off


def test_dyadic_edges_are_exact() -> None:
    found = by_corners(many(lambda point: (point[0] < 0.25, point[1] < 0.625)), 2, 1, 1000)
    assert found.bound == 0
    assert found.masses[True, True] == Fraction(5, 32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_last_float(dtype: str) -> None:
    np = pytest.importorskip("numpy")
    for high in (1.0, 0.5, 0.75, 2.0**-20, 1 - 2.0**-24, 3 * 2.0**-24):
        assert last_float(high, dtype) == float(np.nextafter(np.dtype(dtype).type(high), np.dtype(dtype).type(0)))


def test_contradictions_are_told_and_leave_no_bound() -> None:
    bump = by_corners(many(lambda point: 0.4 < point[0] < 0.6), 1, 1, 100)
    assert bump.contradiction is not None
    assert (bump.bound, bump.sure) == (1, {})
    comb = by_middles(many(lambda point: int(point[0] * 16) % 2), 1, 16, 100, 3)
    assert comb.contradiction is not None
    assert comb.bound == 1
    back = by_corners(many(lambda point: int(point[0] * 8 % 1 < 0.3)), 1, 1, 100)
    assert back.contradiction == "an output that was left comes back along coin 1"
    assert back.bound == 1


@pytest.mark.parametrize("strata", [Strata(within=1e-6), Strata(cells=32, changes=3, within=0.2)])
def test_verdicts(strata: Strata) -> None:
    report = check_strata(verify, strata=strata, arrays="list", scope=SCOPE)
    assert report.verdict is Verdict.VERIFIED, report
    assert report.cases == check_coins(verify, arrays="list", scope=SCOPE).cases
    wrong = check_strata(one_coin, strata=strata, arrays="list", scope=SCOPE)
    assert wrong.verdict is Verdict.REFUTED
    assert wrong.code == "RV401"
    assert (
        check_strata(lambda p, q, x, u: [1] if p[0][1] else 1 / 0, strata=strata, arrays="list", scope=SCOPE).code
        == "RV405"
    )


def biased(target: Any, draft: Any, tokens: Any, uniforms: Any) -> Any:
    """Accepts one time in a hundred what it should reject."""
    return verify(target, draft, tokens, [max(0.0, uniforms[0] - 0.01), *uniforms[1:]])


def test_a_bias_above_the_bound_is_never_verified() -> None:
    coarse = check_strata(biased, strata=Strata(cells=8, changes=3), arrays="list", scope=SCOPE)
    assert coarse.verdict is Verdict.INCONCLUSIVE
    assert coarse.warnings[0][0] == "RV421"
    for within, most, verdict in (
        (0.5, 5000, Verdict.VERIFIED),
        (0.02, 5000, Verdict.REFUTED),
        (0.02, 10, Verdict.INCONCLUSIVE),
        (0.001, 10, Verdict.INCONCLUSIVE),
    ):
        report = check_strata(biased, strata=Strata(within=within, most=most), arrays="list", scope=SCOPE)
        assert report.verdict is verdict
    assert check_strata(biased, strata=Strata(within=0.001), arrays="list", scope=SCOPE).verdict is Verdict.REFUTED


def test_deviation_and_error_count_together() -> None:
    """An error of 6/32 would fit into 0.19 alone, with the deviation of the middles it does not."""
    report = check_strata(verify, strata=Strata(16, 3, within=0.19), arrays="list", scope=SCOPE)
    assert report.verdict is Verdict.INCONCLUSIVE


def folded(target: Any, draft: Any, tokens: Any, uniforms: Any) -> Any:
    """Lossless, and no output is one interval: the first coin is read folded eight times."""
    return verify(target, draft, tokens, [uniforms[0] * 8 % 1, *uniforms[1:]])


def test_an_assumption_that_fails_is_inconclusive_and_the_other_one_decides() -> None:
    report = check_strata(folded, strata=Strata(cells=1), arrays="list", scope=SCOPE)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.warnings[0][0] == "RV422"
    wide = check_strata(folded, strata=Strata(cells=64, changes=16, within=0.5), arrays="list", scope=SCOPE)
    assert wide.verdict is Verdict.VERIFIED, wide
    told = check_strata(folded, strata=Strata(64, 3), arrays="list", scope=SCOPE).warnings
    assert [code for code, _ in told][-1] == "RV422"


KERNEL = """
import torch

def verify(target, draft, tokens, uniforms):
    batch, n = tokens.shape
    rows = torch.arange(batch, device=tokens.device)
    out = torch.full((batch, n + 1), -1, dtype=torch.int64, device=tokens.device)
    alive = torch.ones(batch, dtype=torch.bool, device=tokens.device)
    left = target[:, n].clone()
    for i in range(n):
        token = tokens[:, i]
        accepted = alive & (uniforms[:, i] * draft[rows, i, token] < target[rows, i, token])
        residual = (target[:, i] - draft[:, i]).clamp(min=0)
        left = torch.where((alive & ~accepted)[:, None], residual, left)
        out[:, i] = torch.where(accepted, token, out[:, i])
        alive = accepted
    count = (out >= 0).sum(1)
    sums = left.cumsum(1)
    out[rows, count] = (sums > uniforms[:, -1:] * sums[:, -1:]).int().argmax(1)
    return out, count

def one_coin_for_both(target, draft, tokens, uniforms):
    return verify(target, draft, tokens, uniforms[:, :1].expand_as(uniforms))

def unbatched(target, draft, tokens, uniforms):
    out, count = verify(target[None], draft[None], tokens[None], uniforms[None])
    return out[0], count[0]

def wrong_count(target, draft, tokens, uniforms):
    out, count = verify(target, draft, tokens, uniforms)
    return out, count + 1

def short(target, draft, tokens, uniforms):
    return verify(target, draft, tokens, uniforms)[0][1:]
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    pytest.importorskip("torch")
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return str(path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_batched_kernel_passes_and_its_faults_do_not(kernel: str, dtype: str, capsys: Any) -> None:
    flags = [
        "--as",
        "coins",
        "--strata",
        "2",
        "--within",
        "0.001",
        "--scope",
        "vocab=2,denominator=2,drafts=2,random=1",
    ]
    flags += ["--dtype", dtype]

    def code(name: str, *more: str) -> tuple[int, Any]:
        number = run(["check", f"{kernel}:{name}", *flags, *more, "--json"])
        return number, json.loads(capsys.readouterr().out)

    number, found = code("verify", "--batched")
    assert (number, found["verdict"]) == (0, "VERIFIED"), found
    assert found["threshold"] == 0.001
    for name, wanted in (("one_coin_for_both", "RV401"), ("wrong_count", "RV409"), ("short", "RV406")):
        number, found = code(name, "--batched")
        assert number == 1
        assert found["findings"][0]["code"] == wanted, found


def test_batches_and_single_calls_agree(kernel: str) -> None:
    from rheo_verify.foreign.loading import load

    options: dict[str, Any] = {
        "strata": Strata(within=0.1, most=100),
        "scope": Scope(vocab=2, denominator=1, drafts=1, random=2),
    }
    one = check_strata(load(f"{kernel}:unbatched"), name="x", **options)
    many = check_strata(load(f"{kernel}:verify"), batched=True, name="x", **options)
    assert one == replace(many, settings=one.settings)


def test_text_names_the_assumption_and_the_error(kernel: str, capsys: Any) -> None:
    flags = ["--as", "coins", "--strata", "4", "--batched", "--scope", "vocab=2,denominator=2,drafts=1,random=0"]
    assert run(["check", f"{kernel}:verify", *flags]) in (0, 3)
    shown = capsys.readouterr().out
    assert "each output is one interval of each coin" in shown
    assert "enumerated exactly" not in shown
    assert run(["check", f"{kernel}:verify", *flags, "--changes", "4"]) == 3
    shown = capsys.readouterr().out
    assert "at most 4 changes" in shown
    assert "warning RV421" in shown


@pytest.mark.parametrize(
    "flags",
    [
        ["--as", "coins", "--strata", "3"],
        ["--as", "coins", "--strata", "4", "--within", "2"],
        ["--as", "coins", "--strata", "4", "--changes", "-1"],
        ["--as", "coins", "--strata", "4", "--evaluations", "0"],
        ["--as", "coins", "--strata", "4", "--coins", "0"],
        ["--as", "coins", "--strata", "4", "--device", "nowhere"],
        ["--as", "coins", "--strata", "4", "--device", "cuda", "--arrays", "list"],
        ["--as", "coins", "--within", "0.1"],
        ["--as", "coins", "--batched"],
        ["--as", "verifier", "--strata", "4"],
    ],
)
def test_bad_flags(kernel: str, flags: list[str], capsys: Any) -> None:
    assert run(["check", f"{kernel}:verify", *flags]) == 2
    assert "RV106" in capsys.readouterr().err
