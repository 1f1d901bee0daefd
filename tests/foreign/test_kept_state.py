"""Generators that are copied with the object they belong to, and noise that outlives its run."""

from __future__ import annotations

import collections
import copy
import functools
import random
import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import MisuseError
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier
from tests.foreign import pools

SCOPE = Scope(vocab=2, denominator=3, random=0)


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


def drawn(target: Any, left: list[Any] | collections.deque[Any], *, keep: bool) -> list[int]:
    """A token by inverse CDF from a pool: each number is used once, or the first one kept for ever."""
    if not left:
        left.extend(random.random() for _ in range(64))
    uniform = left[0] if keep else left.pop()
    return [0 if uniform < target[0][0] else 1]


class OfAClass:
    left: ClassVar[list[Any]] = []


class Inherits(OfAClass):
    def __init__(self, keep: bool) -> None:
        self.keep = keep

    def __call__(self, target: Any, draft: Any, tokens: Any) -> list[int]:
        return drawn(target, self.left, keep=self.keep)


@dataclass
class Data:
    left: list[Any] = field(default_factory=list)


class Methods:
    """A class, which uses a module's name."""

    def __init__(self, keep: bool) -> None:
        self.keep = keep

    def __call__(self, target: Any, draft: Any, tokens: Any) -> list[int]:
        return drawn(target, OF_A_MODULE, keep=self.keep)


OF_A_MODULE: list[Any] = []
DEQUE: collections.deque[Any] = collections.deque()
DATA = Data()
THREAD = threading.local()


def places(keep: bool) -> dict[str, Any]:
    """Code that keeps its pool in one place each."""
    nothing: list[Any] | None = None

    def of_a_cell(target: Any, draft: Any, tokens: Any) -> list[int]:
        nonlocal nothing
        nothing = [] if nothing is None else nothing
        return drawn(target, nothing, keep=keep)

    def of_a_keyword(target: Any, draft: Any, tokens: Any, *, left: list[Any] = []) -> list[int]:  # noqa: B006
        return drawn(target, left, keep=keep)

    def of_a_class(target: Any, draft: Any, tokens: Any) -> list[int]:
        return drawn(target, OfAClass.left, keep=keep)

    def of_a_deque(target: Any, draft: Any, tokens: Any) -> list[int]:
        return drawn(target, DEQUE, keep=keep)

    def of_an_object(target: Any, draft: Any, tokens: Any) -> list[int]:
        return drawn(target, DATA.left, keep=keep)

    def of_another_module(target: Any, draft: Any, tokens: Any) -> list[int]:
        return pools.shared(target, keep)

    code = [of_a_cell, of_a_keyword, of_a_class, of_a_deque, of_an_object, of_another_module]
    return {it.__name__: it for it in code} | {"Inherits": Inherits(keep), "Methods": Methods(keep)}


@pytest.mark.parametrize("place", places(False))
def test_a_pool_is_put_back_wherever_it_is_kept(place: str) -> None:
    report = check_verifier(places(False)[place], arrays="list", scope=SCOPE, name=place)
    assert (report.verdict, report.findings) == (Verdict.VERIFIED, ())


@pytest.mark.parametrize("place", places(True))
def test_noise_that_is_kept_is_refuted_wherever_it_is_kept(place: str) -> None:
    report = check_verifier(places(True)[place], arrays="list", scope=SCOPE, name=place)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV416")


def test_a_check_leaves_no_trace() -> None:
    before = [id(it) for it in (OF_A_MODULE, DEQUE, LISTED, OfAClass.left, DATA.left)]
    for keep in (False, True):
        for code in places(keep).values():
            check_verifier(code, arrays="list", scope=SCOPE, name="code")
    assert not [*OfAClass.left, *OF_A_MODULE, *DEQUE, *DATA.left, *pools.LEFT]
    check_verifier(of_a_module_s_list, arrays="numpy", scope=SCOPE)
    assert type(LISTED[0]) is np.random.Generator
    check_verifier(of_a_module_s_object, arrays="numpy", scope=SCOPE)
    assert type(ENGINE.generator) is np.random.Generator
    assert [id(it) for it in (OF_A_MODULE, DEQUE, LISTED, OfAClass.left, DATA.left)] == before


def of_a_thread(target: Any, draft: Any, tokens: Any) -> list[int]:
    """Kept where nothing is put back."""
    THREAD.left = getattr(THREAD, "left", [])
    return drawn(target, THREAD.left, keep=False)


def test_noise_of_an_earlier_run_is_told_by_name() -> None:
    with pytest.raises(MisuseError, match=r"RV404: test_kept_state.py:\d+ .* uses a random number of an earlier run"):
        check_verifier(of_a_thread, arrays="list", scope=SCOPE)
    THREAD.left = []
