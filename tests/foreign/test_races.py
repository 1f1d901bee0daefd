"""Races of exponentials: hand-made integrals, a brute force over orders, and large samples."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.lazy_arrays import extreme, order
from rheo_verify.foreign.noise import Noise
from rheo_verify.foreign.races import measure
from rheo_verify.probability.enumeration import law_of

F = Fraction


def exponentials(noise: Noise, count: int) -> list[Lazy]:
    return [-Lazy(noise, noise.fresh()).log() for _ in range(count)]


def test_two_variables_by_hand() -> None:
    # P(E0 <= c E1) = c / (1 + c); between c and d: d / (1 + d) - c / (1 + c)
    assert measure([0, 1], {(0, 1): F(2)}) == F(2, 3)
    assert measure([0, 1], {(0, 1): F(2), (1, 0): F(2)}) == F(2, 3) - F(1, 3)
    assert measure([0, 1, 2], {}) == 1
    assert measure([0, 1], {(0, 1): F(1, 2), (1, 0): F(1)}) == 0


@given(st.permutations(range(4)))
def test_every_order_of_four_is_equally_likely(arrival: list[int]) -> None:
    bounds = {(a, b): F(1) for a, b in itertools.pairwise(arrival)}
    assert measure(range(4), bounds) == F(1, 24)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_a_race_is_won_in_proportion_to_its_rates(rates: list[int]) -> None:
    def run(chance: object) -> int:
        noise = Noise(chance)  # type: ignore[arg-type]
        return extreme([rate / e for rate, e in zip(rates, exponentials(noise, len(rates)), strict=True)], True)

    assert law_of(run) == {i: F(rate, sum(rates)) for i, rate in enumerate(rates)}


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_the_order_of_a_race_is_a_draw_without_replacement(rates: list[int]) -> None:
    def run(chance: object) -> tuple[int, ...]:
        noise = Noise(chance)  # type: ignore[arg-type]
        return tuple(order([rate / e for rate, e in zip(rates, exponentials(noise, len(rates)), strict=True)], 2, True))

    found = law_of(run)
    whole = sum(rates)
    assert found == {
        (i, j): F(rates[i], whole) * F(rates[j], whole - rates[i])
        for i, j in itertools.permutations(range(len(rates)), 2)
    }


def test_two_races_on_the_same_noise_have_their_joint_law() -> None:
    p, q = (2, 1, 1), (1, 2, 1)

    def run(chance: object) -> tuple[int, int]:
        e = exponentials(Noise(chance), 3)  # type: ignore[arg-type]
        return extreme([a / x for a, x in zip(p, e, strict=True)], True), extreme(
            [a / x for a, x in zip(q, e, strict=True)], True
        )

    found = law_of(run)
    # both races choose i: E_j >= E_i max(p_j/p_i, q_j/q_i), so 1 / (1 + sum of those maxima)
    for i in range(3):
        worst = sum(max(F(p[j], p[i]), F(q[j], q[i])) for j in range(3) if j != i)
        assert found[i, i] == 1 / (1 + worst)
    assert sum(found.values()) == 1
    for i in range(3):
        assert sum(found.get((i, j), F(0)) for j in range(3)) == F(p[i], 4)
        assert sum(found.get((j, i), F(0)) for j in range(3)) == F(q[i], 4)
    e = np.random.default_rng(0).exponential(size=(200_000, 3))
    first, second = (np.array(p) / e).argmax(1), (np.array(q) / e).argmax(1)
    for pair, probability in found.items():
        share = np.mean((first == pair[0]) & (second == pair[1]))
        assert abs(share - float(probability)) < 5 * (0.25 / 200_000) ** 0.5


@pytest.mark.parametrize("seed", range(4))
def test_three_races_agree_with_samples(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.integers(1, 6, size=(3, 3))

    def run(chance: object) -> tuple[int, ...]:
        e = exponentials(Noise(chance), 3)  # type: ignore[arg-type]
        return tuple(extreme([int(a) / x for a, x in zip(row, e, strict=True)], True) for row in rows)

    found = law_of(run)
    assert sum(found.values()) == 1
    noise = generator.exponential(size=(100_000, 3))
    winners = np.stack([(row / noise).argmax(1) for row in rows], axis=1)
    outcomes, counts = np.unique(winners, axis=0, return_counts=True)
    seen = {tuple(int(x) for x in outcome): count / 100_000 for outcome, count in zip(outcomes, counts, strict=True)}
    assert set(seen) <= set(found)
    for outcome, probability in found.items():
        assert abs(seen.get(outcome, 0.0) - float(probability)) < 0.008


def test_the_last_arrival() -> None:
    # the largest of E0/1 and E1/2: P(E0 > E1/2) = 1 - P(E0 <= E1/2) = 2/3
    def run(chance: object) -> int:
        a, b = exponentials(Noise(chance), 2)  # type: ignore[arg-type]
        return extreme([a, b / 2], True)

    assert law_of(run) == {0: F(2, 3), 1: F(1, 3)}
