"""Every finding comes with a command that shows it again: run in a process of its own, it finds the same."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.cli.main import run
from rheo_verify.errors import InputError
from rheo_verify.foreign.cases import Case, by_position, random_case
from rheo_verify.foreign.recipes import Recipe, read_recipe
from rheo_verify.probability.distributions import distribution

ROOT = Path(__file__).parents[2]
CODE = '''
import random

def pick(row):
    return random.choices(range(len(row)), row)[0]

def verify(target, draft, tokens):
    """After a rejection it draws from the target."""
    for i, token in enumerate(tokens):
        if random.random() * draft[i][token] < target[i][token]:
            continue
        return [*tokens[:i], pick(target[i])]
    return [*tokens, pick(target[-1])]

def writes(target, draft, tokens):
    """Allowed to write: then it draws from the target."""
    emitted = verify(target, draft, tokens)
    target[0][0] = 2.0
    return emitted

def logits(target, draft, tokens):
    import math
    rows = [[[math.exp(x) for x in row] for row in rows] for rows in (target, draft)]
    return verify(*rows, tokens)

def single(target, draft, tokens):
    import numpy as np
    assert target.dtype == np.float32
    return verify(target.tolist(), draft.tolist(), tokens.tolist())

def sample(row, temperature=1.0, top_p=1.0):
    """It forgets top-p."""
    assert temperature == 0.5
    return pick([p ** 2 for p in row])

def decode(target, draft, prompt, n, temperature=1.0):
    tokens = list(prompt)
    while len(tokens) <= n:
        tokens.append(pick(target(tokens)))
    return tokens[1:]

def batched(target, draft, prompts, n):
    """Row 1 is drawn from the draft."""
    rows = [list(prompt) for prompt in prompts]
    for row, model in zip(rows, (target, draft)):
        while len(row) <= n:
            row.append(pick(model(row)))
    return [row[1:] for row in rows]

def coins(target, draft, tokens, uniforms):
    """The first coin draws the last token too."""
    row = target[-1]
    if uniforms[0] * draft[0][tokens[0]] >= target[0][tokens[0]]:
        row, tokens = [max(p - q, 0.0) for p, q in zip(target[0], draft[0])], []
    point, total = uniforms[0] * sum(row), 0.0
    for token, value in enumerate(row):
        total += value
        if point < total:
            return [*tokens, token]
    return [*tokens, len(row) - 1]
'''
CALLS = {
    "verify": "--as verifier --arrays list --scope small",
    "writes": "--as verifier --arrays list --scope small --in-place",
    "logits": "--as verifier --arrays list --scope small --logits",
    "single": "--as verifier --arrays numpy --dtype float32 --scope small",
    "sample": "--as sampler --arrays list --probabilities --temperature 0.5 --top-p 0.7 --scope small",
    "decode": "--as decoder --arrays list --temperature 0.5 --length 2 --scope random=2",
    "batched": "--as decoder --arrays list --batch 2 --scope random=2",
    "coins": "--as coins --arrays list",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name needs quoting, with the code in it."""
    place = tmp_path / "my code"
    place.mkdir()
    (place / "mine.py").write_text(CODE)
    return place


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a printed command, letter by letter, in a shell."""
    environment = {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
def test_the_printed_command_finds_the_same(
    name: str, apart: bool, folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent if apart else folder)
    file = "my code/mine.py" if apart else "mine.py"
    assert run(["check", f"{file}:{name}", *CALLS[name].split()]) == 1
    shown = capsys.readouterr().out
    findings = re.findall(r"^(RV4\d\d: .*)$", shown, re.MULTILINE)
    commands = re.findall(r"^  again +(.*)$", shown, re.MULTILINE)
    assert len(commands) == len(findings) > 0
    for finding, command in zip(findings, commands, strict=True):
        again = shell(command, Path.cwd())
        assert again.returncode == 1, again.stdout + again.stderr
        assert finding in again.stdout
        assert re.search(r"^path \S+", again.stdout, re.MULTILINE)
        assert re.search(r"^  emitted    [\d ]+$", again.stdout, re.MULTILINE)
        assert again.stdout.partition("\n\n")[2].startswith(shown.partition("\n\n")[2].rstrip())


def test_a_walk_names_lines_intervals_and_probabilities(folder: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    string = "mine.py:verify,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:1.1.1"
    assert run(["replay", string]) == 1
    walk = capsys.readouterr().out.partition("\n\npath")[2].splitlines()
    assert walk[0] == " 1.1.1, probability 1/4 = 0.25"
    assert walk[1].endswith("draft 1 is token 1, drawn from (0, 1): 1")
    assert "mine.py:10 (if random.random() * draft[i][token] < target[i][token]:)" in walk[2]
    assert walk[2].endswith("u1 < 1/2 = 0.5? no, with probability 1/2 = 0.5; now u1 is in [1/2 = 0.5, 1)")
    assert "mine.py:5" in walk[3]
    assert walk[-1] == "  emitted    1"


def test_repaired_code_is_verified_by_the_old_command(folder: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    string = "mine.py:verify,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:1.1.1"
    residual = "pick([max(p - q, 0.0) for p, q in zip(target[i], draft[i])])"
    (folder / "mine.py").write_text(CODE.replace("pick(target[i])", residual))
    assert run(["replay", string]) == 0
    assert "the path is no longer one of this code" in capsys.readouterr().out


@pytest.mark.parametrize(
    "string",
    [
        "mine.py:verify:verifier:1",
        "mine.py:verify,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:7.7",
        "mine.py:verify,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:x",
        "mine.py:verify,arrays=list,target=1/2+1/2,draft=0+1:verifier:1",
        "mine.py:verify,arrays=list,target=1/2+1/3_0+1,draft=0+1:verifier:1",
        "mine.py:verify,arrays=list,target=_,draft=:verifier:1",
        "mine.py:verify,in_place=maybe,target=1/2+1/2_0+1,draft=0+1:verifier:1",
        "mine.py:verify,temperature=0.5,target=1/2+1/2_0+1,draft=0+1:verifier:1",
        "mine.py:verify,arrays=sand,target=1/2+1/2_0+1,draft=0+1:verifier:1",
        "mine.py:missing,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:1",
        "nowhere.py:verify,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:1",
        "mine.py:sample,arrays=list,logits=no,target=@1/2+1/2:sampler:1",
        "mine.py:coins,arrays=list,target=0+1_1/2+1/2,draft=1/2+1/2:coins:1",
        "mine.py:coins,arrays=list,target=1/2+1/2_1/2+1/2,draft=0+1:coins:9@0.5",
        ":verifier:",
        "verifier:",
    ],
)
def test_a_string_that_does_not_fit_is_one_line(string: str, folder: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    assert run(["replay", string]) == 2
    assert re.fullmatch(r"error RV1\d\d: .*|.*RV1\d\d.*", capsys.readouterr().err.strip())


def test_strings_are_read_as_they_are_written() -> None:
    hot = by_position([distribution(["0", "1"])] * 2, [distribution(["1/3", "2/3"])])
    settings = {"arrays": "list", "logits": False, "temperature": 0.5, "top_k": 2, "batch": 2, "length": 3}
    for case in (hot, random_case(3, 2, 0), random_case(2, 1, 5)):
        written = Recipe("a,b dir/mine.py:f", "decoder", settings, case, "1.0/1.1").text()
        again = read_recipe(written)
        assert (again.code, again.way, again.path) == ("a,b dir/mine.py:f", "decoder", "1.0/1.1")
        assert again.settings == settings
        assert same(again.case, case)
        assert shlex.quote(written.replace(" ", "")) == written.replace(" ", "")
    row = by_position([distribution(["1/3", "2/3"])], [])
    assert same(read_recipe(Recipe("m:f", "sampler", {}, row, "-").text()).case, row)
    with pytest.raises(InputError):
        read_recipe("vocab=6:class:2.0")


def same(left: Case, right: Case) -> bool:
    return (left.target, left.draft) == (right.target, right.draft)


def test_one_case_alone_for_every_way_in(folder: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    for name, flags in CALLS.items():
        run(["check", f"mine.py:{name}", *flags.split(), "--json"])
        [*_, finding] = json.loads(capsys.readouterr().out)["findings"]
        case = json.dumps(finding["case"])
        assert run(["check", f"mine.py:{name}", *flags.split(), "--json", "--case", case]) == 1
        [*_, again] = json.loads(capsys.readouterr().out)["findings"]
        assert again == finding
        assert finding["again"].startswith("python -m rheo_verify replay ")
