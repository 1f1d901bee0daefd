"""Samplers and decoders: processing, prompts, batches, scopes."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.probability.distributions import distribution

F = Fraction
ROW = distribution(["1/2", "3/10", "1/5"])
SMALL = DecoderScope(length=2, denominator=2, random=4, vocab=2)


def draw(row: Any) -> int:
    return random.choices(range(len(row)), row)[0]


def test_processing_by_hand() -> None:
    assert Processing(temperature=0.5).apply(ROW) == tuple(F(x, 38) for x in (25, 9, 4))
    assert Processing(top_k=2).apply(ROW) == (F(5, 8), F(3, 8), 0)
    assert Processing(top_p=0.6).apply(ROW) == (F(5, 8), F(3, 8), 0)
    assert Processing(top_p=0.4).apply(ROW) == (1, 0, 0)
    assert Processing(min_p=0.5).apply(ROW) == (F(5, 8), F(3, 8), 0)
    assert Processing(temperature=0).apply(ROW) == (1, 0, 0)
    assert Processing(temperature=2).apply(distribution(["4/5", "1/5"]))[0] == pytest.approx(2 / 3)
    assert Processing(top_p=0.8).ambiguous(ROW)
    assert Processing(top_k=1).ambiguous(distribution(["1/2", "1/2"]))
    assert not Processing(top_k=1).ambiguous(ROW)
    for wrong in ({"temperature": -1}, {"top_k": 0}, {"top_p": 0.0}, {"min_p": 2.0}):
        with pytest.raises(InputError):
            Processing(**wrong)


def test_a_sampler_of_probabilities() -> None:
    report = check_sampler(draw, arrays="list", logits=False, scope=Scope(denominator=2, random=5))
    assert report.verdict is Verdict.VERIFIED
    assert report.cases == 11 + 40 + 5
    wrong = check_sampler(lambda row: len(row) - 1, arrays="list", logits=False, scope=Scope(random=0))
    assert (wrong.verdict, wrong.code) == (Verdict.REFUTED, "RV401")
    broken = check_sampler(lambda row: len(row), arrays="list", logits=False, scope=Scope(random=0))
    assert broken.code == "RV406"


def test_a_decoder_without_drafts_is_lossless() -> None:
    def generate(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        tokens = list(prompt)
        for _ in range(n):
            tokens.append(draw(target(tokens)))
        return tokens[len(prompt) :]

    report = check_decoder(generate, arrays="list", scope=DecoderScope(length=3, random=6))
    assert report.verdict is Verdict.VERIFIED
    assert "joint law of 3 tokens" in report.scope


def test_rows_depend_on_the_context() -> None:
    def forgets(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        return [draw(target(prompt)) for _ in range(n)]

    report = check_decoder(forgets, arrays="list", scope=SMALL)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV401")


def test_all_rows_at_once() -> None:
    def generate(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        tokens = list(prompt)
        while len(tokens) <= n:
            tokens.append(draw(target.forward(tokens)[-1]))
        return tokens[1:]

    assert check_decoder(generate, arrays="list", scope=SMALL).verdict is Verdict.VERIFIED


def test_short_output_and_exceptions_are_findings() -> None:
    assert check_decoder(lambda t, d, p, n: [0], arrays="list", scope=SMALL).code == "RV406"
    assert check_decoder(lambda t, d, p, n: [0] * n if t(p)[0] else 1 / 0, arrays="list", scope=SMALL).code == "RV405"
    with pytest.raises(InputError):
        check_decoder(lambda t, d, p, n: [0], arrays="list", scope=DecoderScope(length=1))


def test_options_go_to_those_who_take_them() -> None:
    seen: list[Any] = []

    def generate(target: Any, draft: Any, prompt: Any, n: int, temperature: float = 1.0) -> Any:
        seen.append(temperature)
        tokens = list(prompt)
        for _ in range(n):
            row = [p ** (1 / temperature) for p in target(tokens)]
            tokens.append(draw(row))
        return tokens[1:]

    seen_by = Processing(temperature=0.5)
    assert check_decoder(generate, arrays="list", processing=seen_by, scope=SMALL).verdict is Verdict.VERIFIED


def test_too_many_paths_leave_a_case_out() -> None:
    def generate(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        for _ in range(3):
            random.choice(range(10))
        return [0] * n

    report = check_decoder(generate, arrays="list", scope=DecoderScope(length=2, random=0, denominator=1, paths=50))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "left out" in report.scope


def test_a_prompt_that_is_changed_in_place_is_a_breach() -> None:
    def generate(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        for _ in range(n):
            prompt.append(draw(target(prompt)))
        return prompt[-n:]

    report = check_decoder(generate, arrays="list", scope=SMALL)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV410")
    assert "the prompt was changed in place: it is [0, " in report.findings[0].message
    assert check_decoder(generate, arrays="list", scope=SMALL, in_place=True).verdict is Verdict.VERIFIED

    def batched(target: Any, draft: Any, prompts: Any, n: int) -> Any:
        return [generate(target, draft, prompt, n) for prompt in prompts]

    small = DecoderScope(length=2, denominator=1, random=1, vocab=2, batch=2)
    assert check_decoder(batched, arrays="list", scope=small).code == "RV410"


def test_a_decoder_that_returns_the_prompt_too_is_told_so() -> None:
    def generate(target: Any, draft: Any, prompt: Any, n: int, kept: int = 0, more: int = 0) -> Any:
        tokens = list(prompt)
        while len(tokens) < len(prompt) + n + more:
            tokens.append(draw(target(tokens)))
        return tokens[kept:]

    def evenly(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        return [draw([1.0] * len(target(prompt))) for _ in range(n + 1)]

    def batched(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        return [generate(target, draft, row, n) for row in prompt]

    def codes(code: Any, scope: DecoderScope = SMALL) -> list[str]:
        report = check_decoder(code, arrays="list", scope=scope)
        said = [finding.code for finding in report.findings if "it returns the prompt, too" in finding.message]
        assert (report.verdict is Verdict.REFUTED, said) == (bool(report.findings), ["RV406"] * len(said))
        return said + [finding.code for finding in report.findings if finding.code not in said]

    assert codes(generate) == ["RV406", "RV401"]
    assert codes(batched, DecoderScope(length=2, denominator=1, random=2, vocab=2, batch=2)) == ["RV406", "RV401"]
    assert codes(lambda t, d, p, n: generate(t, d, p, n, kept=1, more=1)) == []  # one more than asked: cut
    assert codes(lambda t, d, p, n: generate(t, d, p, n, more=1)) == ["RV401"]
    assert codes(evenly) == ["RV401"]  # begins so by chance
