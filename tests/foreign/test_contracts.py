"""Contracts beside the law: what RV411, RV412 and RV413 say, and when they say nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.arrays_in_out import Maker
from rheo_verify.foreign.cases import Case, by_position
from rheo_verify.foreign.contracts import broken_on_path
from rheo_verify.foreign.decoder import DecoderScope, DecoderSetting, DecoderTrial, check_decoder
from rheo_verify.foreign.planted import check_planted
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.foreign.watching import watch, wrong_with
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.enumeration import enumerate_paths

TOYS = Path(__file__).parents[2] / "toy_models"
ROWS = [distribution(row) for row in (["1/4", "3/4"], ["2/3", "1/3"], ["1/2", "1/2"])]
CASE = by_position(ROWS[:2], [ROWS[2]])


def pick(row: Any) -> int:
    return random.choices(range(len(row)), row)[0]


def drawn(row: Any) -> int:
    """A draw whose weights are seen."""
    import numpy as np

    return int(np.random.choice(len(row), p=row))


def decoder(tests: Any, draws: Any = lambda q: q) -> Any:
    """One draft per cycle: drawn from ``draws(q)``, tested with ``tests(q)``, whose residual it takes as well."""

    def generate(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        tokens = list(prompt)
        while len(tokens) <= n:
            q = draft(tokens)
            token = drawn(draws(q))
            p, q = target(tokens), tests(q)
            if random.random() * q[token] < p[token]:
                tokens.append(token)
                continue
            residual = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
            tokens.append(pick(residual if sum(residual) else p))
        return tokens[1:]

    return generate


def check(code: Any, case: Case = CASE) -> CheckReport:
    pytest.importorskip("numpy")
    return check_decoder(code, arrays="numpy", case=case, scope=DecoderScope(length=2))


def codes(report: CheckReport) -> list[str]:
    return [finding.code for finding in report.findings]


def smooth(row: Any) -> Any:
    return [0.5 * x + 0.5 / len(row) for x in row]


def test_a_draft_drawn_from_another_row_is_named_with_both_probabilities() -> None:
    case = by_position(ROWS[:2], [distribution(["1/5", "4/5"])])
    report = check(decoder(lambda q: q, smooth), case)
    assert codes(report) == ["RV411", "RV401"]
    message = report.findings[0].message
    assert "token 0 was drawn with probability 0.35" in message or "token 1 was drawn with probability 0.65" in message
    assert "test_contracts.py:" in message
    assert "the draft row after (0" in message
    assert 0 < report.findings[0].probability < 1
    walk = check_decoder(
        decoder(lambda q: q, smooth),
        arrays="numpy",
        case=case,
        scope=DecoderScope(length=2),
        path=report.findings[0].replay,
    ).walk
    assert walk.count("the draft is asked") >= 1


def test_a_draft_tested_with_what_it_was_drawn_from_is_no_breach() -> None:
    case = by_position(ROWS[:2], [distribution(["1/5", "4/5"])])
    assert check(decoder(smooth, smooth), case).verdict is Verdict.VERIFIED


def test_a_wrong_law_for_another_reason_is_not_blamed_on_the_draft() -> None:
    def residual_from_target(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        tokens = list(prompt)
        while len(tokens) <= n:
            q = draft(tokens)
            token = drawn(q)
            p = target(tokens)
            tokens.append(token if random.random() * q[token] < p[token] else pick(p))
        return tokens[1:]

    assert codes(check(residual_from_target)) == ["RV401"]


def test_order_is_a_breach_only_where_it_matters() -> None:
    torch = pytest.importorskip("torch")

    def siblings(replacement: bool, turned: bool) -> Any:
        def generate(target: Any, draft: Any, prompt: Any, n: int) -> Any:
            tokens = list(prompt)
            while len(tokens) <= n:
                q = draft(tokens)
                drafts = torch.multinomial(q, 2, replacement=replacement)
                r = target(tokens)
                for token in drafts.flip(0) if turned else drafts:
                    if torch.rand(()) < r[token] / q[token]:
                        tokens.append(int(token))
                        break
                    r = (r - q).clamp(min=0)
                    r = r / r.sum()
                    if not replacement:
                        q = q.clone()
                        q[token] = 0
                        q = q / q.sum()
                else:
                    tokens.append(int(torch.multinomial(r, 1)))
            return tokens[1:]

        return generate

    target = [distribution(row) for row in (["1/2", "1/3", "1/6"], ["1/3", "1/3", "1/3"])]
    case = by_position(target, [distribution(["1/6", "1/3", "1/2"])])
    scope = DecoderScope(length=2)
    for replacement, turned, expected in (
        (True, False, []),
        (True, True, []),
        (False, False, []),
        (False, True, ["RV412", "RV401"]),
    ):
        report = check_decoder(siblings(replacement, turned), case=case, scope=scope)
        assert codes(report) == expected, (replacement, turned)
    assert "tests" in report.findings[0].message


@pytest.mark.parametrize("arrays", ["list", "numpy", "torch"])
def test_a_row_that_is_no_distribution_is_named_where_it_was_used(arrays: str) -> None:
    """The residual of p = q is empty; q that is a little too large rejects where it must not."""
    if arrays != "list":
        pytest.importorskip(arrays)

    def code(target: Any, draft: Any, tokens: Any) -> Any:
        if random.random() * (float(draft[0][tokens[0]]) + 0.01) < float(target[0][tokens[0]]):
            return [int(tokens[0]), draws(target[1])]
        if arrays == "list":
            return [draws([max(p - q, 0.0) for p, q in zip(target[0], draft[0], strict=True)])]
        rest = (target[0] - draft[0]).clip(0)
        return [draws(rest / rest.sum())]

    def draws(row: Any) -> int:
        if arrays == "torch":
            import torch

            return int(torch.multinomial(row, 1))
        return drawn(row) if arrays == "numpy" else pick(row)

    case = by_position([ROWS[2], ROWS[0]], [ROWS[2]])
    first = check_verifier(code, arrays=arrays, case=case).findings[0]
    assert first.code == "RV413"
    assert "test_contracts.py:" in first.message
    assert "sum to 0" in first.message if arrays == "list" else "nan is no probability" in first.message


def test_an_exception_for_another_reason_stays_one() -> None:
    def code(target: Any, draft: Any, tokens: Any) -> Any:
        return [random.choices([], [])[0]] if tokens[0] else [*tokens, random.choices("abc", [1, 2])]

    assert check_verifier(code, arrays="list", case=CASE).code == "RV405"


def test_silent_use_of_what_is_no_distribution() -> None:
    np = pytest.importorskip("numpy")

    def missing_mass(target: Any, draft: Any, tokens: Any) -> Any:
        return [int(np.random.multinomial(1, target[0] * 0.5).argmax())]

    def negative(target: Any, draft: Any, tokens: Any) -> Any:
        return [pick([target[0][0] + 0.25, -0.25, target[0][1]])]

    def past_the_end(target: Any, draft: Any, tokens: Any) -> Any:
        return [min(1, int(np.searchsorted(np.cumsum(target[0] * 0.5), np.random.random(1))[0]))]

    for code, word in ((missing_mass, "sum to 0.5"), (negative, "negative"), (past_the_end, "sum to 0.5")):
        report = check_verifier(code, arrays="numpy", case=CASE)
        assert report.code == "RV413", code.__name__
        assert word in report.findings[0].message

    def scaled(target: Any, draft: Any, tokens: Any) -> Any:
        sums = np.cumsum(target[0] * 0.5)
        return [int(np.searchsorted(sums, np.random.random(1) * sums[-1])[0])]

    assert check_verifier(scaled, arrays="numpy", case=CASE).verdict is Verdict.VERIFIED

    def scaled_from_the_draft(target: Any, draft: Any, tokens: Any) -> Any:
        return scaled(draft, draft, tokens)

    assert codes(check_verifier(scaled_from_the_draft, arrays="numpy", case=CASE)) == ["RV401"]


def test_what_is_wrong_with_a_row() -> None:
    assert wrong_with((0.5, 0.5), 1.0) is None
    assert wrong_with((0.5, 0.25), None) is None
    assert wrong_with((0.5, 0.25), 1.0) == "they sum to 0.75, not to 1"
    assert wrong_with((0.0, 0.0), None) == "they sum to 0"
    assert wrong_with((1.5, -0.5), 1.0) == "-0.5 is negative"
    assert wrong_with((float("nan"), 1.0), 1.0) == "nan is no probability"


TOKENWISE = ("two_drafts_without_replacement", "two_iid_drafts", "one_draft_per_cycle", "temperature_everywhere",
             "nucleus_everywhere", "draft_only_untempered", "even_draft_tested_with_itself")  # fmt: skip


@pytest.mark.parametrize("name", TOKENWISE)
def test_nothing_is_said_of_sound_rejection_even_where_nobody_asks(name: str) -> None:
    """Without the wrong law that they wait for, the contracts still find nothing in sound token-wise rejection."""
    pytest.importorskip("torch")
    from rheo_verify.foreign.loading import load_file

    module = load_file(str(TOYS / "sound" / f"{name}.py"))
    processing = Processing(
        **{k: v for k, v in getattr(module, "OPTIONS", {}).items() if k in ("temperature", "top_p")}
    )
    rows = [distribution(row) for row in (["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"], ["1/4", "1/4", "1/2"])]
    case = by_position(rows[:2], rows[2:])
    setting = DecoderSetting(Maker("torch"), processing, 2, 1, processing.options())
    tests = 0
    with answering(module.decoder) as door:
        trial = DecoderTrial(door, Rebuilder(module.decoder), case, setting)
        for path in enumerate_paths(trial.run):
            events = watch(trial, path.choices)[0].events
            tests += len(events)
            assert not list(broken_on_path(trial, events, 1e-6))
    assert tests > 50


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("even_draft_tested_with_the_plain_row", "RV411"),
        ("draft_verified_without_temperature", "RV411"),
        ("draft_probabilities_in_bfloat16", "RV411"),
        ("without_replacement_verified_as_iid", "RV411"),
        ("siblings_tested_last_drawn_first", "RV412"),
        ("residual_mass_falls_to_last_token", "RV413"),
        ("residual_not_clamped", "RV413"),
        ("kseq_below_its_bound", "RV401"),
        ("early_stop_reads_the_drawn_token", "RV401"),
    ],
)
def test_planted_faults_have_the_code_of_their_cause(name: str, code: str) -> None:
    pytest.importorskip("torch")
    assert check_planted(str(TOYS / "broken" / f"{name}.py")).code == code


def test_candidates_of_transformers_are_held_to_the_logits_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers.generation.candidate_generator import AssistedCandidateGenerator as Generator

    from rheo_verify.foreign.huggingface import check_generate

    case = by_position(ROWS, [ROWS[1], ROWS[0]])
    assert check_generate(case, length=2).verdict is Verdict.VERIFIED
    real = Generator.get_candidates

    def sharpened(self: Any, input_ids: Any, **options: Any) -> Any:
        ids, logits = real(self, input_ids, **options)
        return ids, logits if logits is None else logits * 2

    monkeypatch.setattr(Generator, "get_candidates", sharpened)
    report = check_generate(case, length=2)
    assert codes(report)[0] == "RV411"
    assert "cycle 1, after (0): candidates are drawn from (0.666667, 0.333333)" in report.findings[0].message

    def dropping(self: Any, input_ids: Any, **options: Any) -> Any:
        """A last candidate that is token 1 is left out: what is kept no longer follows its logits."""
        ids, logits = real(self, input_ids, **options)
        if ids.shape[1] > input_ids.shape[1] + 1 and ids[0, -1] == 1:
            return ids[:, :-1], logits[:, :-1]
        return ids, logits

    monkeypatch.setattr(Generator, "get_candidates", dropping)
    assert codes(check_generate(case, length=3))[0] == "RV411"
    assert torch is not None
