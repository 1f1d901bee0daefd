"""What one call leaves behind for the next: two calls in a row are enumerated, the second given the first."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError
from rheo_verify.foreign import checking
from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.arrays_in_out import Maker
from rheo_verify.foreign.cases import Case, by_position, read_case
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.paths import seen
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.second_call import for_two_calls, second_call
from rheo_verify.foreign.state import Rebuilder, Standing
from rheo_verify.foreign.verifier import VerifierTrial, cases_of, check_verifier
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.laws import law_total_variation
from rheo_verify.probability.rationals import Rational

SCOPE = Scope(vocab=3, denominator=3, random=4)
CACHE: dict[Any, list[int]] = {}
KEPT: list[Any] = []


def verified(target: Any, draft: Any, tokens: Any, uniform: Callable[[int], Any] = lambda at: random.random()) -> Any:
    for at, token in enumerate(tokens):
        if not uniform(at) < target[at][token] / draft[at][token]:
            left = [max(p - q, 0) for p, q in zip(target[at], draft[at], strict=True)]
            return [*tokens[:at], *random.choices(range(len(left)), left)]
    return [*tokens, *random.choices(range(len(target[-1])), target[-1])]


def cached(target: Any, draft: Any, tokens: Any) -> Any:
    key = tuple(tokens)
    if key not in CACHE:
        CACHE[key] = verified(target, draft, tokens)
    return CACHE[key]


@functools.lru_cache
def _remembered(target: Any, draft: Any, tokens: Any) -> Any:
    return verified(target, draft, tokens)


def memoised(target: Any, draft: Any, tokens: Any) -> Any:
    return _remembered(tuple(map(tuple, target)), tuple(map(tuple, draft)), tuple(tokens))


def drawn_once(target: Any, draft: Any, tokens: Any) -> Any:
    if not KEPT:
        KEPT.extend(random.random() for _ in range(4))
    return verified(target, draft, tokens, KEPT.__getitem__)


class Acceptance:
    """The first uniform is kept, whatever else is drawn anew."""

    def __init__(self) -> None:
        self.first: Any = None

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        self.first = random.random() if self.first is None else self.first
        return verified(target, draft, tokens, lambda at: random.random() if at else self.first)


class Ahead:
    """Drawn ahead, and each used once."""

    def __init__(self) -> None:
        self.left: list[Any] = []

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        if len(self.left) < len(tokens):
            self.left.extend(random.random() for _ in range(3 * len(tokens)))
        return verified(target, draft, tokens, lambda at: self.left.pop())


class RacesAhead:
    """Exponential noise for two draws is made at once; each is used once."""

    def __init__(self) -> None:
        self.left: list[Any] = []

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        if not self.left:
            self.left = [[random.expovariate(1.0) for _ in target[0]] for _ in range(4)]
        emitted = [self.draw(target[0])]
        return emitted if emitted[0] != tokens[0] else [*emitted, self.draw(target[1])]

    def draw(self, row: Any) -> int:
        noise = self.left.pop()
        return max((p / e, token) for token, (p, e) in enumerate(zip(row, noise, strict=True)) if p)[1]


class Again:
    """What replaced a rejected draft is emitted by the next call, too."""

    def __init__(self) -> None:
        self.kept: int | None = None

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        if self.kept is not None:
            kept, self.kept = self.kept, None
            return [kept]
        emitted = verified(target, draft, tokens)
        self.kept = emitted[-1] if emitted[: len(tokens)] != list(tokens) else None
        return emitted


class Counting:
    """State that no answer depends on."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        self.calls += 1
        return verified(target, draft, tokens)


class OnlyOnce:
    """The second call fails."""

    def __init__(self) -> None:
        self.steps = [0]

    def __call__(self, target: Any, draft: Any, tokens: Any) -> Any:
        self.steps.pop()
        return verified(target, draft, tokens)


