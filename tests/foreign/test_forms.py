"""What is remembered of real random functions: the same as asking again, and draws keep their names."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.foreign import numpy_random
from rheo_verify.foreign.forms import exact_float
from tests.foreign.helpers import law

torch: Any = pytest.importorskip("torch")
torch_forms: Any = pytest.importorskip("rheo_verify.foreign.torch_forms")

ENTRIES = st.sampled_from([0, 0.0, -0.0, 1, 1.0, True, False, 0.5, -1, 2, float("nan"), None, np.float64(0.5)])
ROWS = st.lists(st.sampled_from([0.0, -0.0, 0.5, 0.25, 1.0]), max_size=3)
THIRDS = st.sampled_from([np.float32([1 / 3] * 3), np.float32([1 / 3] * 3).astype(float), np.float32([0.1, 0.2, 0.7])])
CALLS = st.one_of(
    st.tuples(st.just("choice"), st.tuples(st.just(3), st.none(), st.just(True), THIRDS)),
    st.tuples(st.just("exponential"), st.tuples(ENTRIES)),
    st.tuples(st.just("uniform"), st.tuples(ENTRIES, ENTRIES)),
    st.tuples(st.just("random_sample"), st.tuples(st.one_of(ENTRIES, st.lists(ENTRIES, max_size=2).map(tuple)))),
    st.tuples(st.just("choice"), st.tuples(ENTRIES, ENTRIES, st.booleans(), st.one_of(ROWS, ROWS.map(np.array)))),
    st.tuples(st.just("multinomial"), st.tuples(ENTRIES, st.one_of(ROWS, ROWS.map(np.float32)))),
)


def said(call: Callable[[], Any]) -> Any:
    """Type, shape and dtype, or the error."""
    try:
        found = call()
    except Exception as error:
        return type(error), str(error)
    return type(found), getattr(found, "shape", None), getattr(found, "dtype", None)


@settings(max_examples=300)
@given(st.lists(CALLS, min_size=2, max_size=4))
def test_numpy_forms_are_what_the_real_method_says(calls: list[Any]) -> None:
    for name, args in calls:
        real = said(lambda n=name, a=args: getattr(np.random.RandomState(0), n)(*a))
        assert said(lambda n=name, a=args: numpy_random.real_form(np.random.RandomState, n, a, {})) == real


SIZES = st.one_of(st.integers(0, 2), st.booleans(), st.lists(st.one_of(st.integers(0, 2), st.booleans()), max_size=2))
DTYPES = st.sampled_from([None, torch.float32, torch.float64, torch.int64, torch.bfloat16])


@settings(max_examples=300)
@given(st.lists(st.tuples(st.lists(SIZES, min_size=1, max_size=2).map(tuple), DTYPES), min_size=2, max_size=4))
def test_torch_forms_are_what_the_real_function_says(calls: list[Any]) -> None:
    for args, dtype in calls:
        real = said(lambda a=args, d=dtype: torch.rand(*a, dtype=d))
        key = torch_forms.plain_key(args, {"dtype": dtype})
        assert said(lambda a=args, d=dtype, k=key: torch_forms.real_form(torch.rand, a, {"dtype": d}, k)) == real


def test_forms_follow_the_default_dtype() -> None:
    key = torch_forms.plain_key((2,), {})
    assert torch_forms.real_form(torch.rand, (2,), {}, key).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch_forms.real_form(torch.rand, (2,), {}, key).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("remembered", [False, True])
def test_draws_after_a_seed_have_the_same_names_whether_their_forms_are_known(remembered: bool) -> None:
    """The first draw after the first seed meets an unknown form, the same draw after the second a known one."""
    p = [0.5, 0.25, 0.25]

    def numpy_twice() -> Any:
        found = []
        for _ in range(2):
            if not remembered:
                numpy_random._FORMS.clear()
                numpy_random._TOKENS.clear()
            np.random.seed(3)
            found.append((int(np.random.choice(3, p=np.array(p))), bool(np.random.exponential(size=2)[0] < 1)))
            if not remembered:
                found[-1] = (*found[-1], int(np.random.choice(3, p=np.array(p))))
        return found[0] == found[1]

    def torch_twice() -> Any:
        found = []
        for _ in range(2):
            if not remembered:
                torch_forms._FORMS.clear()
            torch.manual_seed(3)
            first = int(torch.multinomial(torch.tensor(p), 1)), bool(torch.rand(2)[1] < 0.5)
            found.append((*first, int(torch.multinomial(torch.tensor(p), 1))))
        return found[0] == found[1]

    numpy_random._FORMS.clear()
    torch_forms._FORMS.clear()
    assert law(numpy_twice) == {True: 1}
    assert law(torch_twice) == {True: 1}


def test_a_form_that_is_handed_out_is_nobody_elses() -> None:
    p = torch.tensor([0.5, 0.5])

    def call() -> Any:
        a, b = torch.multinomial(p, 1), torch.multinomial(p, 1)
        u, v = torch.rand(2), torch.rand(2)
        return int(a), int(b), bool(u[0] < 0.5), bool(v[0] < 0.5)

    assert len(law(call)) == 16


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_floats(value: float) -> None:
    assert exact_float(value) == Fraction(value)
    assert exact_float(np.float64(value)) == Fraction(value)
