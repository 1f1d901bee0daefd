"""Python's random, answered: laws and path counts by hand, errors as the real functions raise them."""

from __future__ import annotations

import bisect
import math
import random
from fractions import Fraction
from random import choice as captured_choice
from random import random as captured
from typing import Any

import numpy as np
import pytest

from rheo_verify.foreign.refusal import Refused
from tests.foreign.helpers import agrees_with_samples, law, paths

F = Fraction
shared = random.Random(3)


def test_a_comparison_splits_the_unit_interval() -> None:
    assert law(lambda: random.random() < 0.25) == {True: F(1, 4), False: F(3, 4)}
    assert law(lambda: random.random() <= 0.25) == {True: F(1, 4), False: F(3, 4)}
    assert paths(lambda: random.random() < 2) == 1


def test_one_uniform_compared_twice_stays_one_variable() -> None:
    def twice() -> tuple[bool, bool]:
        u = random.random()
        return u < 0.5, u < 0.25

    assert law(twice) == {(True, True): F(1, 4), (True, False): F(1, 4), (False, False): F(1, 2)}


def test_running_sum_over_siblings_and_bisect() -> None:
    def running() -> int:
        u, total = random.random(), 0.0
        for token, p in enumerate((0.5, 0.25, 0.25)):
            total += p
            if u < total:
                return token
        return -1

    expected = {0: F(1, 2), 1: F(1, 4), 2: F(1, 4)}
    assert law(running) == expected
    assert law(lambda: bisect.bisect([0.5, 0.75, 1.0], random.random())) == expected
    assert paths(running) == 3


@pytest.mark.parametrize(
    ("call", "count"),
    [
        (lambda: random.randint(1, 6), 6),
        (lambda: random.randrange(0, 10, 2), 5),
        (lambda: random.choice("abc"), 3),
        (lambda: tuple(random.choices("ab", k=2)), 4),
        (lambda: tuple(random.choices("ab", [3, 0], k=2)), 1),
        (lambda: tuple(random.sample(range(4), 2)), 12),
        (lambda: random.uniform(1, 3) < 2, 2),
        (lambda: random.expovariate(2) < 1, 2),
        (lambda: random.getrandbits(2), 4),
        (lambda: int(random.random() * 5), 5),
        (lambda: shared.random() < 0.5, 2),
        (lambda: random.Random().random() < 0.5, 2),
        (lambda: random.SystemRandom().random() < 0.5, 2),
        (lambda: captured() < 0.5, 2),
        (lambda: captured_choice([1, 2, 3]), 3),
    ],
)
def test_counts(call: object, count: int) -> None:
    assert paths(call) == count  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda: random.random() < 0.25,
        lambda: random.uniform(1, 3) < 1.5,
        lambda: random.randint(1, 6),
        lambda: random.randrange(0, 10, 2),
        lambda: random.choice("abc"),
        lambda: tuple(random.choices("ab", [3, 1], k=2)),
        lambda: tuple(random.choices("abc", cum_weights=[1, 3, 4])),
        lambda: tuple(random.sample(range(4), 2)),
        lambda: tuple(random.sample("ab", counts=[2, 1], k=2)),
        lambda: _shuffled(),
        lambda: random.expovariate(2) < 0.5,
        lambda: random.getrandbits(2),
        lambda: shared.random() < 0.25,
        lambda: shared.choices("ab", [3, 1])[0],
        lambda: random.SystemRandom().randint(1, 3),
        lambda: captured_choice([1, 2, 3]),
        lambda: int(random.random() * 5),
    ],
)
def test_samples(call: object) -> None:
    agrees_with_samples(call, 10_000)  # type: ignore[arg-type]


def test_laws() -> None:
    assert law(lambda: random.choices("ab", [3, 1])[0]) == {"a": F(3, 4), "b": F(1, 4)}
    shuffled = law(_shuffled)
    assert len(shuffled) == 6
    assert set(shuffled.values()) == {F(1, 6)}
    expo = law(lambda: random.expovariate(2) < 1)
    assert abs(float(expo[True]) - (1 - math.exp(-2))) < 1e-12
    assert law(lambda: random.uniform(1, 3) < 1.5) == {True: F(1, 4), False: F(3, 4)}


def _shuffled() -> tuple[int, ...]:
    items = [0, 1, 2]
    random.shuffle(items)
    return tuple(items)


