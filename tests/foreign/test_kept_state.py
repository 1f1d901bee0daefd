"""Generators that are copied with the object they belong to, and noise that outlives its run."""

from __future__ import annotations

import copy
import functools
import random
from typing import Any

import numpy as np
import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import MisuseError
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier

SCOPE = Scope(vocab=2, denominator=3, random=4)


def verified(target: Any, draft: Any, tokens: Any, generator: Any) -> Any:
    for at, token in enumerate(tokens):
        if not generator.random() < target[at][token] / draft[at][token]:
            left = np.maximum(target[at] - draft[at], 0)
            return [*tokens[:at], generator.choice(len(left), p=left / left.sum())]
    return [*tokens, generator.choice(len(target[-1]), p=target[-1])]


class Engine:
    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        return verified(target, draft, tokens, self.generator)

    def verify(self, target: Any, draft: Any, tokens: Any) -> Any:
        return self(target, draft, tokens)


class Outer:
    def __init__(self, generator: Any) -> None:
        self.parts = {"engine": Engine(generator)}

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        return self.parts["engine"](target, draft, tokens)


class Copies(Engine):
    """The code under test copies its own generator."""

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        self.generator = copy.copy(copy.deepcopy(self.generator))
        return verified(target, draft, tokens, self.generator)


ENGINE = Engine(np.random.default_rng(5))
LISTED = [np.random.default_rng(6)]


def of_a_module_s_object(target: Any, draft: Any, tokens: Any) -> Any:
    return ENGINE(target, draft, tokens)


def of_a_module_s_list(target: Any, draft: Any, tokens: Any) -> Any:
    return verified(target, draft, tokens, LISTED[0])


@pytest.mark.parametrize(
    "code",
    [
        Engine(np.random.default_rng(1)),
        Engine(np.random.default_rng(1)).verify,
        Engine(np.random.RandomState(2)),
        Outer(np.random.default_rng(3)),
        Copies(np.random.default_rng(4)),
        functools.partial(verified, generator=np.random.default_rng(5)),
        of_a_module_s_object,
        of_a_module_s_list,
    ],
)
def test_generators_are_answered_wherever_they_are_kept(code: Any) -> None:
    report = check_verifier(code, arrays="numpy", scope=SCOPE, name="code")
    assert (report.verdict, report.findings) == (Verdict.VERIFIED, ())
    assert report.paths > 2 * report.cases


def test_after_a_check_generators_are_copied_as_before() -> None:
    generator = np.random.default_rng(1)
    check_verifier(Engine(generator), arrays="numpy", scope=SCOPE)
    copied = copy.deepcopy(generator)
    assert type(copied) is np.random.Generator
    assert copied.random() == generator.random()
    assert type(copy.deepcopy(np.random.RandomState(2))) is np.random.RandomState


class Pool:
    """Noise in a place that is not put back: an iterator."""

    left = iter([0.0])


def pooled(target: Any, draft: Any, tokens: Any) -> Any:
    uniform = next(Pool.left, None)
    if uniform is None:
        Pool.left = iter([random.random() for _ in range(64)])
        uniform = next(Pool.left)
    return [0 if uniform < target[0][0] else 1]


def test_noise_of_an_earlier_run_is_told_by_name() -> None:
    with pytest.raises(MisuseError, match=r"RV404: test_kept_state.py:\d+ .* uses a random number of an earlier run"):
        check_verifier(pooled, arrays="list", scope=SCOPE)
    Pool.left = iter([0.0])
