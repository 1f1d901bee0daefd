"""Flags of `check`: each is used or refused, for every way in; and what --case, --path and --scope are given."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.cli.check_flags import NEEDS, TAKEN_BY, WAYS
from rheo_verify.cli.main import parser, run
from rheo_verify.errors import InputError
from rheo_verify.foreign.scope import Scope

ROOT = Path(__file__).parents[2]
CODE = """
import random
def verify(target, draft, tokens, uniforms=None):
    if uniforms is not None:
        total = 0.0
        for token, p in enumerate(target[0]):
            total += p
            if uniforms[0] < total:
                return [token]
        return [token]
    return random.choices(range(len(target[0])), target[0])
def sample(row, temperature=None):
    return random.choices(range(len(row)), row)[0]
def generate(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) <= n:
        row = target(tokens)
        tokens += random.choices(range(len(row)), row)
    return tokens[1:]
"""
NAMES = {"verifier": "verify", "sampler": "sample", "decoder": "generate", "coins": "verify"}
VALUES = {
    "logits": [],
    "in_place": [],
    "probabilities": [],
    "batched": [],
    "temperature": ["0.5"],
    "top_k": ["2"],
    "top_p": ["0.5"],
    "min_p": ["0.5"],
    "batch": ["2"],
    "length": ["2"],
    "strata": ["4"],
    "changes": ["2"],
    "within": ["0.1"],
    "evaluations": ["100"],
    "coins": ["2"],
    "device": ["cuda"],
    "jobs": ["2"],
    "backend": ["serial"],
    "scheduler": ["tcp://x:1"],
    "checkpoint": ["kept"],
}
CASE = {"target": [["1/2", "1/2"], ["1/3", "2/3"]], "draft": [["1/4", "3/4"]]}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(CODE)
    return "mine.py"


def refused(command: list[str], capsys: Any) -> str:
    """What is said, on one line, where a command is refused as bad input."""
    assert run(command) == 2, command
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"rheo_verify check: RV\d+: [^\n]+\n", err), err
    assert "Traceback" not in err
    return str(err)


def check_of(way: str, code: str, *more: str) -> list[str]:
    return ["check", f"{code}:{NAMES[way]}", "--as", way, "--arrays", "list", *more]


@pytest.mark.parametrize("way", WAYS)
def test_a_flag_that_means_nothing_to_a_way_in_is_refused_and_the_ways_are_named(
    way: str, code: str, capsys: Any
) -> None:
    assert set(VALUES) == set(TAKEN_BY)
    for name, ways in TAKEN_BY.items():
        if way in ways:
            continue
        flag = f"--{name.replace('_', '-')}"
        said = refused(check_of(way, code, flag, *VALUES[name]), capsys)
        assert said.startswith(f"rheo_verify check: RV106: {flag} is for --as {ways[0]}"), said
        assert all(each in said for each in (*ways, way)), said


def test_help_names_the_same_ways() -> None:
    [check] = [
        it.choices["check"] for it in parser()._actions if getattr(it, "choices", None) and "check" in it.choices
    ]
    shown = re.sub(r"\s+", " ", check.format_help())
    for name, ways in TAKEN_BY.items():
        flag, taken = name.replace("_", "-"), ", ".join(ways)
        assert re.search(f"--{flag}( [A-Z]+| {{[a-z,]+}})? " + re.escape(f"[{taken}]"), shown), name


def test_flags_that_need_or_exclude_others(code: str, capsys: Any) -> None:
    for name, other in NEEDS.items():
        values = VALUES.get(name, ["0"])
        said = refused(check_of("coins", code, f"--{name}", *values), capsys)
        assert f"--{name} goes with --{other}" in said
    case = json.dumps(CASE)
    for flags in (
        ["--strata", "4", "--certificate", "x.v"],
        ["--strata", "4", "--case", case, "--path", "0@0.5_0.5"],
        ["--case", case, "--path", "0", "--html", "x.html"],
        ["--case", case, "--path", "0", "--certificate", "x.v"],
    ):
        refused(check_of("coins", code, *flags), capsys)
    for flags in (["--case", case, "--jobs", "2"], ["--certificate", "x.v", "--checkpoint", "kept"]):
        refused(check_of("verifier", code, *flags), capsys)
    assert "--dtype" in refused(check_of("verifier", code, "--dtype", "float32"), capsys)
    assert not Path("x.html").exists()


@pytest.mark.parametrize(
    "flags",
    [
        ["--json"],
        ["--scope", "quick"],
        ["--batch", "2"],
        ["mine.py:verify"],
        ["--html", "x.html"],
        ["--time-limit", "3"],
    ],
)
def test_a_folder_of_planted_faults_takes_no_other_flag(flags: list[str], code: str, capsys: Any) -> None:
    Path("planted").mkdir()
    said = refused(["check", "--planted", "planted", *flags], capsys)
    shown = flags[0] if flags[0].startswith("-") else "MODULE:FUNCTION"
    assert f"prints a table: leave {shown} out\n" in said


def test_a_folder_of_planted_faults_is_checked(tmp_path: Path, capsys: Any) -> None:
    folder = ROOT / "toy_models" / "broken"
    (tmp_path / "some").mkdir()
    shutil.copy(folder / "residual_mass_falls_to_last_token.py", tmp_path / "some")
    assert run(["check", "--planted", str(tmp_path / "some"), "--quiet"]) == 0
    head, _, row = capsys.readouterr().out.splitlines()
    assert head.startswith("| kind |")
    assert row.startswith("| `residual_mass_falls_to_last_token` |")
    assert "REFUTED RV413, RV401" in row


@pytest.mark.parametrize("flag", ["--case", "--scope", "--path", "--planted", "--device"])
def test_empty_values(flag: str, code: str, capsys: Any) -> None:
    assert flag in refused(check_of("verifier", code, flag, ""), capsys)


@pytest.mark.parametrize("way", WAYS)
def test_a_time_limit_ends_the_check(way: str, code: str, capsys: Any) -> None:
    flags = ["--probabilities"] if way == "sampler" else []
    assert run(check_of(way, code, "--time-limit", "1e-9", "--scope", "seconds=500", *flags)) == 3
    assert "the time limit of 1e-09 s struck" in capsys.readouterr().out
    assert run(check_of(way, code, "--time-limit", "500", "--scope", "seconds=0,random=1,denominator=1", *flags)) == 0
    capsys.readouterr()
    for bad in ("0", "-1", "nan", "inf"):
        assert "--time-limit" in refused(check_of(way, code, "--time-limit", bad), capsys)


ROW = '["1/2", "1/2"]'


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("{", "line 1, column 2"),
        ("[1, 2]", "object"),
        ("{}", "nothing"),
        ('{"target": []}', "target"),
        ('{"target": [], "draft": [], "more": 1}', "more"),
        ('{"target": 1, "draft": 2}', "lists"),
        (f'{{"target": [{ROW}], "draft": {{"": {ROW}}}}}', "both"),
        (f'{{"target": [{ROW}], "draft": [{ROW}]}}', "one more target row"),
        ('{"target": [1, 2], "draft": [3]}', "target[0]"),
        (f'{{"target": [{ROW}, []], "draft": [{ROW}]}}', "target[1]"),
        (f'{{"target": [{ROW}, ["1"]], "draft": [{ROW}]}}', "has 1 token,"),
        (f'{{"target": [{ROW}, ["1", "1"]], "draft": [{ROW}]}}', "sum to 2"),
        (f'{{"target": [{ROW}, ["x", "1"]], "draft": [{ROW}]}}', "rational"),
        (f'{{"target": [{ROW}, [0.5, 0.5]], "draft": [{ROW}]}}', "exact"),
        (f'{{"target": [{ROW}, [NaN, 1]], "draft": [{ROW}]}}', "exact"),
        (f'{{"target": [{ROW}, null], "draft": [{ROW}]}}', "target[1]"),
        (f'{{"target": {{"x": {ROW}}}, "draft": {{}}}}', "context"),
        (f'{{"target": {{"0": {ROW}}}, "draft": {{}}}}', "start"),
        (f'{{"target": {{"": {ROW}, "0": {ROW}}}, "draft": {{"": {ROW}}}}}', "no row after (1)"),
        (f'{{"target": {{"": {ROW}, "0": {ROW}, "1": {ROW}, "7": {ROW}}}, "draft": {{"": {ROW}}}}}', "cannot come up"),
        (f'{{"draft": [{ROW}], "draft": [{ROW}], "target": [{ROW}, {ROW}]}}', "twice"),
        (f'{{"target": [{ROW}], "draft": []}}', "at least one draft"),
        (f'{{"row": {ROW}}}', "at least one draft"),
        (f'{{"target": [{", ".join([ROW] * 61)}], "draft": [{", ".join([ROW] * 60)}]}}', "contexts"),
        ("[" * 100_000, "too deep"),
        ("no-such-file.json", "no-such-file.json"),
        (".", "cannot be read"),
        ("empty.json", "empty"),
        ("binary.json", "UTF-8"),
        ("x" * 5000, "cannot be read"),
    ],
)
def test_a_case_that_is_none_is_one_line(case: str, says: str, code: str, capsys: Any) -> None:
    Path("empty.json").write_text(" \n")
    Path("binary.json").write_bytes(b"\xff\xfe\x00")
    said = refused(check_of("verifier", code, "--case", case), capsys)
    assert says in said
    for python in ("Expecting", "Errno", "KeyError", "codec", "object is not", "<class"):
        assert python not in said


def test_a_sampler_has_a_case_of_its_own(code: str, capsys: Any) -> None:
    said = refused(check_of("sampler", code, "--case", json.dumps(CASE)), capsys)
    assert '{"row"' in said


def test_a_path_that_leaves_the_tree_is_bad_input_even_of_sound_code(code: str, capsys: Any) -> None:
    case = ["--case", json.dumps(CASE)]
    assert run(check_of("verifier", code, *case, "--path", "1.0")) == 0
    capsys.readouterr()
    said = refused(check_of("verifier", code, *case, "--path", "9.9"), capsys)
    assert "choice 1 of the path is 9; possible are 0, 1 (at draft 1)" in said
    said = refused(check_of("verifier", code, *case, "--path", "1.9"), capsys)
    assert "choice 2 of the path is 9; possible are 0, 1 (at mine.py:" in said
    assert "1 choice," in refused(check_of("verifier", code, *case, "--path", "1"), capsys)
    assert "only 2 asked for" in refused(check_of("verifier", code, *case, "--path", "1.1.1"), capsys)
    refused(check_of("verifier", code, *case, "--path", "x"), capsys)
    said = refused(check_of("coins", code, *case, "--path", "1@0.5"), capsys)
    assert "1 draft and 1 coin; this case has 1 and 2" in said
    assert "draft 1 of the path is 9" in refused(check_of("coins", code, *case, "--path", "9@0.5_0.5"), capsys)
    assert "[0, 1)" in refused(check_of("coins", code, *case, "--path", "1@0.5_1.0"), capsys)


@pytest.mark.parametrize("written", ["vocab=3,vocab=4", "random=1,seconds=3,random=1"])
def test_a_scope_says_each_thing_once(written: str, code: str, capsys: Any) -> None:
    with pytest.raises(InputError, match="RV106"):
        Scope.read(written)
    assert "twice" in refused(check_of("verifier", code, "--scope", written), capsys)


@pytest.mark.parametrize(
    ("way", "written", "said"),
    [
        ("verifier", "vocab=5,drafts=3", "RV106: a scope needs vocab in 2…4, not 5"),
        ("sampler", "vocab=1,denominator=13", "a scope needs vocab in 2…4, not 1, and denominator in 1…12, not 13"),
        ("coins", "random_vocab=0", "a scope needs random_vocab in 2…100, not 0"),
        ("verifier", "random_vocab=100,drafts=4", "RV108: random cases of random_vocab=100, drafts=4 are too large"),
        ("decoder", "vocab=1", "a scope needs vocab in 2…100, not 1"),
        ("decoder", "denominator=0", "a scope needs denominator in 1…12, not 0"),
        ("decoder", "length=1", "a scope needs length in 2…16, not 1"),
        ("decoder", "paths=0", "a scope needs paths in 1…1,000,000,000, not 0"),
        ("decoder", "batch=0", "a scope needs batch in 1…8, not 0"),
        ("decoder", "vocab=100,length=16", "RV108: 100 tokens, 16 at a time in 1 row, make about 10^32 sequences"),
    ],
)
def test_a_scope_out_of_range_says_what_is_allowed(way: str, written: str, said: str, code: str, capsys: Any) -> None:
    assert said in refused(check_of(way, code, "--scope", written), capsys)


@pytest.mark.parametrize("flag", ["--length", "--batch"])
def test_nothing_is_no_size(flag: str, code: str, capsys: Any) -> None:
    assert f"needs {flag[2:]} in" in refused(check_of("decoder", code, flag, "0"), capsys)


def test_a_scope_of_one_is_singular() -> None:
    scope = Scope(vocab=2, drafts=1, random=1, random_vocab=2).text()
    assert "one-draft cases on 2 tokens with" in scope
    assert "1 random case (seed 0, 1 draft, 2 tokens, rows by context)" in scope
    assert "2 to 3 tokens with" in Scope().text()
