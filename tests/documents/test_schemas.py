"""The published schemas against the files that the project ships and writes, and against broken ones."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.cli.main import run

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install '.[dev]'")

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text())
    for path in sorted((ROOT / "docs" / "reference" / "schemas").glob("*.schema.json"))
}
OUTPUTS = {
    "enumerate": (
        "enumerate --vocab 3",
        "enumerate --model table-1 --depth 1 --budget 2 --proxy 1/4",
        "enumerate --vocab 6 --depth 4 --method exhaustive --max-trees 1000",
        "enumerate --vocab 20 --method classes --budget 3",
        "enumerate --model pruned-optimum --m 0 --k 2 --beam 1 --depth 2 --budget 2 --rule optimal-transport",
    ),
    "check": (
        "check docs/tutorial/verifier.py:verify --arrays numpy",
        "check docs/tutorial/verifier_mended.py:verify --arrays numpy --scope quick",
        "check toy_models/sound/verifier_in_plain_python.py:verifier --arrays list --scope quick",
    ),
    "decoders": (
        "decoders lenient --vocab 3",
        "decoders treespark-drawn --vocab 3",
        "decoders --vocab 2",
        "decoders --vocab 3 --time-limit 1e-9",
    ),
    "acceptance": (
        "acceptance --vocab 4",
        "acceptance --target 1,0,2,1 --draft 1,1,1,1",
        "acceptance --vocab 4 --layer-only",
    ),
    "acceptance-compare": ("acceptance compare --vocab 3 --temperatures 1,0",),
    "search": (
        "search --where 'rrsw > rheo' --denominator 4 --largest 'rrsw - rheo'",
        "search --where 'rheo > bound' --denominator 3",
    ),
    "prove": ("prove table-1 --level 1", "prove blame --level 2"),
    "table1": ("table1",),
    "audit": ("audit docs/how-to/transcript.jsonl",),
    "doctor": ("doctor",),
    "inspect": ("inspect toy_models/byte-llama/target toy_models/byte-llama/head",),
    "empirical": ("empirical --m 1 --tokens 20 --draws 20 --contexts 20 --fault residual-from-p",),
    "precision": ("precision --rows 20 --vocab 16",),
}
NEEDS_TORCH = ("inspect", "empirical", "precision")


def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(SCHEMAS[name])


def output(command: str, capsys: pytest.CaptureFixture[str]) -> Any:
    import shlex

    run([*shlex.split(command), "--json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas_and_published(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    version = SCHEMAS[name]["properties"]["version"]["const"] if "version" in SCHEMAS[name].get("properties", {}) else 1
    assert SCHEMAS[name]["$id"] == f"urn:rheo_verify:{name}:{version}"
    assert f"schemas/{name}.schema.json" in (ROOT / "docs" / "reference" / "file-formats.md").read_text()


def test_every_output_has_a_schema() -> None:
    assert set(SCHEMAS) == {*OUTPUTS, *CERTIFICATES, "model", "transcript-line"}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_fit_and_broken_ones_do_not(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in NEEDS_TORCH and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; `make test-models` runs this one")
    monkeypatch.chdir(ROOT)
    schema = validator(name)
    for command in OUTPUTS[name]:
        data = output(command, capsys)
        assert [it.message for it in schema.iter_errors(data)] == [], command
        for what, broken in mutants(data):
            assert not schema.is_valid(broken), f"{command}: {what} is not noticed"


def mutants(data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What no reader could use: the name or version changed, a verdict that is none, a float for an exact value."""
    yield "another schema", {**data, "schema": "x"}
    yield "another version", {**data, "version": data["version"] + 1}
    if "verdict" in data:
        yield "verdict", {**data, "verdict": "MAYBE"}
        yield "no verdict", {key: value for key, value in data.items() if key != "verdict"}
    for path in rationals(data):
        yield f"a float at {path}", replaced(data, path, 0.5)


