"""The JSON checkers on files that are no certificates: wrong types, unknown fields, other files; and what they say."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.checks.certificate import certificate_of
from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.foreign.evidence import keeping
from rheo_verify.foreign.paths_certificate import PathsCertificate, paths_certificate
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.models.random_tables import random_model
from rheo_verify.report import certificate_json, rates_certificate
from rheo_verify.report import paths_certificate as paths_report
from rheo_verify.verification.rules import layer_rule
from tests.certificate_kinds import VERIFIERS, random_paths, random_rates
from tests.certificates import CHECKER, checker, coq, coqc

KINDS = ("certificate", "acceptance-certificate", "paths-certificate")
NAMES = ("check_certificate", "check_acceptance", "check_paths")
FREE = {"name", "scope", "given"}
"""Fields that are words for people: any text will do."""
JUNK: tuple[Any, ...] = (
    *(None, True, False, -1, 1.0, 0.5, float("nan"), float("inf"), 10**30, [], {}, [[]], [None], {"a": 1}, [1.5]),
    *("", " ", "x", "1/0", "0/0", "-1", "+1", "1/-2", "1e3", "0.5", " 1", "1 ", "1\n", "\n1", "١", "½", "1/2/3", "2/4"),
    *("007", "0x1", "1_0", "1e999999999", "nan", "null", "rheo ", "RHEO", "lazy\n", "VERIFIED ", "REFUTE", "verified"),
)


@cache
def written(kind: str) -> str:
    """One certificate of a kind, as JSON, with something in every field."""
    if kind == "certificate":
        model = random_model(3, 1, independent_sampling=True)
        result = enumerate_design(model, TreeDesign(pool=2, beam=1, depth=2, budget=3), layer_rule("rheo"))
        return certificate_json.to_json(certificate_of(result))
    if kind == "acceptance-certificate":
        return rates_certificate.to_json(next(it for it in random_rates(40, seed=9) if it.layer and it.cycles))
    return paths_report.to_json(next(it for it in random_paths(40) if it.cases[0].findings and it.cases[0].drafts > 1))


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field and entry, whatever it holds."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*at, key)
        yield from places(value, (*at, key))


def fields(data: Any) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    """The same by field: entries of a list, and rows, are one field."""
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for at in places(data):
        name = tuple(key if isinstance(key, str) and key.isidentifier() and key[:2] != "RV" else "*" for key in at)
        found.setdefault(name, []).append(at)
    return found


def put(data: Any, at: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place."""
    if not at:
        return value
    changed = data.copy()
    changed[at[0]] = put(data[at[0]], at[1:], value)
    return changed


def get(data: Any, at: tuple[Any, ...]) -> Any:
    for key in at:
        data = data[key]
    return data


def other_type(value: Any, junk: Any, at: tuple[Any, ...]) -> bool:
    """Whether junk is no value for a field that holds `value`: of another type, or text in another form."""
    if junk is None and (at == ("layer",) or at[2:3] + at[4:] == ("paths", 2)):
        return False  # no layer was asked for; nothing was emitted
    if type(junk) is not type(value):
        return True
    if isinstance(value, list | dict):
        return junk not in ([], {})  # fewer claims are no wrong type
    if isinstance(value, str):
        return not (FREE & set(at)) and junk != value
    return junk != value and not (isinstance(value, int) and junk >= 0)


def verdict(data: Any, kind: str = KINDS[0]) -> str:
    """What the checker of a kind says; empty if it accepts."""
    try:
        checker(NAMES[KINDS.index(kind)]).check(data)
    except Exception as error:
        return str(error) or repr(error)
    return ""


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_has_its_type(kind: str) -> None:
    """A hundred wrong values and more for every field of a certificate, one at a time."""
    data, dice, told = json.loads(written(kind)), random.Random(4), Counter[tuple[Any, ...]]()
    assert verdict(data, kind) == ""
    for name, found in fields(data).items():
        while told[name] < 100:
            at = dice.choice(found)
            junk = dice.choice(JUNK)
            junk = dice.choice([junk, junk, [junk], {"": junk}, [junk, 1], f"{junk}{dice.choice(JUNK)}"])
            if other_type(get(data, at), junk, at):
                assert verdict(put(data, at, junk), kind), (at, junk)
                told[name] += 1
    assert len(told) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_is_missing_or_unknown(kind: str) -> None:
    data = json.loads(written(kind))
    objects = [data, *(get(data, at) for at in places(data))]
    for number, one in enumerate(objects):
        if not isinstance(one, dict):
            continue
        changed = copy.deepcopy(data)
        target = [changed, *(get(changed, at) for at in places(changed))][number]
        target["more"] = "1/2"
        assert "more" in verdict(changed, kind) or "distribution" in verdict(changed, kind)
        for key in [key for key in one if key.isidentifier() and not key.startswith("RV4")]:
            changed = copy.deepcopy(data)
            del [changed, *(get(changed, at) for at in places(changed))][number][key]
            assert verdict(changed, kind), key


