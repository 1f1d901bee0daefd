"""Files and values that are not what they should be: one line that says where, nothing in Python's own words."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.cli.main import run
from rheo_verify.pieces.store import MARK

ROOT = Path(__file__).parent.parent
PYTHONS = re.compile(
    r"Traceback|Error\b|NoneType|must be a string|object is|objects|unhashable|subscriptable|indices|iterable|unpack"
    r"|literal|convert|not supported|attribute|range\(|<class|int\(|float\(|str'|Invalid |Expecting"
)
"""Words that only Python says."""
WRONG: tuple[Any, ...] = (None, True, -1, 1.5, float("nan"), float("inf"), "x", "", "1/0", [], {}, [[]], {"x": 1})
FEW: tuple[Any, ...] = (None, True, -1, 1.5, "x", [], {}, [[]], 10**5000)
WRONG += (10**30, 10**5000, "9" * 5000, 2**63, -(10**400), 1e308, "\udcff", "\x1b[2J", [1] * 1000)


@pytest.fixture(autouse=True)
def as_in_a_process() -> Iterator[None]:
    """`main` lets exact answers be long."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value stands: at most the first two of a list, and all of an object."""
    yield path
    if isinstance(data, dict):
        for key in data:
            yield from places(data[key], (*path, key))
    elif isinstance(data, list):
        for index in range(min(2, len(data))):
            yield from places(data[index], (*path, index))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The same data with another value at one place."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


def without(data: Any, path: tuple[Any, ...]) -> Any:
    """The same data with one place left out."""
    copy = dict(data) if isinstance(data, dict) else list(data)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = without(copy[path[0]], path[1:])
    return copy


def written(data: Any) -> bytes:
    return json.dumps(data).encode("utf-8", "surrogateescape")


