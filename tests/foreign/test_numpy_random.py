"""NumPy's generators, answered: laws, counts, errors, and large samples of the real functions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rheo_verify.foreign.refusal import Refused
from tests.foreign.helpers import agrees_with_samples, law, paths

F = Fraction
P = [0.5, 0.25, 0.25]
rng = np.random.default_rng(0)
legacy = np.random.RandomState(0)


def as_tuple(value: Any) -> Any:
    return tuple(map(as_tuple, value)) if np.ndim(value) else value.item()


def shuffled_by(generator: Any) -> Any:
    items = np.arange(3)
    generator.shuffle(items)
    return as_tuple(items)


CALLS = {
    "random": (lambda g: bool(g.random() < 0.25), 2),
    "random array": (lambda g: as_tuple(g.random(2) < [0.25, 0.5]), 4),
    "uniform": (lambda g: bool(g.uniform(2, 4) < 2.5), 2),
    "uniform bounds": (lambda g: as_tuple(g.uniform([0, 1], [1, 3]) < [0.5, 1.5]), 4),
    "choice": (lambda g: int(g.choice(3, p=P)), 3),
    "choice of things": (lambda g: str(g.choice(["a", "b"])), 2),
    "choice without replacement": (lambda g: as_tuple(g.choice(3, 2, replace=False)), 6),
    "weighted without replacement": (lambda g: as_tuple(g.choice(3, 2, replace=False, p=P)), 6),
    "choice array": (lambda g: as_tuple(g.choice(3, (1, 2), p=P)), 9),
    "multinomial": (lambda g: as_tuple(g.multinomial(1, P)), 3),
    "multinomial of two": (lambda g: as_tuple(g.multinomial(2, P)), 9),
    "multinomial remainder": (lambda g: as_tuple(g.multinomial(1, [0.25, 0.25, 0.0])), 3),
    "permutation": (lambda g: as_tuple(g.permutation(3)), 6),
    "exponential": (lambda g: bool(g.exponential(2.0) < 1), 2),
    "gumbel number": (lambda g: bool(g.gumbel(0.5, 2.0) < 1), 2),
    "shuffle": (lambda g: shuffled_by(g), 6),
    "race": (lambda g: int(np.argmax(np.array(P) / g.exponential(size=3))), 3),
    "argmin race": (lambda g: int((g.standard_exponential(3) / np.array(P)).argmin()), 3),
    "gumbel": (lambda g: int(np.argmax(np.log(P) + g.gumbel(size=3))), 3),
    "top two": (lambda g: as_tuple(np.argsort(-(np.log(P) + g.gumbel(size=3)))[:2]), 6),
    "inverse cdf": (lambda g: int(np.searchsorted(np.cumsum(P), g.random())), 3),
    "where": (lambda g: as_tuple(np.where(g.random(2) < 0.5, 1, 0)), 4),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("generator", [rng, legacy], ids=["Generator", "RandomState"])
def test_counts_and_samples(name: str, generator: Any) -> None:
    call, count = CALLS[name]
    assert paths(lambda: call(generator)) == count
    agrees_with_samples(lambda: call(generator), 5_000)


def test_legacy_functions() -> None:
    assert law(lambda: bool(np.random.rand() < 0.25)) == {True: F(1, 4), False: F(3, 4)}
    assert paths(lambda: int(np.random.randint(4))) == 4
    assert paths(lambda: as_tuple(np.random.permutation(3))) == 6
    assert law(lambda: int(np.random.choice(3, p=P))) == {0: F(1, 2), 1: F(1, 4), 2: F(1, 4)}
    assert paths(lambda: int(np.random.default_rng().integers(1, 3, endpoint=True))) == 3

    def shuffled() -> tuple[int, ...]:
        items = np.arange(3)
        np.random.shuffle(items)
        return as_tuple(items)  # type: ignore[no-any-return]

    assert paths(shuffled) == 6
    for call in (
        shuffled,
        lambda: bool(np.random.rand() < 0.25),
        lambda: bool(np.random.random_sample() < 0.25),
        lambda: bool(np.random.uniform(2, 4) < 2.5),
        lambda: int(np.random.randint(1, 4)),
        lambda: int(np.random.choice(3, p=P)),
        lambda: as_tuple(np.random.choice(3, 2, replace=False, p=P)),
        lambda: as_tuple(np.random.multinomial(2, P)),
        lambda: as_tuple(np.random.permutation(3)),
        lambda: bool(np.random.exponential(2.0) < 1),
        lambda: bool(np.random.gumbel() < 1),
        lambda: int(np.random.default_rng().integers(1, 3, endpoint=True)),
        lambda: as_tuple(np.random.default_rng().integers([1, 2], [3, 4])),
    ):
        agrees_with_samples(call, 5_000)


def test_seeds() -> None:
    def seeded() -> tuple[bool, bool]:
        a, b = np.random.default_rng(7), np.random.default_rng(7)
        return bool(a.random() < 0.5), bool(b.random() < 0.5)

    assert law(seeded) == {(True, True): F(1, 2), (False, False): F(1, 2)}

    def legacy_seeded() -> tuple[bool, bool]:
        np.random.seed(1)
        first = bool(np.random.rand() < 0.5)
        np.random.seed(1)
        return first, bool(np.random.rand() < 0.5)

    assert law(legacy_seeded) == {(True, True): F(1, 2), (False, False): F(1, 2)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: float(rng.random()),
        lambda: rng.normal() < 0,
        lambda: np.random.randn() < 0,
        lambda: rng.random(3).sum() < 1,
        lambda: np.sin(rng.random(2)) < 1,
        lambda: np.array([1.0, 2.0])[rng.random(2)],
        lambda: str(rng.random(2).astype(str)),
        lambda: rng.random(out=np.empty(2)),
        lambda: rng.choice(4, 2, replace=False, shuffle=False),
        lambda: np.cumsum(rng.random(2)),
        lambda: rng.dirichlet([1, 1]),
    ],
)
def test_refusals(call: Any) -> None:
    with pytest.raises((Refused, IndexError)) as refused:
        law(call)
    if isinstance(refused.value, Refused):
        assert refused.value.code in ("RV402", "RV403")


@pytest.mark.parametrize(
    "call",
    [
        lambda: rng.choice(3, p=[0.5, 0.1, 0.1]),
        lambda: rng.choice(3, p=[0.5, 0.5]),
        lambda: rng.integers(3, 1),
        lambda: rng.multinomial(1, [0.9, 0.9, 0.1]),
        lambda: rng.choice(2, 3, replace=False),
        lambda: np.random.randint(0),
        lambda: rng.exponential(-1),
    ],
)
def test_real_errors(call: Any) -> None:
    with pytest.raises(ValueError) as real:
        call()
    with pytest.raises(ValueError) as answered:
        law(call)
    assert str(answered.value) == str(real.value)


def test_a_number_of_known_sign_may_be_divided_by_zero() -> None:
    """The logarithm of a uniform is negative; of a Gumbel's sign nothing is known."""

    def signs() -> Any:
        uniform = np.random.default_rng().random(1)
        return as_tuple(np.log(uniform) / 0.0 + 0.0 < -1e300), as_tuple(-np.log(uniform) / 0.0 > 1e300)

    assert law(signs) == {((True,), (True,)): 1}
    with pytest.raises(Refused, match="its sign is not known"):
        law(lambda: np.random.default_rng().gumbel(size=1) / 0.0)
