"""Every answered random function on arguments from everywhere: its exact law against samples of the real function."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.foreign.refusal import Refused
from tests.foreign.helpers import agrees_with_samples

torch = pytest.importorskip("torch")
F = torch.nn.functional if torch else None

FEW = settings(max_examples=10, deadline=None)
WEIGHTS = st.lists(st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0, 3.0]), min_size=1, max_size=3)
COUNT = st.integers(0, 2)
LOW, HIGH = st.integers(-3, 2), st.integers(1, 3)
LEVEL = st.floats(-2, 3).map(lambda x: round(x, 2))
SCALE = st.sampled_from([0.25, 0.5, 1.0, 2.0])
LEGACY = st.booleans()


def lawful(call: Callable[[], Any]) -> None:
    """A law that real samples agree with, or a refusal; arguments that the real function refuses say nothing here."""
    try:
        plain(call())
    except Exception:
        return
    try:
        agrees_with_samples(lambda: plain(call()), 300)
    except Refused:
        return


def plain(value: Any) -> Any:
    """Arrays as nested tuples."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(plain, value)) if isinstance(value, (list, tuple)) else value


def source(legacy: bool) -> Any:
    return LEGACY_STATE if legacy else GENERATOR


OWN = random.Random(1)
LEGACY_STATE, GENERATOR = np.random.RandomState(1), np.random.default_rng(1)


@FEW
@given(WEIGHTS, COUNT, LOW, HIGH, LEVEL, SCALE)
def test_python(weights: list[float], count: int, low: int, high: int, level: float, scale: float) -> None:
    items = list(range(len(weights)))
    lawful(lambda: random.choices(items, weights, k=count))
    lawful(lambda: random.choices(items, cum_weights=list(itertools.accumulate(weights)), k=count))
    lawful(lambda: random.sample(items, count))
    lawful(lambda: random.sample(items, counts=[int(w) + 1 for w in weights], k=count))
    lawful(lambda: random.choice(items))
    lawful(lambda: random.randint(low, low + high))
    lawful(lambda: random.randrange(low, low + 2 * high, high))
    lawful(lambda: random.uniform(low, high) < level)
    lawful(lambda: random.expovariate(scale) < level)
    lawful(lambda: random.random() < level)
    lawful(lambda: random.getrandbits(high))
    lawful(lambda: OWN.random() + level < 1)


def test_python_shuffle() -> None:
    for count in range(4):

        def call(count: int = count) -> Any:
            items = list(range(count))
            random.shuffle(items)
            return items

        lawful(call)


@FEW
@given(WEIGHTS, COUNT, st.booleans(), LEGACY)
def test_numpy_choice(weights: list[float], count: int, replace: bool, legacy: bool) -> None:
    p = np.array(weights) / sum(weights) if sum(weights) else np.array(weights)
    g = source(legacy)
    lawful(lambda: g.choice(len(weights), p=p))
    lawful(lambda: g.choice(list("abc")[: len(weights)], p=list(p)))
    lawful(lambda: g.choice(len(weights), count, replace))
    lawful(lambda: g.choice(len(weights), count, replace, p))
    lawful(lambda: g.multinomial(count, p))
    lawful(lambda: g.multinomial(1, p / 2))
    lawful(lambda: g.permutation(len(weights)))
    lawful(lambda: np.random.choice(len(weights), p=p.astype(np.float32)))


@FEW
@given(LOW, HIGH, LEVEL, SCALE, LEGACY)
def test_numpy_numbers(low: int, high: int, level: float, scale: float, legacy: bool) -> None:
    g = source(legacy)
    lawful(lambda: g.uniform(low, high) < level)
    lawful(lambda: g.uniform([low, 0], high) < level)
    lawful(lambda: g.exponential(scale) < level)
    lawful(lambda: g.standard_exponential(2) < level)
    lawful(lambda: g.gumbel(low, scale) < level)
    lawful(lambda: g.random(2) < level)
    lawful(lambda: np.random.random() < level)
    lawful(lambda: np.random.randint(low, low + high, 2))
    lawful(lambda: GENERATOR.integers(low, low + high, 2, endpoint=True))
    lawful(lambda: GENERATOR.integers([low, low], [low + high, low + 1]))


@FEW
@given(WEIGHTS, COUNT, st.booleans(), SCALE)
def test_torch_weights(weights: list[float], count: int, replacement: bool, tau: float) -> None:
    p = torch.tensor(weights)
    lawful(lambda: torch.multinomial(p, count, replacement))
    lawful(lambda: torch.stack([p, p.flip(0)]).multinomial(1))
    lawful(lambda: torch.bernoulli(p.clamp(max=1)))
    lawful(lambda: torch.empty_like(p).bernoulli_(min(1.0, tau)))
    lawful(lambda: torch.distributions.Categorical(p).sample((count,)))
    lawful(lambda: torch.distributions.Categorical(logits=p).sample())
    lawful(lambda: F.gumbel_softmax(p, tau=tau, hard=True))
    lawful(lambda: F.gumbel_softmax(torch.stack([p, p]), tau=tau, hard=True, dim=0))
    lawful(lambda: (p / torch.empty_like(p).exponential_(tau)).argmax())
    lawful(lambda: torch.randperm(len(weights)))


@FEW
@given(LOW, HIGH, LEVEL, SCALE)
def test_torch_numbers(low: int, high: int, level: float, scale: float) -> None:
    lawful(lambda: torch.rand(2) < level)
    lawful(lambda: torch.rand_like(torch.zeros(1)) < level)
    lawful(lambda: torch.empty(2).uniform_(low, high) < level)
    lawful(lambda: torch.empty(1).exponential_(scale) < level)
    lawful(lambda: torch.randint(high, (2,)))
    lawful(lambda: torch.randint(low, low + high, (1, 2)))
    lawful(lambda: torch.randint_like(torch.zeros(2), low, low + high))
