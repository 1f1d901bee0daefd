"""`audit` on transcripts with keys, drafts and ends that are not those of the format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rheo_verify.checks.transcripts import Audit, audit_file, read_line
from rheo_verify.cli.main import run
from rheo_verify.errors import InputError

LINE = '{"token": %d, "logprobs": {"0": -0.6931471805599453, "1": -0.6931471805599453}%s}\n'


def lines(number: int, more: str = "") -> str:
    return "".join(LINE % (index % 2, more) for index in range(number))


def audited(path: Path, audit: Audit | None = None) -> Audit:
    audit = audit or Audit()
    list(audit_file(path, audit))
    return audit


def test_a_last_line_that_ends_in_the_middle_is_said_and_read_when_it_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, state = tmp_path / "t.jsonl", str(tmp_path / "state")
    path.write_text(lines(5)[:-30])
    size = len(LINE % (0, "")) - 30
    assert run(["audit", str(path), "--state", state]) == 3
    out = capsys.readouterr().out
    assert "4 tokens in 4 lines" in out
    assert f"the last line ends in the middle\n  line 5, after {size} bytes: not audited" in out
    assert run(["audit", str(path), "--state", state, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["cut_off"] == size
    path.write_text(lines(5))
    assert run(["audit", str(path), "--state", state, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["lines"], found["cut_off"]) == (5, 0)
    assert json.loads(Path(state).read_text()) == json.loads(json.dumps(audited(path).to_data()))
    assert run(["audit", str(path)]) == 3
    assert "in the middle" not in capsys.readouterr().out


def test_the_same_audit_goes_on_when_the_line_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(5)[:-30])
    audit = audited(path)
    assert audit.cut_off > 0
    path.write_text(lines(5))
    assert (audited(path, audit).cut_off, audit.lines) == (0, 5)


def test_strict_ends_at_a_last_line_that_ends_in_the_middle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, state = tmp_path / "t.jsonl", str(tmp_path / "state")
    path.write_text(lines(5)[:-30])
    for _ in range(2):
        assert run(["audit", str(path), "--strict", "--state", state]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"rheo_verify audit: RV606: {path}: line 5: ends in the middle, after ")
        assert err.count("\n") == 1
    path.write_text(lines(5))
    assert run(["audit", str(path), "--strict", "--state", state, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["lines"] == 5


def test_a_file_of_one_line_that_ends_in_the_middle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(1)[:20])
    assert run(["audit", str(path)]) == 2
    assert "not one line can be used (line 1 ends in the middle, after 20 bytes)" in capsys.readouterr().err


def test_keys_that_are_not_read_are_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, state = tmp_path / "t.jsonl", str(tmp_path / "state")
    path.write_text(lines(70) + lines(70, ', "draft": [0], "temperature": 1') + lines(1, ', "' + "k" * 500 + '": 1'))
    for _ in range(2):  # the second time nothing new is read
        assert run(["audit", str(path), "--state", state]) == 3
        out = capsys.readouterr().out
        assert "keys that are not read" in out
        assert "'draft', from line 71 on; did you mean drafts?" in out
        assert out.count("'temperature', from line 71 on\n") == 1
        assert "kkk…kkk" in out
        assert "k" * 60 not in out
    assert run(["audit", str(path), "--state", state, "--json"]) == 3
    unknown = json.loads(capsys.readouterr().out)["unknown_keys"]
    assert unknown == {"draft": 71, "temperature": 71, "k" * 500: 141}
    path.write_text(lines(3, ', "id": "r", "rest": 0, "drafts": [1, 0], "leaf": false'))
    assert audited(path).unknown == {}


def test_the_keys_that_are_named_are_few(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(LINE % (0, f', "k{index}": 0') for index in range(200)))
    assert list(audited(path).unknown) == [f"k{index}" for index in range(20)]


def test_a_state_of_before_is_still_read() -> None:
    data = Audit().to_data()
    del data["unknown"]
    assert Audit.from_data(data, "state").unknown == {}
    with pytest.raises(InputError, match="RV607"):
        Audit.from_data({**data, "unknown": [1]}, "state")


def test_a_draft_stands_once() -> None:
    with pytest.raises(InputError, match="RV606: here: drafts name a token twice"):
        read_line((LINE % (0, ', "drafts": [1, 0, 1]')).encode(), "here")