def spoilt(data: Any, wrong: tuple[Any, ...] = WRONG) -> Iterator[bytes]:
    """Contents for a file that should hold `data`: wrong at every place, then not JSON at all."""
    whole = written(data)
    for path in places(data):
        yield from (written(changed(data, path, value)) for value in wrong)
        if path:
            yield written(without(data, path))
    yield from (
        b"",
        b" ",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        whole + b"\xff",
        whole + b"{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
    )
    yield from (whole[:cut] for cut in range(1, len(whole), max(1, len(whole) // 12)))
    yield whole.replace(b"{", b'{"vocab": 1, "vocab": 1, ', 1)
    yield b"\x00" * 1000


def ends_well(
    capsys: pytest.CaptureFixture[str], line: list[str], shown: bytes, most: tuple[int, ...] = (0, 1, 2, 3)
) -> int:
    """The exit code; bad input is one line with a code in this project's own words."""
    code = run(line)
    err = capsys.readouterr().err
    about = (line, shown[:200], err[-1500:])
    assert code in most, about
    if code == 2:
        assert re.fullmatch(rf"rheo_verify {line[0]}: RV\d\d\d: [^\n]+\n", err), about
        quoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", err)
        assert not PYTHONS.search(quoted), about
        assert len(err) < 2500, about
    return code


MODEL = {
    "vocab": 2,
    "tokens": ["A", "B"],
    "target": {"": [1, 1], "0": ["1/2", "1/2"], "1": [1, 2]},
    "draft": {"": [1, 1]},
    "sampling_draft": [1, 2],
}


def test_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    line = ["enumerate", "--depth", "1", "--k", "2", "--budget", "2", "--quiet", "--model", str(file)]
    file.write_bytes(written(MODEL))
    assert ends_well(capsys, line, b"") == 0
    bad = 0
    for content in islice(spoilt(MODEL), None, None, 2):
        file.write_bytes(content)
        bad += ends_well(capsys, line, content) == 2
    assert bad > 100
    file.write_bytes(b"\xef\xbb\xbf" + written(MODEL))
    assert ends_well(capsys, line, b"BOM") == 0
    for place in (tmp_path, tmp_path / "none", "/dev/null", "x" * 5000):
        assert ends_well(capsys, [*line[:-1], str(place)], b"") == 2


def test_states_of_a_search(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    line = ["search", "--where", "rheo < 1", "--vocab", "2", "--denominator", "3", "--state", str(file)]
    assert run(line) == 1
    found = json.loads(file.read_text())
    for content in islice(spoilt(found, FEW), None, None, 3):
        file.write_bytes(content)
        ends_well(capsys, line, content, (1, 2))
    for place in (tmp_path, tmp_path / "none" / "x", "/dev/full", "x" * 5000):
        assert ends_well(capsys, [*line[:-1], str(place)], b"") == 2


def test_states_of_an_audit_and_transcripts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    state, transcript = tmp_path / "state.json", tmp_path / "t.jsonl"
    lines = (ROOT / "docs" / "how-to" / "transcript.jsonl").read_bytes().splitlines(keepends=True)[:3]
    transcript.write_bytes(b"".join(lines))
    line = ["audit", str(transcript), "--state", str(state)]
    assert run(line) == 3
    for content in islice(spoilt(json.loads(state.read_text()), FEW), None, None, 3):
        state.write_bytes(content)
        ends_well(capsys, line, content, (1, 2, 3))
    for content in spoilt(json.loads(lines[0])):
        transcript.write_bytes(content.replace(b"\n", b" ") + b"\n")
        ends_well(capsys, ["audit", str(transcript)], content, (1, 2, 3))
    for place in (tmp_path, tmp_path / "none", "/dev/null", "x" * 5000):
        assert ends_well(capsys, ["audit", str(place)], b"") == 2


def test_checkpoints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A piece that is damaged, or that is not JSON of ours at all, is named, and may be deleted."""
    line = ["search", "--where", "rheo < 1", "--vocab", "2", "--denominator", "2", "--checkpoint", str(tmp_path / "c")]
    assert run(line) == 1
    capsys.readouterr()
    (piece, *_) = [path for path in sorted((tmp_path / "c").rglob("*.json")) if path.name != MARK]
    whole = piece.read_bytes()
    for content in islice(spoilt(json.loads(whole), FEW), None, None, 3):
        piece.write_bytes(content)
        assert run(line) in (1, 2), content
        err = capsys.readouterr().err
        assert err == "" or re.fullmatch(rf"[^\n]*RV801: --checkpoint: {piece}[^\n]*; delete it to [^\n]*\n", err), err
    piece.write_bytes(whole)
    mark = tmp_path / "c" / MARK
    for content in islice(spoilt(json.loads(mark.read_text()), FEW), None, None, 3):
        mark.write_bytes(content)
        ends_well(capsys, line, content, (1, 2))


def test_checkpoints_of_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "target"
    shutil.copytree(ROOT / "toy_models" / "byte-llama" / "target", folder)
    file = folder / "config.json"
    for content in islice(spoilt(json.loads(file.read_text()), FEW), None, None, 3):
        file.write_bytes(content)
        ends_well(capsys, ["inspect", str(folder)], content, (0, 2, 3))


def test_replay_strings(capsys: pytest.CaptureFixture[str]) -> None:
    sound = "vocab=6,m=2:class:2.0"
    for kind in ("class", "x"):
        for value in (
            "",
            "x",
            "-1",
            "1.5",
            "9" * 5000,
            "٣",
            "1/0",
            "nan",
            "\n",
            "\x1b[2J",
            "%ff",
            "%00",
            "=",
            "1,2",
            "\udcff",
        ):
            for string in (
                f"m={value}:{kind}:0",
                f"{value}:{kind}:0",
                f"proxy={value}:{kind}:0",
                f"vocab=3:{kind}:{value}",
            ):
                ends_well(capsys, ["replay", string], b"", (0, 2))
            for key in ("model", "rule", "ties", "verification", "epsilon", "seed", "depth"):
                ends_well(capsys, ["replay", f"{key}={value}:{kind}:0"], b"", (0, 2))
    for cut in range(len(sound)):
        ends_well(capsys, ["replay", sound[:cut]], b"", (0, 2))
    assert run(["replay", "m=1,m=2:class:1"]) == 2
    assert "m stands twice" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--where", "--largest"])
def test_search_expressions(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    for value in (
        "rheo",
        "rheo <",
        "(" * 5000,
        "rheo < 1/0",
        "rheo < 1e400",
        "9" * 5000 + " < rheo",
        "rheo < nan",
        "\0",
        "__import__('os')",
    ):
        other = [] if flag == "--where" else ["--where", "rheo < 1"]
        ends_well(capsys, ["search", "--vocab", "2", "--denominator", "2", *other, flag, value], b"", (0, 1, 2))


NUMBERS = ("0", "-1", "nan", "9" * 30, "2147483648")
LINES = {
    "enumerate": "--m --k --beam --depth --budget --vocab --seed --support --cycles --time-limit --max-trees --proxy",
    "acceptance": "--m --k --beam --depth --budget --vocab --seed --temperature --target --time-limit",
    "search": "--vocab --denominator --m --k --time-limit",
    "decoders": "--vocab --seed --levels --length --time-limit",
    "audit": "--level --seed --time-limit",
    "precision": "--rows --vocab --scale --m --k --seed --time-limit",
    "empirical": "--m --k --depth --budget --temperature --support --tokens --draws --greedy --contexts --level --seed",
}


@pytest.mark.parametrize("command", LINES)
def test_numbers_out_of_range(capsys: pytest.CaptureFixture[str], command: str) -> None:
    base = {
        "search": ["--where", "rheo > 2"],
        "audit": [str(ROOT / "docs" / "how-to" / "transcript.jsonl")],
        "enumerate": ["--max-trees", "100"],
        "acceptance": ["--layer-only"],
        "decoders": ["autoregressive"],
    }
    for flag in LINES[command].split():
        for value in NUMBERS:
            line = [
                command,
                *base.get(command, []),
                *([] if flag == "--time-limit" else ["--time-limit", "0.2"]),
                flag,
                value,
            ]
            if command == "acceptance" and flag in ("--beam", "--depth", "--budget"):
                line.remove("--layer-only")
            ends_well(capsys, line, b"", (0, 1, 2, 3))