def test_what_was_wrong_is_said() -> None:
    data = json.loads(written("certificate"))
    wrong = {
        "design.beam cannot be True": put(data, ("design", "beam"), True),
        "design.ties cannot be 'odd'": put(data, ("design", "ties"), "odd"),
        "design.proxy cannot be 0.5": put(data, ("design", "proxy"), 0.5),
        "design.epsilon cannot be '0/1'": put(data, ("design", "epsilon"), "0/1"),
        "version cannot be 1.0": put(data, ("version",), 1.0),
        "verdict cannot be 'TRUE'": put(data, ("verdict",), "TRUE"),
        "classes[0].nodes[0] is no list of 3": put(data, ("classes", 0, "nodes", 0), [[1], [1]]),
        "classes[0].nodes[0][2] cannot be 'leaf'": put(data, ("classes", 0, "nodes", 0, 2), "leaf"),
        "another schema": [data],
        "the total variation is another": put(data, ("budgets", 1), "1/7"),
        "the classes or their probabilities are others": put(data, ("classes", 0, "nodes", 0, 2), "fill"),
    }
    assert verdict(data) == ""
    assert {said: verdict(it) for said, it in wrong.items()} == {said: said for said in wrong}


@pytest.mark.parametrize("size", ["beam", "pool", "depth", "budget", "lead"])
@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_huge_size_ends_soon(kind: str, size: str) -> None:
    data = json.loads(written(kind))
    for at in [at for at in places(data) if at[-1] == size and at[-2] == "design"]:
        verdict(put(data, at, 10**12), kind)


def command(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", CHECKER.with_name(f"{name}.py"), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", NAMES)
def test_files_that_cannot_be_read_are_bad_input(name: str, tmp_path: Path) -> None:
    """Exit code 2 and one line, unlike a file that is read and rejected."""
    cases = {"no.json": b'{"a": 1', "twice.json": b'{"a": 1, "a": 2}', "bytes.json": b"\xff\xfe\xff", "empty.json": b""}
    cases["deep.json"] = b"[" * 100_000
    for file, content in cases.items():
        (tmp_path / file).write_bytes(content)
    for file in [*cases, "missing.json", "."]:
        done = command(name, tmp_path / file)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (file, done.stderr)
        assert "cannot be read" in done.stderr
    for content in ("{}", "[]", "3", "null", '{"schema": []}', '{"schema": "rheo_verify/check"}'):
        (tmp_path / "other.json").write_text(content)
        done = command(name, tmp_path / "other.json")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{tmp_path / 'other.json'}: REJECTED: another schema\n"


@pytest.mark.parametrize("name", NAMES)
def test_usage(name: str) -> None:
    for arguments, code in (((), 2), (("--help",), 0), (("-h",), 0)):
        done = command(name, *arguments)
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.startswith(f"usage: python {name}.py FILE.json")


def quick(most: int) -> PathsCertificate:
    with keeping(most) as kept:
        report = check_verifier(VERIFIERS[0], arrays="list", scope=Scope.read("small"))
    return paths_certificate(report, kept.cases)


def test_how_much_is_stated_is_said(tmp_path: Path) -> None:
    """Of all cases or of the first: in the file, and in the checkers' answers."""
    part, whole = quick(40), quick(10_000)
    few, every = len(part.cases), part.cases_in_all
    assert few < every == len(whole.cases)
    for certificate, stated in ((part, f"{few} of {every} cases (nothing is said of the others)"), (whole, "")):
        (tmp_path / "it.json").write_text(paths_report.to_json(certificate))
        assert json.loads(paths_report.to_json(certificate))["cases_in_all"] == every
        done = command("check_certificate", tmp_path / "it.json")
        assert done.stdout.endswith(f"every number holds, of {stated or f'{every} of {every} cases'}\n")
    assert f"the first {few} of {every} cases (the others are not in it)" in paths_report.to_rocq(part)
    data = paths_report.to_data(part)
    assert verdict({**data, "cases_in_all": few - 1}, "paths-certificate") == "more cases than there are"


@coq
def test_how_much_is_stated_is_printed_by_rocq(tmp_path: Path) -> None:
    part = quick(12)
    done = coqc(paths_report.to_rocq(part), tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert f"cases_in_this_file := {len(part.cases)}; cases_of_the_check := {part.cases_in_all}" in said


def test_numbers_of_many_digits_are_read(tmp_path: Path) -> None:
    """More digits than Python converts by default."""
    data = json.loads(written("certificate"))
    row = data["rows"]["draft"][next(iter(data["rows"]["draft"]))]
    row[:2] = [f"1{'0' * 5000}1/3{'0' * 5000}4", "1/2"]
    (tmp_path / "it.json").write_text(json.dumps(data))
    done = command("check_certificate", tmp_path / "it.json")
    assert done.returncode == 1
    assert "limit" not in done.stderr