def test_gumbel_in_plain_python() -> None:
    def draw() -> int:
        scores = [math.log(p) - math.log(-math.log(random.random())) for p in (0.5, 0.25, 0.25)]
        return scores.index(max(scores))

    found = law(draw)
    assert {token: round(float(p), 12) for token, p in found.items()} == {0: 0.5, 1: 0.25, 2: 0.25}


def test_the_same_seed_gives_the_same_draw() -> None:
    def seeded() -> tuple[bool, bool]:
        random.seed(5)
        first = random.random() < 0.5
        random.seed(5)
        return first, random.random() < 0.5

    assert law(seeded) == {(True, True): F(1, 2), (False, False): F(1, 2)}
    assert law(lambda: (random.Random(1).random() < 0.5, random.Random(2).random() < 0.5)) == {
        (a, b): F(1, 4) for a in (True, False) for b in (True, False)
    }

    def state() -> tuple[bool, bool]:
        before = random.getstate()
        first = random.random() < 0.25
        random.setstate(before)
        return first, random.random() < 0.25

    assert law(state) == {(True, True): F(1, 4), (False, False): F(3, 4)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: float(random.random()),
        lambda: str(random.random()),
        lambda: f"{random.random():.3f}",
        lambda: random.gauss(0, 1) < 1,
        lambda: math.sqrt(random.random()) < 1,
        lambda: random.random() % 0.5,
        lambda: bool(random.random()),
        lambda: random.random() * random.random() < 0.5,
        lambda: random.getrandbits(64),
    ],
)
def test_a_use_that_needs_digits_is_refused(call: object) -> None:
    with pytest.raises(Refused) as refused:
        law(call)  # type: ignore[arg-type]
    assert refused.value.code in ("RV402", "RV403")
    assert "test_python_random.py:" in str(refused.value)


def test_a_refusal_that_is_caught_is_still_raised() -> None:
    def careless() -> bool:
        try:
            return float(random.random()) < 0.5
        except Exception:
            return False

    with pytest.raises(Refused):
        law(careless)


def test_real_errors_are_raised() -> None:
    for call in (
        lambda: random.randint(3, 1),
        lambda: random.choice([]),
        lambda: random.sample(range(2), 3),
        lambda: random.choices([1], weights=[0]),
    ):
        with pytest.raises(Exception) as real:
            call()
        with pytest.raises(type(real.value)) as answered:
            law(call)
        assert str(answered.value) == str(real.value)


def test_everything_is_put_back() -> None:
    names = ("random", "randint", "choice", "getrandbits")
    before = [getattr(random, name) for name in names], math.log, random.Random.random, captured
    state = random.getstate()
    law(lambda: random.random() < 0.5)
    assert ([getattr(random, name) for name in names], math.log, random.Random.random, captured) == before
    assert random.getstate() == state
    assert isinstance(random.random(), float)


def test_functions_keep_their_names_while_they_are_answered() -> None:
    """mpmath, imported inside code under test, copies the name of `math.log`."""
    import math

    def names() -> tuple[str, ...]:
        return math.log.__name__, math.exp.__name__, random.shuffle.__name__, random.choices.__name__

    assert law(names) == {("log", "exp", "shuffle", "choices"): 1}


def test_names_of_temporary_files_are_no_part_of_a_law() -> None:
    """Tqdm makes a lock, named at random, the first time only: neither is asked of the enumeration."""
    import tempfile

    def call() -> int:
        return len(next(tempfile._RandomNameSequence()))  # type: ignore[attr-defined]

    assert law(call) == {8: 1}


def test_a_uniform_passes_for_a_float() -> None:
    import numbers

    def call() -> tuple[bool, ...]:
        u, v = random.random(), np.random.default_rng(0).random(2)[0]
        known = isinstance(u, float), isinstance(v, float), isinstance(u, numbers.Real), isinstance(u, (int, str))
        return *known, u < 0.25

    assert law(call) == {(True, True, True, False, True): F(1, 4), (True, True, True, False, False): F(3, 4)}


@pytest.mark.parametrize(
    "use",
    [
        float,
        str,
        "{:.3f}".format,
        "%f".__mod__,
        lambda u: math.isclose(u, 0.5),
        lambda u: u.is_integer(),
        Fraction,
        lambda u: u.hex(),
    ],
)
def test_a_use_of_its_digits_is_refused(use: Any) -> None:
    with pytest.raises(Refused, match=r"RV402: .* at test_python_random.py:\d+"):
        law(lambda: use(random.random()))
