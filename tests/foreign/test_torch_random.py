"""torch's random functions, answered: laws and counts by hand, shapes, dtypes, errors, samples of the real ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rheo_verify.foreign.refusal import Refused
from tests.foreign.helpers import agrees_with_samples, law, paths

torch = pytest.importorskip("torch")
F = torch.nn.functional if torch else None
Q = Fraction
P = torch.tensor([0.5, 0.25, 0.25])
GENERATOR = torch.Generator().manual_seed(1)
ROWS = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])


def value(result: Any) -> Any:
    """Tensors as nested tuples."""
    result = result.tolist() if hasattr(result, "tolist") else result
    return tuple(map(value, result)) if isinstance(result, list) else result


def race() -> Any:
    noise = torch.empty_like(P).exponential_(1)
    return P.clone().div_(noise).argmax(dim=-1)


def filled() -> Any:
    noise = torch.zeros(3)
    noise.exponential_()
    return (P / noise).argmax()


def one_by_one() -> Any:
    u = torch.rand(2)
    u[0] = 0.3
    return u < torch.tensor([0.5, 0.25])


CALLS = {
    "rand": (lambda: torch.rand(()) < 0.25, 2),
    "rand item": (lambda: torch.rand(1).item() < 0.25, 2),
    "rand rows": (lambda: torch.rand(2) < torch.tensor([0.5, 0.25]), 4),
    "rand_like": (lambda: torch.rand_like(P) <= 1.5 * P, 8),
    "uniform_": (lambda: torch.empty(1).uniform_(1, 3) < 1.5, 2),
    "0.5 > rand": (lambda: torch.rand(1) < 0.25, 2),
    "1 - rand": (lambda: 1 - torch.rand(1) < 0.25, 2),
    "log rand": (lambda: torch.rand(1).log() < torch.tensor(0.25).log(), 2),
    "randint": (lambda: torch.randint(3, (1,)), 3),
    "randint bounds": (lambda: torch.randint(1, 3, (2,)), 4),
    "randint named": (lambda: torch.randint(low=1, high=3, size=(2,)), 4),
    "randint_like": (lambda: torch.randint_like(torch.zeros(1), 4), 4),
    "randperm": (lambda: torch.randperm(3), 6),
    "bernoulli": (lambda: torch.bernoulli(torch.tensor([0.25, 1.0])), 2),
    "bernoulli_": (lambda: torch.empty(2).bernoulli_(0.25), 4),
    "bernoulli_ of rows": (lambda: torch.empty(2).bernoulli_(torch.tensor([0.5, 0.25])), 4),
    "bernoulli p": (lambda: torch.bernoulli(torch.zeros(2), 0.25), 4),
    "multinomial": (lambda: torch.multinomial(P, 1), 3),
    "multinomial rows": (lambda: torch.multinomial(ROWS, 1), 6),
    "multinomial unnormalised": (lambda: torch.multinomial(4 * P, 1), 3),
    "without replacement": (lambda: torch.multinomial(P, 2), 6),
    "with replacement": (lambda: torch.multinomial(P, 2, replacement=True), 9),
    "method": (lambda: P.multinomial(num_samples=1), 3),
    "categorical": (lambda: torch.distributions.Categorical(P).sample(), 3),
    "categorical logits": (lambda: torch.distributions.Categorical(logits=P.log()).sample((1,)), 3),
    "bernoulli distribution": (lambda: torch.distributions.Bernoulli(torch.tensor(0.25)).sample(), 2),
    "gumbel_softmax": (lambda: torch.nn.functional.gumbel_softmax(P.log(), hard=True), 3),
    "gumbel_softmax tau": (lambda: torch.nn.functional.gumbel_softmax(ROWS.log(), tau=0.3, hard=True), 6),
    "race": (race, 3),
    "filled": (filled, 3),
    "argmin race": (lambda: (torch.empty(3).exponential_() / P).argmin(), 3),
    "gumbel": (lambda: (P.log() - torch.log(-torch.log(torch.rand_like(P) + 1e-20) + 1e-20)).argmax(), 3),
    "top two": (lambda: (P.log() - torch.empty(3).exponential_().log()).topk(2).indices, 6),
    "sorted race": (lambda: (P / torch.empty(3).exponential_()).sort(descending=True).indices, 6),
    "max with dim": (lambda: (P / torch.empty(3).exponential_()).max(dim=0).indices, 3),
    "race rows": (lambda: (ROWS / torch.empty_like(ROWS).exponential_()).argmax(-1), 6),
    "race over tempered logits": (lambda: ((P.log() - torch.empty(3).exponential_().log()) / 0.7).argmax(), 3),
    "searchsorted": (lambda: torch.searchsorted(P.cumsum(0), torch.rand(1)), 3),
    "searchsorted rows": (lambda: torch.searchsorted(ROWS.cumsum(-1), torch.rand(2, 1), right=True), 6),
    "bucketize": (lambda: torch.bucketize(torch.rand(1), torch.tensor([0.5, 0.75])), 3),
    "cumsum comparison": (lambda: (P.cumsum(0) > torch.rand(1)).int().argmax(), 3),
    "floor": (lambda: (torch.rand(1) * 3).floor(), 3),
    "long": (lambda: (torch.rand(1) * 3).long(), 3),
    "argsort of uniforms": (lambda: torch.rand(3).argsort(), 6),
    "where": (lambda: torch.where(torch.rand(1) < 0.5, 1, 0), 2),
    "setitem": (one_by_one, 2),
    "indexing": (lambda: torch.rand(2, 2)[1, 0] < 0.25, 2),
    "stacked": (lambda: torch.stack([torch.rand(()), torch.tensor(0.1)]) < 0.25, 2),
    "gathered": (lambda: torch.rand(3).gather(0, torch.tensor([2, 2])) < 0.5, 2),
    "unbound": (lambda: [bool(u < 0.5) for u in torch.rand(2)], 4),
    "numpy": (lambda: torch.rand(2).numpy() < 0.5, 4),
    "power race": (lambda: (torch.rand(3) ** (1 / P)).argmax(), 3),
    "clamped": (lambda: torch.rand(1).clamp(min=1e-10).log() < -1.0, 2),
    "tensor of random numbers": (lambda: torch.tensor([torch.rand(1).item(), 0.5]) < 0.25, 2),
    "a number against a vector": (lambda: torch.rand(1).item() < P.cumsum(0), 3),
    "a vector against a number": (lambda: P.cumsum(0) <= torch.rand(1).item(), 3),
    "a vector over a number": (lambda: P / torch.rand(1).item() > 1, 3),
    "exponential_": (lambda: torch.empty(1).exponential_(2.0) < 0.5, 2),
    "generator": (lambda: torch.rand(1, generator=GENERATOR) < 0.5, 2),
    "generator of multinomial": (lambda: torch.multinomial(P, 1, generator=GENERATOR), 3),
    "generator in place": (lambda: torch.empty(1).uniform_(generator=GENERATOR) < 0.25, 2),
    "generator of randint": (lambda: torch.randint(3, (1,), generator=GENERATOR), 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_counts_and_samples(name: str) -> None:
    call, count = CALLS[name]
    assert paths(lambda: value(call())) == count
    agrees_with_samples(lambda: value(call()), 4_000)


FORMS = {
    "rand": [((3,), {}), (((2, 3),), {}), ((2, 3), {"dtype": torch.float64}), ((), {"size": (2,)}), ((0,), {})],
    "randint": [
        ((5, (2, 3)), {}),
        ((1, 5, (2,)), {"dtype": torch.int32}),
        ((3, ()), {}),
        ((3, (2,)), {"dtype": torch.float32}),
    ],
    "randperm": [((4,), {}), ((3,), {"dtype": torch.int32}), ((0,), {})],
    "multinomial": [((P, 2), {}), ((ROWS, 3, True), {}), ((ROWS.double(), 1), {}), ((P,), {"num_samples": 1})],
    "bernoulli": [((P,), {}), ((ROWS,), {}), ((P.double(),), {}), ((P, 0.5), {})],
    "rand_like": [((P,), {}), ((ROWS,), {"dtype": torch.float64})],
    "randint_like": [((P, 3), {}), ((ROWS, 1, 3), {"dtype": torch.int64})],
}


@pytest.mark.parametrize(("name", "form"), [(n, f) for n, forms in FORMS.items() for f in forms])
def test_shape_and_dtype_are_the_real_ones(name: str, form: Any) -> None:
    function, (args, kwargs) = getattr(torch, name), form
    real = function(*args, **kwargs)
    found = []

    def call() -> int:
        answered = function(*args, **kwargs)
        found.append((tuple(answered.shape), answered.dtype))
        return 0

    law(call)
    assert set(found) == {(tuple(real.shape), real.dtype)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.rand(-1),
        lambda: torch.rand("a"),
        lambda: torch.randint(3, 1, (2,)),
        lambda: torch.multinomial(P, 4),
        lambda: torch.multinomial(-P, 1),
        lambda: torch.multinomial(torch.zeros(3), 1),
        lambda: torch.multinomial(torch.tensor([float("nan"), 1.0]), 1),
        lambda: torch.multinomial(P.long(), 1),
        lambda: torch.multinomial(P, 0),
        lambda: torch.bernoulli(torch.tensor([1.5])),
        lambda: torch.bernoulli(torch.tensor([1])),
        lambda: torch.empty(2).exponential_(-1),
        lambda: torch.empty(2).uniform_(2, 1),
        lambda: torch.empty(2, dtype=torch.int64).exponential_(),
        lambda: torch.rand_like(torch.tensor([1])),
        lambda: torch.randperm(-1),
    ],
)
def test_real_errors(call: Any) -> None:
    with pytest.raises(Exception) as real:
        call()
    with pytest.raises(type(real.value)) as answered:
        law(lambda: value(call()))
    assert str(answered.value).splitlines()[0] == str(real.value).splitlines()[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: float(torch.rand(1)),
        lambda: print(torch.rand(1)),
        lambda: torch.rand(3).sum() < 1,
        lambda: torch.rand(3).cumsum(0),
        lambda: torch.rand(3) @ torch.rand(3),
        lambda: torch.rand(1).sin(),
        lambda: torch.softmax(torch.rand(3), -1),
        lambda: torch.randn(1) < 0,
        lambda: torch.empty(1).normal_() < 0,
        lambda: torch.nn.functional.dropout(P, 0.5, training=True),
        lambda: torch.nn.functional.gumbel_softmax(P),
        lambda: torch.multinomial(torch.rand(3), 1),
        lambda: torch.multinomial(torch.tensor([1.0, 0.0, 0.0]), 2),
        lambda: torch.nn.Linear(3, 3)(torch.rand(3)),
        lambda: P[torch.rand(3)],
        lambda: torch.rand(2, out=torch.empty(2)),
        lambda: torch.from_numpy(np.zeros(2)).uniform_(),
        lambda: torch.rand(1).item() ** torch.rand(1).item(),
        lambda: torch.poisson(P),
    ],
)
def test_refusals_name_the_call_and_the_line(call: Any) -> None:
    with pytest.raises(Refused) as refused:
        law(call)
    assert refused.value.code in ("RV402", "RV403")
    assert "test_torch_random.py:" in str(refused.value)


def test_reseeding_gives_the_same_noise_again() -> None:
    def twice() -> Any:
        torch.manual_seed(0)
        a = torch.rand(()) < 0.5
        torch.manual_seed(0)
        return bool(a), bool(torch.rand(()) < 0.25)

    assert law(twice) == {(True, True): Q(1, 4), (True, False): Q(1, 4), (False, False): Q(1, 2)}

    def race_again() -> Any:
        generator = torch.Generator().manual_seed(3)
        a = int(torch.multinomial(P, 1, generator=generator))
        generator.manual_seed(3)
        return a, int(torch.multinomial(P.flip(0), 1, generator=generator))

    found = law(race_again)
    assert found[0, 0] == Q(1, 4)  # 1 / (1 + max(1/2, 1) + max(1/2, 2)) by hand
    assert sum(found.values()) == 1


def test_noise_used_in_two_races_is_one_noise() -> None:
    def both() -> Any:
        noise = torch.empty(3).exponential_()
        return int((P / noise).argmax()), int((P / noise).argmax())

    assert law(both) == {(0, 0): Q(1, 2), (1, 1): Q(1, 4), (2, 2): Q(1, 4)}


def test_everything_is_put_back() -> None:
    state = torch.get_rng_state()
    law(lambda: value(torch.rand(1) < 0.5))
    assert torch.equal(torch.get_rng_state(), state)
    assert type(torch.rand(1)) is torch.Tensor