def rationals(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where exact values stand: one place for each key."""
    found: dict[Any, tuple[Any, ...]] = {}
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        if isinstance(value, str) and re.fullmatch(r"-?\d+/\d+", value):
            found.setdefault(key if isinstance(key, str) else path, (*path, key))
        elif key not in ("case", "settings"):
            for inner in rationals(value, (*path, key)):
                found.setdefault(tuple(it for it in inner if isinstance(it, str)), inner)
    return list(found.values())


def replaced(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize("path", sorted((ROOT / "toy_models").glob("*.json")), ids=lambda path: path.stem)
def test_shipped_models_fit(path: Path) -> None:
    assert validator("model").is_valid(json.loads(path.read_text()))


@pytest.mark.parametrize(
    "data",
    [
        {"vocab": 2, "target": [1, 1]},
        {"vocab": 2, "target": [0.5, 0.5], "draft": [1, 1]},
        {"vocab": 2, "target": ["1/2", 0.5], "draft": [1, 1]},
        {"vocab": 2, "target": [1, -1], "draft": [1, 1]},
        {"vocab": 0, "target": [], "draft": []},
        {"vocab": "2", "target": [1, 1], "draft": [1, 1]},
        {"target": {"": [1, 1]}, "draft": [1, 1]},
        {"vocab": 2, "target": {"a b": [1, 1]}, "draft": [1, 1]},
        {"vocab": 2, "tokens": ["A", "A"], "target": [1, 1], "draft": [1, 1]},
        [1, 2],
    ],
    ids=str,
)
def test_models_that_are_refused_do_not_fit(data: Any) -> None:
    from rheo_verify.errors import InputError
    from rheo_verify.models.table_file import model_from_data

    with pytest.raises(InputError):
        model_from_data(data)
    assert not validator("model").is_valid(data)


@pytest.mark.parametrize(
    "data",
    [
        {"target": [1, 1], "draft": ["1/2", "0.5"]},
        {"vocab": 2, "target": {"": [1, 1], "0 1": ["1", 0]}, "draft": [0, 7], "note": "kept"},
        {"vocab": 2, "tokens": ["x", "y"], "target": [1, 1], "draft": [1, 1], "sampling_draft": [1, 0]},
    ],
    ids=str,
)
def test_models_that_are_read_fit(data: Any) -> None:
    from rheo_verify.models.table_file import model_from_data

    assert model_from_data(data).vocab == 2
    assert validator("model").is_valid(data)


def test_transcript_lines() -> None:
    schema, lines = validator("transcript-line"), (ROOT / "docs" / "how-to" / "transcript.jsonl").read_text()
    assert all(schema.is_valid(json.loads(line)) for line in lines.splitlines())
    page = (ROOT / "docs" / "reference" / "transcripts.md").read_text()
    shown = re.search(r"```\n(\{.*\})\n```", page)
    assert shown is not None
    line = json.loads(shown[1])
    assert schema.is_valid(line)
    for key in ("token", "logprobs"):
        assert not schema.is_valid({name: value for name, value in line.items() if name != key})
    for change in ({"token": -1}, {"logprobs": {}}, {"logprobs": {"a": -1}}, {"rest": -0.1}, {"leaf": 1}):
        assert not schema.is_valid({**line, **change}), change


CERTIFICATES = {
    "certificate": ("enumerate --vocab 3", "enumerate --model table-1 --depth 1 --budget 2 --proxy 1/4"),
    "acceptance-certificate": (
        "acceptance --vocab 4",
        "acceptance compare --vocab 3 --depth 2",
        "acceptance --target 1,0,2,1 --draft 1,1,1,1 --layer-only",
    ),
    "paths-certificate": (
        "check docs/tutorial/verifier.py:verify --arrays numpy",
        "check toy_models/sound/verifier_in_plain_python.py:verifier --arrays list --scope quick",
    ),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates_fit(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    for command in CERTIFICATES[name]:
        path, schema = tmp_path / "verdict.json", validator(name)
        run([*command.split(), "--certificate", str(path)])
        data = json.loads(path.read_text())
        assert [it.message for it in schema.iter_errors(data)] == []
        for key in data:
            assert not schema.is_valid({name: value for name, value in data.items() if name != key}), key
        for what, broken in mutants(data):
            assert not schema.is_valid(broken), what


def test_every_schema_that_the_source_names_is_published() -> None:
    """But for what a program stores for itself: states and finished pieces."""
    named = {
        found
        for path in (ROOT / "rheo_verify").rglob("*.py")
        for found in re.findall(r"[\"']rheo_verify/([a-z0-9-]+)[\"']", path.read_text())
    }
    assert named - {"audit-state", "search-state", "finished-piece"} == set(SCHEMAS) - {"model", "transcript-line"}
