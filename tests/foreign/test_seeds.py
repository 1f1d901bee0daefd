"""Code that seeds its generator in each call draws the same noise in all of them: enumeration says so."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier

SCOPE = Scope(vocab=2, denominator=2, random=4)
ONCE = random.Random(7)


def choose(row: Any, generator: Any = random) -> int:
    return int(generator.choices(range(len(row)), row)[0])


def own_generator(target: Any, draft: Any, tokens: Any) -> list[int]:
    return [choose(target[0], random.Random(1234))]


def seeded(target: Any, draft: Any, tokens: Any) -> list[int]:
    random.seed(0)
    return [choose(target[0])]


def by_token(target: Any, draft: Any, tokens: Any) -> list[int]:
    random.seed(tokens[0])
    return [choose(target[0])]


def numpys(target: Any, draft: Any, tokens: Any) -> list[int]:
    return [int(np.random.default_rng(0).choice(len(target[0]), p=target[0]))]


def global_generator(target: Any, draft: Any, tokens: Any) -> list[int]:
    return [choose(target[0])]


def seeded_once(target: Any, draft: Any, tokens: Any) -> list[int]:
    return [choose(target[0], ONCE)]


def fresh_entropy(target: Any, draft: Any, tokens: Any) -> list[int]:
    return [choose(target[0], random.Random())]


class OfItsOwn:
    def __init__(self) -> None:
        self.generator = random.Random(3)

    def __call__(self, target: Any, draft: Any, tokens: Any) -> list[int]:
        return [choose(target[0], self.generator)]


@pytest.mark.parametrize("code", [own_generator, seeded, by_token, numpys])
def test_seeds_of_each_call_are_told(code: Callable[..., Any]) -> None:
    report = check_verifier(code, arrays="list", scope=SCOPE)
    assert [number for number, _ in report.warnings] == ["RV415"]
    assert report.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("code", [global_generator, seeded_once, fresh_entropy, OfItsOwn, OfItsOwn()])
def test_seeds_before_the_calls_are_not(code: Any) -> None:
    report = check_verifier(code, arrays="list", scope=SCOPE)
    assert (report.verdict, report.warnings) == (Verdict.VERIFIED, ())


def test_samplers_and_decoders() -> None:
    def sample(row: Any) -> int:
        random.seed(5)
        return choose(row)

    def generate(target: Any, draft: Any, prompt: Any, n: int) -> list[int]:
        tokens = list(prompt)
        while len(tokens) < len(prompt) + n:
            tokens.append(choose(target(tokens), random.Random(len(tokens))))
        return tokens[len(prompt) :]

    assert [it[0] for it in check_sampler(sample, arrays="list", logits=False, scope=SCOPE).warnings] == ["RV415"]
    report = check_decoder(generate, arrays="list", scope=DecoderScope.read("denominator=1,random=2"))
    assert [it[0] for it in report.warnings] == ["RV415"]


DRAW = random.Random(3).random
DRAW_SYSTEM = random.SystemRandom().random
DRAW_NUMPY = np.random.default_rng(1).random
CHOICE = np.random.RandomState(2).choice


def by_cdf(row: Any, u: Any) -> int:
    total = 0.0
    for token, p in enumerate(row):
        total += p
        if u < total:
            return token
    return max(token for token, p in enumerate(row) if p)


@pytest.mark.parametrize(
    "sample",
    [
        lambda row: by_cdf(row, DRAW()),
        lambda row: by_cdf(row, DRAW_SYSTEM()),
        lambda row: by_cdf(row, DRAW_NUMPY()),
        lambda row: int(CHOICE(len(row), p=row)),
        lambda row, draw=DRAW: by_cdf(row, draw()),
        lambda row: int(np.argmax(np.cumsum(row) > np.random.rand())),
        lambda row: int((np.random.default_rng().random() >= np.cumsum(row)[:-1]).sum()),
        lambda row: int((np.cumsum(row)[:-1] <= random.random()).sum()),
        lambda row: int(np.argmax(np.cumsum(row) - random.random() > 0)),
    ],
)
def test_methods_taken_at_import_and_scalars_beside_arrays_are_answered(sample: Callable[..., int]) -> None:
    report = check_sampler(sample, arrays="list", logits=False, scope=SCOPE)
    assert (report.verdict, report.cases > 5) == (Verdict.VERIFIED, True)
    assert DRAW.__self__.__class__ is random.Random