@pytest.mark.parametrize("code", [cached, memoised, drawn_once, Acceptance, Acceptance(), Again])
def test_what_a_call_leaves_behind_is_refuted(code: Any) -> None:
    report = check_verifier(code, arrays="list", scope=SCOPE)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV416")
    [finding] = report.findings
    assert "after a call, path " in finding.case
    assert finding.total_variation is not None
    assert finding.total_variation > 0.1
    again = check_verifier(code, arrays="list", case=for_two_calls(cases_of(SCOPE))[0])
    assert (again.verdict, again.code) == (Verdict.REFUTED, "RV416")


def cached_in_long_calls(target: Any, draft: Any, tokens: Any) -> Any:
    """The bonus token of two drafts on three tokens is kept by its row."""
    found = verified(target, draft, tokens)
    if len(found) == len(target[0]) == 3:
        key = tuple(target[2])
        CACHE.setdefault(key, [found[2]])
        found[2] = CACHE[key][0]
    return found


def test_the_case_of_two_calls_is_made_smaller() -> None:
    report = check_verifier(cached_in_long_calls, arrays="list", scope=Scope(vocab=3, denominator=1, random=12))
    assert report.code == "RV416"
    case = read_case(report.findings[0].data)
    rows = [row for table in (case.target, case.draft) for row in table.values()]
    assert (case.drafts, case.by_position()) == (2, True)
    assert max(value.denominator for row in rows for value in row) == 2
    assert check_verifier(cached_in_long_calls, arrays="list", case=case).code == "RV416"


@pytest.mark.parametrize("code", [verified, Ahead, Ahead(), RacesAhead, Counting, Counting()])
def test_what_changes_no_law_is_verified(code: Any) -> None:
    report = check_verifier(code, arrays="list", scope=SCOPE)
    assert (report.verdict, report.findings, report.warnings) == (Verdict.VERIFIED, (), ())


def test_a_check_leaves_no_trace() -> None:
    for code in (cached, drawn_once, memoised):
        check_verifier(code, arrays="list", scope=SCOPE)
        assert (CACHE, KEPT, _remembered.cache_info().currsize) == ({}, [], 0)


def test_the_path_of_a_second_call_is_walked() -> None:
    again = check_verifier(Acceptance, arrays="list", case=for_two_calls(cases_of(SCOPE))[0], path="0.0.0+0.1")
    assert again.findings[0].replay.startswith("0.0.0+")
    assert again.walk.startswith("path 0.1, probability ")
    assert again.walk.endswith("emitted    0 1\n")
    with pytest.raises(InputError, match="RV109"):
        check_verifier(Acceptance, arrays="list", case=for_two_calls(cases_of(SCOPE))[0], path="0.0.0+0.0.1.0")


def test_a_page_shows_the_second_call() -> None:
    case = for_two_calls(cases_of(SCOPE))[0]
    first = seen(cached, "verifier", case, arrays="list")
    second = seen(cached, "verifier", case, arrays="list", after=(0, 0, 0))
    assert law_total_variation(first.found, first.expected) < 1e-9
    assert second.found == {(0, 0): Rational(1, 2), (1, 0): second.found[1, 0], (1, 1): second.found[1, 1]}


def test_a_second_call_that_raises_is_refuted() -> None:
    report = check_verifier(OnlyOnce(), arrays="list", scope=SCOPE)
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV405")
    assert report.findings[0].message.startswith("in the second of two calls in a row: ")


def test_objects_of_a_class_may_serve_one_call_each() -> None:
    assert check_verifier(OnlyOnce, arrays="list", scope=SCOPE).verdict is Verdict.VERIFIED


