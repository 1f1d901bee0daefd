"""`Chance` and its three interpreters, rationals, distributions and laws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.errors import InputError, MisuseError
from rheo_verify.probability import distributions, rationals
from rheo_verify.probability.enumeration import enumerate_paths, law_of
from rheo_verify.probability.laws import law_total_variation, push_forward
from rheo_verify.probability.replay import choices_text, read_choices, replay
from rheo_verify.probability.sampling import SampleChance

WEIGHTS = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any)


def three_draws(chance: Any) -> tuple[int, ...]:
    """Draws without replacement from weights 1, 2, 3: a program whose later choices depend on earlier ones."""
    left = [1, 2, 3]
    drawn = []
    for _ in range(3):
        index = chance.choose(left)
        drawn.append(index)
        left = [0 if i == index else weight for i, weight in enumerate(left)]
    return tuple(drawn)


def test_enumeration_of_a_program_worked_out_by_hand() -> None:
    law = law_of(three_draws)
    assert len(law) == 6
    assert law[(0, 1, 2)] == Fraction(1, 6) * Fraction(2, 5)
    assert law[(2, 1, 0)] == Fraction(3, 6) * Fraction(2, 3)
    assert sum(law.values()) == 1


@given(st.lists(WEIGHTS, min_size=1, max_size=4))
def test_paths_are_products(weights: list[list[int]]) -> None:
    paths = list(enumerate_paths(lambda chance: tuple(chance.choose(row) for row in weights)))
    assert len(paths) == int(np.prod([sum(w > 0 for w in row) for row in weights]))
    assert sum(path.probability for path in paths) == 1
    for path in paths:
        assert path.result == path.choices
        expected = Fraction(1)
        for row, index in zip(weights, path.choices, strict=True):
            expected *= Fraction(row[index], sum(row))
        assert path.probability == expected
        assert replay(lambda chance: tuple(chance.choose(row) for row in weights), path.choices) == path


def test_impossible_weights_are_refused() -> None:
    for weights in ([], [0, 0], [1, -1], [Fraction(0)]):
        with pytest.raises(MisuseError, match="RV301"):
            law_of(lambda chance, w=weights: chance.choose(w))
        with pytest.raises(MisuseError, match="RV301"):
            SampleChance(0).choose(weights)


def test_a_program_that_is_no_function_of_chance_is_found() -> None:
    calls = []

    def grows(chance: Any) -> int:
        calls.append(1)
        return int(chance.choose([1] * len([*calls, 1])))

    with pytest.raises(MisuseError, match="RV302"):
        law_of(grows)
    state = [3]

    def shrinks(chance: Any) -> list[int]:
        state[0] -= 1
        return [chance.choose([1, 1]) for _ in range(state[0])]

    with pytest.raises(MisuseError, match="RV302"):
        list(enumerate_paths(shrinks))


@pytest.mark.parametrize("kind", [int, float, Fraction, np.array, "huge"])
def test_sampling_frequencies(kind: Any) -> None:
    weights: Any = [3, 0, 1]
    if kind is np.array:
        weights = np.array(weights, dtype=float)
    elif kind == "huge":
        weights = [3 * 10**40, 0, 10**40]
    else:
        weights = [kind(weight) for weight in weights]
    chance = SampleChance(7)
    seen = Counter(chance.choose(weights) for _ in range(4000))
    assert seen[1] == 0
    assert abs(seen[0] - 3000) < 5 * (4000 * 0.75 * 0.25) ** 0.5
    assert [SampleChance(3).choose(weights) for _ in range(5)] == [SampleChance(3).choose(weights) for _ in range(5)]


def test_sampling_a_program_follows_its_law() -> None:
    law = law_of(three_draws)
    chance = SampleChance(11)
    seen = Counter(three_draws(chance) for _ in range(6000))
    for outcome, probability in law.items():
        mean = 6000 * float(probability)
        assert abs(seen[outcome] - mean) < 5 * mean**0.5


def test_replay_refuses_what_does_not_fit() -> None:
    for choices, message in [((0, 1), "ends after 2"), ((0, 0, 1), "possible are 1, 2"), ((0, 1, 2, 0), "only 3")]:
        with pytest.raises(InputError, match=message):
            replay(three_draws, choices)


@given(st.lists(st.integers(0, 99), max_size=6))
def test_choices_round_trip(choices: list[int]) -> None:
    assert read_choices(choices_text(choices)) == tuple(choices)


def test_bad_choices() -> None:
    for written in ("", "a", "1..2", "1.-2", "١"):
        with pytest.raises(InputError, match="RV109"):
            read_choices(written)


@pytest.mark.parametrize("value", [0.5, float("nan"), True, None, "1/", "x", "1e9", "1_0", "1/0", [], 1j, "9" * 5000])
def test_values_that_are_not_exact(value: Any) -> None:
    with pytest.raises(InputError, match="RV101"):
        rationals.exact(value, "here")


@pytest.mark.parametrize(
    ("value", "expected"), [("3/10", "3/10"), (" 0.25 ", "1/4"), (-2, "-2"), (Fraction(4, 6), "2/3")]
)
def test_values_that_are_exact(value: Any, expected: str) -> None:
    assert rationals.text(rationals.exact(value)) == expected
    assert rationals.fraction(rationals.exact(value)) == Fraction(expected)


def test_rationals_equal_and_hash_like_fractions() -> None:
    value = rationals.exact("3/10")
    assert {value: 1}[Fraction(3, 10)] == 1  # type: ignore[index]
    assert type(rationals.fraction(value)) is Fraction


@given(st.fractions(), st.integers(0, 6))
def test_decimals_are_rounded(value: Fraction, digits: int) -> None:
    assert abs(Fraction(rationals.decimal(value, digits)) - value) <= Fraction(1, 2 * 10**digits)


@given(st.lists(st.fractions(min_value=0, max_value=1), min_size=1, max_size=5))
def test_common_denominator(values: list[Fraction]) -> None:
    numerators, denominator = rationals.over_common_denominator(values)
    assert [Fraction(n, denominator) for n in numerators] == values


def test_distributions() -> None:
    row = distributions.distribution([5, 3, 2])
    assert (
        row == distributions.distribution(["1/2", "3/10", "1/5"]) == (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    )
    assert distributions.ranking(distributions.distribution([1, 3, 3, 2])) == (1, 2, 3, 0)
    assert distributions.truncate(row, 2) == (Fraction(5, 8), Fraction(3, 8), 0)
    assert distributions.temper(row, 2) == (Fraction(25, 38), Fraction(9, 38), Fraction(4, 38))
    assert distributions.residual(row, row) == (0, 0, 0)
    assert distributions.total_variation(row, (0, 0, 1)) == Fraction(4, 5)
    for bad in (["1/2", "1/3"], [0, 0], [2, -1], ["1/2", 1]):
        with pytest.raises(InputError, match="RV102"):
            distributions.distribution(bad)
    with pytest.raises(InputError, match="RV106"):
        distributions.temper(row, 0)


def test_laws() -> None:
    law = {1: Fraction(1, 4), 2: Fraction(1, 4), 3: Fraction(1, 2)}
    assert push_forward(law, lambda value: value % 2) == {1: Fraction(3, 4), 0: Fraction(1, 4)}
    assert law_total_variation(law, {1: Fraction(1)}) == Fraction(3, 4)
