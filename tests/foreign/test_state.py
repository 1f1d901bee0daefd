"""State of the code under test is put back for each path; randomness that is not answered shows itself."""

from __future__ import annotations

import functools
import os
import random
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import MisuseError
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier

SCOPE = Scope(vocab=2, denominator=2, random=4)


def draw(row: Any) -> int:
    return random.choices(range(len(row)), row)[0]


def by_attribute(target: Any, draft: Any, tokens: Any) -> list[int]:
    count = by_attribute.count = getattr(by_attribute, "count", 0) + 1  # type: ignore[attr-defined]
    return [draw(target[0])] if count < 3 else [0]


def by_default(target: Any, draft: Any, tokens: Any, seen: list[int] = []) -> list[int]:  # noqa: B006
    seen.append(1)
    return [draw(target[0])] if len(seen) < 3 else [0]


@functools.lru_cache(None)
def coin(name: int) -> float:
    return random.random()


def by_cache(target: Any, draft: Any, tokens: Any) -> list[int]:
    return [0 if coin(0) < target[0][0] else 1 if coin(1) * (1 - target[0][0]) < target[0][1] else 2]


@pytest.mark.parametrize(("code", "found"), [(by_attribute, None), (by_default, None), (by_cache, "RV416")])
def test_state_is_put_back_for_each_path(code: Callable[..., Any], found: str | None) -> None:
    """A law that is wrong in one call alone would be RV401; a second call sees the cache of the first."""
    scope = Scope(vocab=2, denominator=3, random=0)
    report = check_verifier(code, arrays="list", scope=scope)
    assert (report.code, report.verdict is Verdict.VERIFIED) == (found, found is None)


def test_code_that_ends_the_process_is_no_answer() -> None:
    real = os._exit

    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        if tokens[0]:
            os._exit(0)
        return [draw(target[0])]

    report = check_verifier(verify, arrays="list", scope=SCOPE)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")
    assert os._exit is real


@pytest.mark.parametrize("number", [lambda: os.urandom(1)[0] / 256, lambda: uuid.uuid4().int % 97 / 97])
def test_randomness_that_is_not_answered_shows_itself(number: Callable[[], float]) -> None:
    def sample(row: Any) -> int:
        return 0 if number() < row[0] else len(row) - 1

    with pytest.raises(MisuseError, match="RV404"):
        check_sampler(sample, arrays="list", logits=False, scope=SCOPE)
