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
from hypothesis import given, settings
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


FEW = settings(max_examples=20)
SIZES = st.one_of(st.integers(-1, 3), st.lists(st.integers(0, 3), max_size=2).map(tuple), st.none())
ROWS = st.lists(st.floats(-0.25, 1.0, width=32), min_size=0, max_size=4)
DTYPES = st.sampled_from([None, torch.float32, torch.float64, torch.int64, torch.int32, torch.bfloat16, torch.bool])


def named(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@FEW
@given(SIZES, DTYPES, st.integers(0, 9))
def test_torch_rand(size: Any, dtype: Any, seed: int) -> None:
    agree(lambda: torch.rand(size, **named(dtype=dtype)), seed)


@FEW
@given(st.integers(-2, 4), st.integers(-2, 4), SIZES, DTYPES, st.booleans())
def test_torch_randint(low: int, high: int, size: Any, dtype: Any, one: bool) -> None:
    agree(
        (lambda: torch.randint(high, size, **named(dtype=dtype))) if one else (lambda: torch.randint(low, high, size)),
        1,
    )


@FEW
@given(ROWS, st.integers(-1, 4), st.booleans(), DTYPES)
def test_torch_multinomial(row: list[float], count: int, replacement: bool, dtype: Any) -> None:
    weights = torch.tensor(row, **named(dtype=dtype))
    found = agree(lambda: torch.multinomial(weights, count, replacement=replacement), 2)
    if isinstance(found, tuple):
        assert found[2] == "torch.int64"


@FEW
@given(ROWS, DTYPES, st.one_of(st.none(), st.floats(-0.5, 1.5)))
def test_torch_bernoulli(row: list[float], dtype: Any, p: float | None) -> None:
    tensor = torch.tensor(row, **named(dtype=dtype))
    agree(lambda: torch.bernoulli(tensor) if p is None else torch.bernoulli(tensor, p), 3)
    agree(lambda: tensor.clone().bernoulli_() if p is None else tensor.clone().bernoulli_(p), 3)


@FEW
@given(DTYPES, st.floats(-2, 2), st.floats(-2, 2), st.integers(0, 3))
def test_torch_in_place(dtype: Any, low: float, high: float, size: int) -> None:
    agree(lambda: torch.empty(size, **named(dtype=dtype)).uniform_(low, high), 4)
    agree(lambda: torch.empty(size, **named(dtype=dtype)).exponential_(low), 4)


@FEW
@given(st.integers(-1, 5), DTYPES)
def test_torch_randperm(size: int, dtype: Any) -> None:
    agree(lambda: torch.randperm(size, **named(dtype=dtype)), 5)


NUMPY_SIZES = st.one_of(st.none(), st.integers(-1, 3), st.lists(st.integers(0, 3), max_size=2).map(tuple))


@FEW
@given(NUMPY_SIZES, st.floats(-1, 2), st.floats(-1, 2), st.booleans())
def test_numpy_floats(size: Any, low: float, scale: float, legacy: bool) -> None:
    source: Any = np.random.RandomState(0) if legacy else np.random.default_rng(0)
    agree(lambda: source.uniform(low, scale, size), 6)
    agree(lambda: source.exponential(scale, size), 6)
    agree(lambda: source.gumbel(low, scale, size), 6)


@FEW
@given(st.integers(-2, 4), st.one_of(st.none(), st.integers(-2, 4)), NUMPY_SIZES)
def test_numpy_integers(low: int, high: int | None, size: Any) -> None:
    agree(lambda: np.random.default_rng(0).integers(low, high, size), 7)
    agree(lambda: np.random.randint(low, high, size), 7)


@FEW
@given(st.integers(-1, 4), NUMPY_SIZES, st.booleans(), st.one_of(st.none(), ROWS), st.booleans())
def test_numpy_choice(pool: int, size: Any, replace: bool, p: Any, legacy: bool) -> None:
    if p:
        total = sum(p)
        p = [x / total for x in p] if total > 0.1 else p
    source: Any = np.random if legacy else np.random.default_rng(0)
    agree(lambda: source.choice(pool, size, replace, p), 8)
    agree(lambda: source.permutation(pool), 8)


@FEW
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


@FEW
@given(ROWS, DTYPES, DTYPES, st.integers(-1, 3), st.one_of(st.none(), st.integers(-1, 3)))
def test_torch_like(row: list[float], dtype: Any, other: Any, low: int, high: int | None) -> None:
    tensor = torch.tensor(row, **named(dtype=dtype))
    agree(lambda: torch.rand_like(tensor, **named(dtype=other)), 10)
    bounds = (low,) if high is None else (low, high)
    agree(lambda: torch.randint_like(tensor, *bounds, **named(dtype=other)), 10)


@FEW
@given(SIZES, st.integers(-2, 4), st.integers(-2, 4), st.sampled_from(["cpu", "int", "none"]))
def test_torch_named_arguments_and_generators(size: Any, low: int, high: int, which: str) -> None:
    generator: Any = {"cpu": torch.Generator().manual_seed(3), "int": 3, "none": None}[which]
    agree(lambda: torch.rand(size=size, generator=generator), 11)
    agree(lambda: torch.rand(2, 1, generator=generator), 11)
    agree(lambda: torch.randint(low=low, high=high, size=size, generator=generator), 11)
    agree(lambda: torch.randperm(n=high, generator=generator), 11)
    agree(lambda: torch.empty(2).uniform_(generator=generator), 11)
    agree(lambda: torch.empty(2).exponential_(lambd=1.0, generator=generator), 11)
    agree(lambda: torch.bernoulli(torch.tensor([0.5]), generator=generator), 11)
    agree(lambda: torch.multinomial(torch.tensor([0.5, 0.5]), num_samples=1, generator=generator), 11)


@FEW
@given(st.lists(ROWS, max_size=3), st.integers(-1, 3), st.booleans(), DTYPES)
def test_torch_multinomial_rows(rows: list[list[float]], count: int, replacement: bool, dtype: Any) -> None:
    wide = max(map(len, rows), default=0)
    weights = torch.tensor([row + [0.0] * (wide - len(row)) for row in rows], **named(dtype=dtype))
    agree(lambda: weights.multinomial(num_samples=count, replacement=replacement), 12)


@FEW
@given(ROWS, st.booleans(), st.one_of(st.none(), st.lists(st.integers(0, 2), max_size=2)), DTYPES)
def test_torch_categorical(row: list[float], logits: bool, shape: Any, dtype: Any) -> None:
    values = torch.tensor(row, **named(dtype=dtype))
    kind = torch.distributions.Categorical
    agree(lambda: (kind(logits=values) if logits else kind(values)).sample(*([] if shape is None else [shape])), 13)


@FEW
@given(ROWS, st.floats(-0.5, 2), st.booleans(), st.integers(-2, 1), DTYPES)
def test_torch_gumbel_softmax(row: list[float], tau: float, hard: bool, dim: int, dtype: Any) -> None:
    logits = torch.tensor([row, row], **named(dtype=dtype))
    agree(lambda: torch.nn.functional.gumbel_softmax(logits, tau=tau, hard=hard, dim=dim), 14)


@FEW
@given(NUMPY_SIZES, st.sampled_from([None, np.float32, np.float64, np.int64, "f", "x"]), st.floats(-1, 2))
def test_numpy_units(size: Any, dtype: Any, scale: float) -> None:
    new, old = np.random.default_rng(0), np.random.RandomState(0)
    agree(lambda: new.random(size, **named(dtype=dtype)), 15)
    agree(lambda: new.standard_exponential(size, **named(dtype=dtype)), 15)
    agree(lambda: old.random_sample(size), 15)
    agree(lambda: old.rand(*(size if isinstance(size, tuple) else [size])), 15)
    agree(lambda: np.random.random(size), 15)
    agree(lambda: np.random.exponential([scale, 1.0], size), 15)
    agree(lambda: np.random.default_rng(scale), 15)  # type: ignore[arg-type]


@FEW
@given(st.integers(-1, 3), ROWS, NUMPY_SIZES, st.booleans(), st.sampled_from([list, np.array, np.float32]))
def test_numpy_multinomial(n: int, row: list[float], size: Any, legacy: bool, form: Any) -> None:
    total = sum(row)
    row = [x / total for x in row] if total > 0.1 else row
    source: Any = np.random.RandomState(0) if legacy else np.random.default_rng(0)
    agree(lambda: source.multinomial(n, form(row), size), 16)


@FEW
@given(st.integers(0, 3), st.sampled_from([list, np.array, tuple, str]), st.integers(-1, 2), st.booleans())
def test_orders(count: int, form: Any, axis: int, legacy: bool) -> None:
    source: Any = np.random.RandomState(0) if legacy else np.random.default_rng(0)
    things = form(range(count))

    def shuffled(shuffle: Callable[..., Any], *rest: Any) -> Any:
        copy = things.copy() if hasattr(things, "copy") else things
        shuffle(copy, *rest)
        return copy

    agree(lambda: shuffled(source.shuffle), 17)
    agree(lambda: shuffled(random.shuffle), 17)
    agree(lambda: source.permutation(things), 17)
    if not legacy:
        agree(lambda: shuffled(source.shuffle, axis), 17)
        agree(lambda: source.permutation(things, axis), 17)


@FEW
@given(st.one_of(st.integers(-2, 3), st.floats(-1, 2), st.none()), st.integers(-1, 3))
def test_python_instances(value: Any, count: int) -> None:
    for source in (random.Random(3), random.SystemRandom(), random):
        for call in (
            lambda s=source: s.expovariate(value),
            lambda s=source: s.uniform(value, 2),
            lambda s=source: s.randint(0, value),
            lambda s=source: s.randrange(value),
            lambda s=source: s.choice("ab"[:count]),
            lambda s=source: s.choices("abc", cum_weights=[1, 2, value], k=count),
            lambda s=source: s.sample("ab", count),
            lambda s=source: s.random(value),
        ):
            agree(call, 18)


def agree(call: Callable[[], Any], seed: int) -> Any:
    """The answered call gives what the real one gives, or refuses."""
    real = outcome(call)
    found = answered(call, seed)
    assert found in (real, "refused"), (real, found)
    return found
