"""Code that cannot be called, or never returns, is bad input and no verdict; one line says what was expected."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import random
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.errors import InputError, MisuseError
from rheo_verify.foreign.coin_strata import check_strata
from rheo_verify.foreign.coins import check_coins
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import cases_of, check_verifier

SCOPE = Scope(vocab=2, denominator=2, random=4)
CHECKS: dict[str, Callable[[Any], Any]] = {
    "verifier": lambda code: check_verifier(code, arrays="list", scope=SCOPE),
    "sampler": lambda code: check_sampler(code, arrays="list", scope=SCOPE),
    "decoder": lambda code: check_decoder(code, arrays="list", scope=DecoderScope.read("denominator=1,random=3")),
    "coins": lambda code: check_coins(code, arrays="list"),
    "strata": lambda code: check_strata(code, arrays="list"),
}
EXPECTED = {
    "verifier": "f(target, draft, tokens)",
    "sampler": "f(logits)",
    "decoder": "f(target, draft, prompt, n)",
    "coins": "f(target, draft, tokens, uniforms)",
    "strata": "f(target, draft, tokens, uniforms)",
}


def draw(row: Any) -> int:
    return random.choices(range(len(row)), row)[0]


def too_few() -> list[int]:
    raise AssertionError("it must not run")


def too_many(a: Any, b: Any, c: Any, d: Any, e: Any) -> list[int]:
    raise AssertionError("it must not run")


class NeedsArguments:
    def __init__(self, vocab: int) -> None:
        self.vocab = vocab

    def __call__(self, target: Any, draft: Any, tokens: Any) -> list[int]:
        return [draw(target[0])]


class Wrapped:
    @staticmethod
    @functools.wraps(too_few)
    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        return [draw(target[0])]


class Static:
    @staticmethod
    def __call__(target: Any, draft: Any, tokens: Any) -> list[int]:
        return [draw(target[0])]


class NotCallable:
    pass


class Lossless:
    def __call__(self, target: Any, draft: Any, tokens: Any) -> list[int]:
        return [draw(target[0])]

    def method(self, target: Any, draft: Any, tokens: Any) -> list[int]:
        return [draw(target[0])]


def keyword(target: Any, draft: Any, tokens: Any, *, seed: int) -> list[int]:
    raise AssertionError("it must not run")


@pytest.mark.parametrize("way", CHECKS)
@pytest.mark.parametrize("code", [too_few, too_many, functools.partial(too_many, 1, 2, 3, 4, 5), NotCallable])
def test_a_call_that_does_not_fit_is_bad_input(way: str, code: Any) -> None:
    with pytest.raises(InputError, match="RV131") as told:
        CHECKS[way](code)
    assert EXPECTED[way] in str(told.value)
    assert "\n" not in str(told.value)


async def later(*given: Any) -> list[int]:
    raise AssertionError("it must not run")


class Later:
    async def __call__(self, *given: Any) -> list[int]:
        raise AssertionError("it must not run")


@pytest.mark.parametrize("way", CHECKS)
@pytest.mark.parametrize("code", [later, functools.partial(later, 1), Later, Later()])
def test_what_is_async_is_refused(way: str, code: Any) -> None:
    with pytest.raises(InputError, match=r"RV131: .* is async: wrap it in a function"):
        CHECKS[way](code)


def check_batched(code: Any) -> Any:
    return check_strata(code, arrays="numpy", batched=True, scope=Scope(vocab=2, denominator=1, drafts=1, random=0))


def check_batch(code: Any) -> Any:
    return check_decoder(code, arrays="list", scope=DecoderScope.read("denominator=1,random=3", batch=2))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("checked", [*CHECKS.values(), check_batched, check_batch])
def test_a_coroutine_that_is_returned_is_closed(checked: Any) -> None:
    report = checked(lambda *given: later(*given))
    gc.collect()
    assert report.code == "RV406"
    assert "it returned a coroutine" in report.findings[0].message


@pytest.mark.parametrize("code", [NeedsArguments, keyword, NeedsArguments(2).__init__])
def test_what_a_verifier_cannot_be(code: Any) -> None:
    with pytest.raises(InputError, match="RV131"):
        CHECKS["verifier"](code)


@pytest.mark.parametrize("code", [Lossless, Lossless(), Lossless().method, lambda *rows: [draw(rows[0][0])]])
def test_what_fits_is_run(code: Any) -> None:
    assert CHECKS["verifier"](code).verdict is Verdict.VERIFIED


def test_a_type_error_inside_is_the_codes_own() -> None:
    def verify(target: Any, draft: Any, tokens: Any) -> Any:
        return Lossless()(target, draft, tokens) if target[0][0] < 1 else [draw(target[0], 1)]  # type: ignore[call-arg]

    report = CHECKS["verifier"](verify)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")
    assert "test_calls.py:" in report.findings[0].message


@pytest.mark.parametrize("code", [Wrapped.verify, Static, Static()])
def test_what_is_called_counts_and_not_what_it_wraps(code: Any) -> None:
    assert CHECKS["verifier"](code).verdict is Verdict.VERIFIED


def test_code_without_a_signature() -> None:
    with pytest.raises(InputError, match="RV132"):
        CHECKS["verifier"](getattr)
    assert CHECKS["sampler"](max).code == "RV406"  # it can be called: what it returns is no token


def test_torch_modules() -> None:
    torch = pytest.importorskip("torch")

    class Verifier(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, target: Any, draft: Any, tokens: Any) -> Any:
            return torch.multinomial(target[0], 1)

    class Other(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, target: Any) -> Any:
            return torch.multinomial(target[0], 1)

    for code in (Verifier, Verifier()):
        assert check_verifier(code, scope=SCOPE).verdict is Verdict.VERIFIED
    for code in (Other, Other()):
        with pytest.raises(InputError, match="RV131"):
            check_verifier(code, scope=SCOPE)


def always(*_: Any, **__: Any) -> Any:
    """Raises on every case, and now and then something else."""
    if len(str(_[0])) % 2:
        raise KeyError("one\nline")
    return undefined_name  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("way", CHECKS)
def test_code_that_raises_on_every_case_has_no_verdict(way: str) -> None:
    with pytest.raises(InputError, match="RV132") as told:
        CHECKS[way](always)
    assert "test_calls.py:" in str(told.value)
    assert "\n" not in str(told.value)


def test_coins_beside_those_that_are_handed_over_are_caught() -> None:
    def verify(target: Any, draft: Any, tokens: Any, uniforms: Any) -> Any:
        return [draw([0.5, 0.5])]

    with pytest.raises(MisuseError, match="RV404"):
        CHECKS["coins"](verify)


def test_coins_have_a_limit_of_time_within_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    points: list[float] = []

    def verify(target: Any, draft: Any, tokens: Any, uniforms: Any) -> Any:
        points.append(uniforms[0])
        return [int(uniforms[0] * 3**25) % 2]

    clock = itertools.count()
    monkeypatch.setattr("rheo_verify.foreign.coins.time", types.SimpleNamespace(monotonic=lambda: float(next(clock))))
    report = check_coins(verify, arrays="list", scope=Scope(vocab=2, denominator=2, random=0, seconds=60))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert len(set(points)) == 60


def test_code_that_raises_on_all_small_cases_but_not_on_others_is_refuted() -> None:
    def verify(target: Any, draft: Any, tokens: Any) -> Any:
        return [draw(target[0])] if len(tokens) > 1 else 1 // 0

    report = CHECKS["verifier"](verify)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")

    last = list(cases_of(SCOPE))[-1]

    def returns_on_the_last(target: Any, draft: Any, tokens: Any) -> Any:
        return [0] if list(target[0]) == [float(p) for p in last.target[()]] else 1 // 0

    report = CHECKS["verifier"](returns_on_the_last)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")

    def sometimes(target: Any, draft: Any, tokens: Any) -> Any:
        return [draw(target[0])] if random.random() < 0.5 else 1 // 0

    report = CHECKS["verifier"](sometimes)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")
    assert report.findings[0].probability * 2 == 1


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def two(target, draft): return 0\ndef numpy_only(target, draft, tokens): return target.argmax()\n")
    assert run(["check", f"{file}:two", "--arrays", "list"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "two(target, draft) does not take that" in said
    assert run(["check", f"{file}:numpy_only", "--arrays", "list", "--jobs", "2"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "mine.py:2 (def numpy_only" in said
    assert "--arrays" in said
    case = '{"target": [["1", "0"], ["1", "0"]], "draft": [["1", "0"]]}'
    assert run(["check", f"{file}:numpy_only", "--arrays", "list", "--case", case]) == 1  # of one case it is the answer


def test_code_beside_this_package_is_the_users(tmp_path: Path) -> None:
    from rheo_verify.foreign import refusal

    place = refusal._HERE.rstrip(os.sep)
    made = compile(
        "error = None\ntry:\n    None + 1\nexcept TypeError as it:\n    error = it", f"{place}_mine/v.py", "exec"
    )
    names: dict[str, Any] = {}
    exec(made, names)
    assert refusal.raised_at(names["error"]) == "v.py:3"