def test_the_law_of_the_second_call_by_hand() -> None:
    """With p = (1/3, 2/3), q = (3/4, 1/4); the first call drew token 0 and accepted it: u < 4/9.

    The uniform that was kept then accepts token 0 for certain, and token 1 as always: 0 comes with 3/4, not 1/3.
    """
    p, q = distribution(["1/3", "2/3"]), distribution(["3/4", "1/4"])
    with answering(Acceptance) as door:
        standing = Standing(Rebuilder(Acceptance))
        trial = VerifierTrial(door, standing, by_position([p, p], [q]), Maker("list", False, "float64"))
        [finding] = second_call(trial, standing, 1e-9, 400) or []
        assert second_call(trial, standing, 1e-9, 10) is None
    assert float(finding.total_variation) == pytest.approx(3 / 4 - 1 / 3)
    assert finding.case.endswith("after a call, path 0.0.0, that emitted 0 0")
    found = {difference.outcome: difference.found for difference in finding.differences}
    assert float(found[0, 0]) == pytest.approx(3 / 4 * 1 / 3)


@pytest.mark.parametrize("code", [Ahead, RacesAhead])
def test_noise_that_the_first_call_left_is_drawn_in_the_second(code: Any) -> None:
    with answering(code) as door:
        standing = Standing(Rebuilder(code))
        for case in for_two_calls(cases_of(SCOPE)):
            trial = VerifierTrial(door, standing, case, Maker("list", False, "float64"))
            assert second_call(trial, standing, 1e-9, 2000) == []


def test_the_cases_are_the_open_ones_of_each_size() -> None:
    def case(*row: str) -> Case:
        return by_position([distribution(row)] * 2, [distribution(row)])

    shut, same = case("0", "1"), case("1/2", "1/2")
    rejected = by_position([distribution(["1/3", "2/3"])] * 2, [distribution(["1/2", "1/2"])])
    even, third = distribution(["1/3", "1/3", "1/3"]), distribution(["0", "0", "1"])
    one_left = by_position([third, even], [even])
    two_left = by_position([even, even], [third])
    long = by_position([same.target[()]] * 3, [same.target[()]] * 2)
    assert for_two_calls([one_left, long, shut, same, rejected, two_left, shut]) == [rejected, long, two_left]
    assert for_two_calls([shut]) == [shut]
    assert for_two_calls([]) == []


def test_samplers_and_decoders() -> None:
    class Sampler:
        def __init__(self) -> None:
            self.token: int | None = None

        def __call__(self, row: Any) -> int:
            if self.token is None or not row[self.token]:
                [self.token] = random.choices(range(len(row)), row)
            return self.token

    class Generate:
        def __init__(self) -> None:
            self.noise: Any = None

        def __call__(self, target: Any, draft: Any, prompt: Any, n: int) -> list[int]:
            self.noise = random.random() if self.noise is None else self.noise
            tokens = list(prompt)
            row = target(tokens)
            tokens.append(0 if self.noise < row[0] else 1 + random.choices(range(len(row) - 1), row[1:])[0])
            while len(tokens) < len(prompt) + n:
                row = target(tokens)
                tokens += random.choices(range(len(row)), row)
            return tokens[len(prompt) :]

    report = check_sampler(Sampler, arrays="list", logits=False, scope=Scope(vocab=2, denominator=2, random=4))
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV416")
    decoded = check_decoder(Generate, arrays="list", scope=DecoderScope.read("denominator=1,random=6,length=2"))
    assert (decoded.verdict, decoded.code) == (Verdict.REFUTED, "RV416")


def test_rows_on_which_a_cut_is_a_matter_of_rounding_are_not_drawn_from_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut at 1/2 of such a row would be a fault of no code."""
    given: list[Case] = []

    def chosen(cases: Any) -> list[Case]:
        given.extend(cases)
        return for_two_calls(given)

    def sample(row: Any, top_p: float) -> int:
        order = sorted(range(len(row)), key=lambda token: -row[token])
        kept = [token for at, token in enumerate(order) if sum(row[before] for before in order[:at]) < top_p]
        return random.choices(kept, [row[token] for token in kept])[0]

    monkeypatch.setattr(checking, "for_two_calls", chosen)
    processing = Processing(top_p=0.5)
    report = check_sampler(sample, arrays="list", logits=False, processing=processing, scope=SCOPE)
    assert report.verdict is Verdict.VERIFIED
    assert "rows left out" in report.scope
    assert given
    assert not any(processing.ambiguous(case.target[()]) for case in given)
