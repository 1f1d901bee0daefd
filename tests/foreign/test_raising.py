"""Whatever the code under test raises is its own answer: never a traceback, nor an exit code of nobody's verdict."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.errors import InputError
from rheo_verify.foreign.coins import check_coins
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier

SCOPE = Scope(vocab=2, denominator=2, random=2)


class Stop(BaseException):
    """Of somebody's own."""


KINDS = [ValueError, SystemExit, GeneratorExit, asyncio.CancelledError, KeyboardInterrupt, Stop]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_raised_on_some_paths_is_a_finding(kind: type[BaseException]) -> None:
    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        if random.random() < target[0][0] / 2:
            raise kind("so")
        return random.choices(range(len(target[0])), target[0])

    report = check_verifier(verify, arrays="list", scope=SCOPE)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")
    assert f"it raised {kind.__name__} at " in report.findings[0].message


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_raised_always_is_bad_input(kind: type[BaseException]) -> None:
    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        raise kind("so")

    with pytest.raises(InputError, match="RV132"):
        check_verifier(verify, arrays="list", scope=SCOPE)


@pytest.mark.parametrize("kind", KINDS)
def test_coins(kind: type[BaseException]) -> None:
    def verify(target: Any, draft: Any, tokens: Any, coins: Any) -> list[int]:
        if coins[0] < 0.5:
            raise kind("so")
        return [0]

    report = check_coins(verify, arrays="list", scope=SCOPE)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_raised_at_import_is_bad_input(
    kind: type[BaseException], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    defined = f"class Stop(BaseException): pass\nimport asyncio\nraise {kind.__module__}.{kind.__name__}('at import')\n"
    place = tmp_path / "raises.py"
    place.write_text(
        defined.replace("builtins.", "").replace(f"{__name__}.", "").replace("asyncio.exceptions", "asyncio")
    )
    assert run(["check", f"{place}:verify", "--arrays", "list"]) == 2
    assert f"RV121: {place} cannot be imported ({kind.__name__}: at import)" in capsys.readouterr().err


@pytest.mark.parametrize("check", [check_verifier, check_coins])
@pytest.mark.parametrize("caught", [False, True])
def test_a_signal_ends_the_check_whether_the_code_catches_it_or_not(check: Any, caught: bool) -> None:
    calls = itertools.count()

    def verify(target: Any, draft: Any, tokens: Any, coins: Any = None) -> list[int]:
        next(calls)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if not caught:
                raise
        return [0]

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        check(verify, arrays="list", scope=SCOPE)
    assert next(calls) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_of_the_codes_own_in_another_thread() -> None:
    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        raise KeyboardInterrupt("so")

    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="RV132"):
        pool.submit(check_verifier, verify, arrays="list", scope=SCOPE).result()


def test_what_is_raised_always_is_told_after_some_cases_of_each_size(tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        with calls.open("a") as file:
            file.write(f"{len(target)}{len(target[0])} ")
        return tokens.shape  # type: ignore[no-any-return]

    with pytest.raises(InputError, match=r"RV132: on \d\d cases of all sizes among 2,164, on every path, it raised"):
        check_verifier(verify, arrays="list")
    runs = calls.read_text().split()
    assert len(runs) < 300
    assert set(runs) == {"22", "23", "32", "33"}


@pytest.mark.parametrize("returns", [(2, 3), (3, 2), (3, 3)])
def test_what_returns_on_cases_of_one_size_alone_is_refuted(returns: tuple[int, int]) -> None:
    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        if (len(target), len(target[0])) != returns:
            raise ValueError("so")
        return random.choices(range(len(target[0])), target[0])

    report = check_verifier(verify, arrays="list")
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")


@pytest.mark.parametrize("kind", [pytest.skip.Exception, pytest.fail.Exception])
def test_what_is_not_the_codes_passes_through(kind: type[BaseException]) -> None:
    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        raise kind("of the time limit")

    with pytest.raises(kind):
        check_verifier(verify, arrays="list", scope=SCOPE)
