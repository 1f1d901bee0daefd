"""Every answered random function against the real one, on arguments from everywhere: answered alike, or refused.

One run of the answered function is drawn, so each example costs little. What must agree: the exception's type, or
shape and dtype, and the values that the real function can give.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.lazy import Lazy
from rheo_verify.foreign.lazy_arrays import LazyArray
from rheo_verify.foreign.refusal import Refused
from rheo_verify.probability.sampling import SampleChance

torch = pytest.importorskip("torch")


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, in a form that can be compared: an exception's type, or form and (if not random) values."""
    try:
        result = call()
    except Refused:
        return "refused"
    except Exception as error:
        return type(error)
    return describe(result)


def describe(result: Any) -> Any:
    if isinstance(result, Lazy):
        return (float, ())
    if isinstance(result, LazyArray):
        return ("array", result.shape, "float")
    if hasattr(result, "numel"):
        return ("tensor", tuple(result.shape), str(result.dtype))
    if isinstance(result, np.ndarray):
        return ("array", result.shape, "float" if result.dtype.kind == "f" else str(result.dtype))
    if isinstance(result, float):
        return (float, ())
    return type(result)


def answered(call: Callable[[], Any], seed: int) -> Any:
    chance = SampleChance(seed)  # before NumPy's own generators are replaced
    with answering(call) as door:
        return outcome(lambda: door.run(chance, call))


SIZES = st.one_of(st.integers(-1, 3), st.lists(st.integers(0, 3), max_size=2).map(tuple), st.none())
ROWS = st.lists(st.floats(-0.25, 1.0, width=32), min_size=0, max_size=4)
DTYPES = st.sampled_from([None, torch.float32, torch.float64, torch.int64, torch.int32, torch.bfloat16, torch.bool])


def named(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@given(SIZES, DTYPES, st.integers(0, 9))
def test_torch_rand(size: Any, dtype: Any, seed: int) -> None:
    agree(lambda: torch.rand(size, **named(dtype=dtype)), seed)


@given(st.integers(-2, 4), st.integers(-2, 4), SIZES, DTYPES, st.booleans())
def test_torch_randint(low: int, high: int, size: Any, dtype: Any, one: bool) -> None:
    agree(
        (lambda: torch.randint(high, size, **named(dtype=dtype))) if one else (lambda: torch.randint(low, high, size)),
        1,
    )


@given(ROWS, st.integers(-1, 4), st.booleans(), DTYPES)
def test_torch_multinomial(row: list[float], count: int, replacement: bool, dtype: Any) -> None:
    weights = torch.tensor(row, **named(dtype=dtype))
    found = agree(lambda: torch.multinomial(weights, count, replacement=replacement), 2)
    if isinstance(found, tuple):
        assert found[2] == "torch.int64"


@given(ROWS, DTYPES, st.one_of(st.none(), st.floats(-0.5, 1.5)))
def test_torch_bernoulli(row: list[float], dtype: Any, p: float | None) -> None:
    tensor = torch.tensor(row, **named(dtype=dtype))
    agree(lambda: torch.bernoulli(tensor) if p is None else torch.bernoulli(tensor, p), 3)
    agree(lambda: tensor.clone().bernoulli_() if p is None else tensor.clone().bernoulli_(p), 3)


@given(DTYPES, st.floats(-2, 2), st.floats(-2, 2), st.integers(0, 3))
def test_torch_in_place(dtype: Any, low: float, high: float, size: int) -> None:
    agree(lambda: torch.empty(size, **named(dtype=dtype)).uniform_(low, high), 4)
    agree(lambda: torch.empty(size, **named(dtype=dtype)).exponential_(low), 4)


@given(st.integers(-1, 5), DTYPES)
def test_torch_randperm(size: int, dtype: Any) -> None:
    agree(lambda: torch.randperm(size, **named(dtype=dtype)), 5)


NUMPY_SIZES = st.one_of(st.none(), st.integers(-1, 3), st.lists(st.integers(0, 3), max_size=2).map(tuple))


@given(NUMPY_SIZES, st.floats(-1, 2), st.floats(-1, 2), st.booleans())
def test_numpy_floats(size: Any, low: float, scale: float, legacy: bool) -> None:
    source: Any = np.random.RandomState(0) if legacy else np.random.default_rng(0)
    agree(lambda: source.uniform(low, scale, size), 6)
    agree(lambda: source.exponential(scale, size), 6)
    agree(lambda: source.gumbel(low, scale, size), 6)


@given(st.integers(-2, 4), st.one_of(st.none(), st.integers(-2, 4)), NUMPY_SIZES)
def test_numpy_integers(low: int, high: int | None, size: Any) -> None:
    agree(lambda: np.random.default_rng(0).integers(low, high, size), 7)
    agree(lambda: np.random.randint(low, high, size), 7)


@given(st.integers(-1, 4), NUMPY_SIZES, st.booleans(), st.one_of(st.none(), ROWS), st.booleans())
def test_numpy_choice(pool: int, size: Any, replace: bool, p: Any, legacy: bool) -> None:
    if p:
        total = sum(p)
        p = [x / total for x in p] if total > 0.1 else p
    source: Any = np.random if legacy else np.random.default_rng(0)
    agree(lambda: source.choice(pool, size, replace, p), 8)
    agree(lambda: source.permutation(pool), 8)


@given(st.integers(-2, 4), st.integers(-2, 4), st.integers(-1, 4), ROWS)
def test_python(low: int, high: int, count: int, weights: list[float]) -> None:
    items = list(range(len(weights)))
    for call in (
        lambda: random.randint(low, high),
        lambda: random.randrange(low, high),
        lambda: random.choice(items),
        lambda: random.choices(items, weights, k=count),
        lambda: random.sample(items, count),
        lambda: random.uniform(low, high),
        lambda: random.getrandbits(count),
    ):
        agree(call, 9)


def agree(call: Callable[[], Any], seed: int) -> Any:
    """The answered call gives what the real one gives, or refuses."""
    real = outcome(call)
    found = answered(call, seed)
    assert found in (real, "refused"), (real, found)
    return found
