"""Model files: what loads, and the one clear line for everything that does not."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.errors import InputError
from rheo_verify.models import table_file
from rheo_verify.models.model import Model, require_target
from rheo_verify.models.random_tables import random_model
from rheo_verify.models.shipped import find_model, shipped_models
from rheo_verify.models.table_file import load_model, model_from_data
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.rationals import exact

CASES = json.loads((Path(__file__).parent / "data" / "exact-cases.json").read_text())
GOOD: dict[str, Any] = {"vocab": 2, "target": {"": [1, 1], "0": ["1/3", "2/3"]}, "draft": ["1/2", "1/2"]}


def test_cases_load_as_they_are() -> None:
    for case in CASES["decoding"]:
        model = model_from_data(case)
        for key in ("target", "draft"):
            for context, row in case[key].items():
                tokens = tuple(map(int, context.split()))
                assert getattr(model, key)(tokens) == tuple(exact(weight) for weight in row)
    for case in CASES["acceptance"]:
        assert model_from_data(case).vocab == len(case["target"])


def test_shipped_models_load_and_say_what_they_show() -> None:
    assert {"table-1", "uniform-ties", "large-epsilon", "truncated-draft", "weather"} <= set(shipped_models())
    for name, path in shipped_models().items():
        assert load_model(find_model(name)).vocab >= 2
        assert "about" in json.loads(path.read_text())


def test_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("\ufeff" + json.dumps({**GOOD, "tokens": ["yes", "no"], "note": "ignored"}), encoding="utf-8")
    model = load_model(path)
    assert model.phrase((0, 1)) == "yes no"
    assert model.target((0,)) == (exact("1/3"), exact("2/3"))
    assert model.sampling_draft((1, 1, 1)) == model.draft(()) == distribution([1, 1])
    with pytest.raises(InputError, match=r'RV105.*target has no row for the context "1"'):
        model.target((1,))


BAD = {
    "the probabilities sum to 5/6": {**GOOD, "draft": ["1/2", "1/3"]},
    r"draft\[1\]: -1/2 is negative": {**GOOD, "draft": ["3/2", "-1/2"]},
    "all weights are zero": {**GOOD, "draft": [0, 0]},
    r'target\["0"\]\[1\]: 0.5 is not an exact rational; write': {**GOOD, "target": {"": [1, 1], "0": ["1/2", 0.5]}},
    r"draft\[0\]: nan": {**GOOD, "draft": [float("nan"), 1]},
    r"draft\[0\]: True": {**GOOD, "draft": [True, 1]},
    r"draft\[0\]: None": {**GOOD, "draft": [None, 1]},
    "'1/0' divides by zero": {**GOOD, "draft": ["1/0", 1]},
    "unknown token '2'": {**GOOD, "target": {"2": [1, 1]}},
    "unknown token 'x'": {**GOOD, "target": {"0 x": [1, 1]}},
    "unknown token '00'": {**GOOD, "target": {"00": [1, 1]}},
    "this context stands twice": {**GOOD, "target": {"0 1": [1, 1], "0  1": [1, 1]}},
    "a row has 2 weights, one a token, but this one has 3": {**GOOD, "draft": [1, 1, 1]},
    "a row is a list of 2 weights, not an object": {**GOOD, "target": {"": {"0": 1}}},
    "draft must be a row or an object": {**GOOD, "draft": "1/2"},
    "the key 'draft' is missing": {"vocab": 2, "target": [1, 1]},
    "vocab must be a positive integer, not 0": {**GOOD, "vocab": 0},
    "vocab must be a positive integer, not None": {"target": {"": [1]}, "draft": [1]},
    "did you mean 'sampling_draft'": {**GOOD, "sampling_drafts": [1, 1]},
    "tokens must be 2 different names": {**GOOD, "tokens": ["a", "a"]},
    "tokens must be a list of names": {**GOOD, "tokens": [1, 2]},
    "a model is a JSON object": [1, 2],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_contents(message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(BAD[message]))
    with pytest.raises(InputError, match=message) as error:
        load_model(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


UNREADABLE = {
    "line 1, column 12 on; .*truncated": b'{"vocab": 2',
    "line 2, column 1": b'{"vocab": 2,\n]',
    "the key 'draft' stands twice": b'{"vocab": 1, "target": [1], "draft": [1], "draft": [1]}',
    "not UTF-8": b'{"vocab": \xff}',
    "nested too deeply": b"[" * 100_000,
    "line 1, column 1": b"",
    "an integer has 10,000 digits": b'{"vocab": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("message", UNREADABLE)
def test_unreadable_files(message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(UNREADABLE[message])
    with pytest.raises(InputError, match=r"RV103.*" + message):
        load_model(path)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(InputError, match=r"RV103.*cannot be read"):
            load_model(path)


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with open(path, "wb") as file:
        file.truncate(50 * 2**20)
    with pytest.raises(InputError, match=r"RV103.*larger than 32 MB"):
        load_model(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=8,
    )
)
def test_no_data_gives_a_traceback(data: Any) -> None:
    for content in (data, {"vocab": 2, "target": data, "draft": [1, 1]}, {**GOOD, "tokens": data, "vocab": data}):
        with contextlib.suppress(InputError):
            model_from_data(content)


@pytest.mark.parametrize(
    "kwargs", [{"vocab": 0}, {"vocab": 10**6}, {"vocab": 3, "largest": 0}, {"vocab": 3, "zeros": 17}]
)
def test_random_models_out_of_range(kwargs: Any) -> None:
    with pytest.raises(InputError, match="RV106"):
        random_model(seed=0, **kwargs)


def test_random_models_never_change() -> None:
    """Seeds are part of replay strings and of the documentation."""
    assert [str(p) for p in random_model(4, 0).target((1, 2))] == ["7/30", "4/15", "1/5", "3/10"]
    assert random_model(4, 0).target(()) != random_model(4, 1).target(())
    assert random_model(4, 0, with_context=False).draft((1,)) == random_model(4, 0).draft(())


def test_zeros_never_empty_a_row() -> None:
    for seed in range(30):
        model = random_model(2, seed, zeros=16)
        assert sorted(model.draft(())) == [0, 1]


def test_rows_are_required_only_where_the_target_can_go() -> None:
    rows = {"": [1, 0], "0": [1, 1]}
    model: Model = model_from_data({"vocab": 2, "target": rows, "draft": [1, 1]})
    require_target(model, (), 1)
    with pytest.raises(InputError, match=r'context "0 [01]"'):
        require_target(model, (), 2)


def test_the_size_limit_is_a_round_number() -> None:
    assert table_file.LARGEST_FILE == 32 * 2**20


def test_names_that_cannot_be_printed_and_integers_too_long() -> None:
    for name in ("\ud800", "\x1b[31m", " ", "\u202e"):
        with pytest.raises(InputError, match=r"RV104.*cannot be printed"):
            model_from_data({**GOOD, "tokens": ["a", name]})
    with pytest.raises(InputError, match=r"RV101.*more than 1000 digits"):
        model_from_data({**GOOD, "draft": [10**2000, 1]})
