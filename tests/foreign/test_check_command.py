"""The `check` command: exit codes, text, JSON, one case, one path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.cli.main import run

BAD = """
import random
def verify(target, draft, tokens):
    return [tokens[0], random.choices(range(len(target[1])), target[1])[0]]
def with_coins(target, draft, tokens, coins=None):
    return [0]
def sample(row):
    return random.choices(range(len(row)), row)[0]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(BAD)
    return str(path)


def test_refuted_and_replayed(file: str, capsys: Any) -> None:
    assert run(["check", f"{file}:verify", "--arrays", "list", "--scope", "small"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("REFUTED")
    assert "RV407" in shown
    assert "again      python -m rheo_verify replay" in shown
    assert run(["check", f"{file}:verify", "--arrays", "list", "--scope", "small", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    first = data["findings"][0]
    case = json.dumps(first["case"])
    assert run(["check", f"{file}:verify", "--arrays", "list", "--case", case, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == first["code"]
    assert run(["check", f"{file}:verify", "--arrays", "list", "--case", case, "--path", first["replay"]]) == 1
    shown = capsys.readouterr().out
    assert "RV407" in shown
    assert f"path {first['replay']}, probability" in shown


@pytest.mark.parametrize("way", [["--as", "verifier"], ["--as", "coins"], ["--as", "coins", "--strata", "2"]])
def test_a_limit_of_memory(way: list[str], file: str, capsys: Any) -> None:
    command = ["check", f"{file}:with_coins", *way, "--arrays", "list", "--scope", "small", "--memory-limit"]
    assert run([*command, "1M"]) == 3
    assert "INCONCLUSIVE: RV204: the memory limit of 1 MiB was reached" in capsys.readouterr().err
    assert run([*command, "1T"]) == 1
    assert run([*command, "1"]) == 3
    assert run([*command, "much"]) == 2
    assert "RV106: --memory-limit 'much' must be a size like 500M or 2G" in capsys.readouterr().err


def test_verified(file: str, capsys: Any) -> None:
    command = ["check", f"{file}:sample", "--as", "sampler", "--arrays", "list", "--probabilities", "--scope", "small"]
    assert run(command) == 0
    assert capsys.readouterr().out.startswith("VERIFIED")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nowhere:nothing"],
        ["no_colon"],
        ["{file}:missing"],
        ["{file}:verify", "--scope", "x=1"],
        ["{file}:verify", "--temperature", "0.5"],
        ["{file}:verify", "--case", "{{"],
        ["{file}:verify", "--path", "0"],
        ["/no/such/file.py:f"],
    ],
)
def test_bad_input_is_exit_code_2(arguments: list[str], file: str, capsys: Any) -> None:
    assert run(["check", *(argument.replace("{file}", file) for argument in arguments)]) == 2
    assert "RV1" in capsys.readouterr().err
