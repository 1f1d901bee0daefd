"""Certificates of `acceptance` and of `check`: two checkers agree with them, and reject what was tampered with."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.errors import InputError
from rheo_verify.foreign.cases import by_position
from rheo_verify.foreign.evidence import keeping
from rheo_verify.foreign.paths_certificate import paths_certificate
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.probability.distributions import distribution
from rheo_verify.report import paths_certificate as paths_report
from rheo_verify.report import rates_certificate as rates_report
from tests.certificate_kinds import (
    VERIFIERS,
    change,
    endless_paths,
    infeasible,
    leaves,
    paths_lies,
    random_paths,
    random_rates,
    rates_lies,
)
from tests.certificates import CHECKER, checker, coq, coqc, refused, rejected

KINDS: dict[str, tuple[Callable[..., Iterator[Any]], Any, Callable[[Any], list[Any]]]] = {
    "acceptance": (random_rates, rates_report, rates_lies),
    "check": (lambda number, seed=0: random_paths(number), paths_report, paths_lies),
}
both = pytest.mark.parametrize("kind", sorted(KINDS))
MINE = """
import random

def drawn(row):
    return random.choices(range(len(row)), row)[0]

def lossy(target, draft, tokens):
    for place, token in enumerate(tokens):
        if not random.random() * draft[place][token] < target[place][token]:
            return [*tokens[:place], drawn(target[place])]
    return [*tokens, drawn(target[-1])]

def decode(target, draft, prompt, n):
    out = list(prompt)
    while len(out) < len(prompt) + n:
        token = drawn(draft(out))
        p, q = target(out), draft(out)
        if not random.random() * q[token] < p[token]:
            token = drawn([max(0, a - b) for a, b in zip(p, q)])
        out.append(token)
    return out[len(prompt):]

def two(target, draft, prompts, n):
    return [decode(target, draft, prompt, n) for prompt in prompts]

def sample(row):
    return drawn(row)

def pick(row, u):
    below = [v for v in range(len(row)) if u * sum(row) < sum(row[: v + 1])]
    return below[0] if below else max(v for v, p in enumerate(row) if p)

def coins(target, draft, tokens, u):
    (token,) = tokens
    if u[0] * draft[0][token] < target[0][token]:
        return [token, pick(target[1], u[1])]
    return [pick([max(0, a - b) for a, b in zip(target[0], draft[0])], u[1])]
"""


@both
def test_a_hundred_random_answers(kind: str) -> None:
    make, report, _ = KINDS[kind]
    verdicts: Counter[str] = Counter()
    for certificate in make(100):
        data = json.loads(report.to_json(certificate))
        assert data == report.to_data(certificate)
        checker().check(data)
        verdicts[data.get("verdict", "")] += 1
    assert kind == "acceptance" or min(verdicts["VERIFIED"], verdicts["REFUTED"]) >= 25


def test_every_fault_of_a_path_is_certified() -> None:
    found = {code for it in random_paths(100) for case in it.cases for code in case.findings}
    assert found >= {"RV401", "RV405", "RV407", "RV408", "RV409", "RV410"}


@both
def test_corrupted_certificates_are_rejected(kind: str) -> None:
    """A hundred and more: one number of each certificate, anywhere but where another number may be as true."""
    make, report, _ = KINDS[kind]
    dice, told = random.Random(3), 0
    free = {"version", "design", "lead", "cut", "candidates", "length", "cases_in_all"}
    for certificate in make(60, seed=4):
        data = report.to_data(certificate)
        places = [at for at in leaves(data) if not free & set(at)]
        if kind == "check":  # an emission that is another changes the law, but the distance may stay
            places = [at for at in places if "paths" not in at or at[4] != 2]
        for at in dice.sample(places, 3):
            changed = copy.deepcopy(data)
            change(changed, at)
            assert rejected(json.loads(json.dumps(changed))), at
            told += 1
    assert told >= 100


def test_every_number_of_a_certificate_matters() -> None:
    """One certificate of each kind, with every number of it changed, one at a time."""
    rates = next(it for it in random_rates(40, seed=9) if it.layer and it.cycles and it.layer.candidates == 3)
    paths = next(it for it in random_paths(100) if it.verdict is Verdict.VERIFIED and len(it.cases[0].paths) > 4)
    for data in (rates_report.to_data(rates), paths_report.to_data(paths)):
        checker().check(copy.deepcopy(data))
        for at in leaves(data):
            changed = copy.deepcopy(data)
            change(changed, at)
            assert rejected(changed) or {"design", "cases_in_all"} & set(at), at  # another size can have the same tau


@both
def test_claims_that_are_lies_are_rejected(kind: str) -> None:
    make, report, lies = KINDS[kind]
    for certificate in make(22, seed=6):
        for lie in lies(certificate):
            assert rejected(json.loads(report.to_json(lie))), lie


def test_a_plan_above_the_cut_is_rejected() -> None:
    """A plan and a rate that agree, above what the cut allows: each of the plan's own conditions is looked at."""
    certificate = next(it for it in random_rates(40, seed=1) if it.layer and 0 < it.layer.rates.optimal < 1)
    data = rates_report.to_data(certificate)
    layer = data["layer"]
    chosen = max(layer["plan"], key=lambda one: len(one["flow"]))
    token = next(iter(chosen["flow"]))
    change(chosen["flow"], (token,))
    change(layer["rates"], ("optimal",))
    assert rejected(data)


def test_a_plan_that_is_none_is_rejected() -> None:
    """Plans of the right value that send outside a set, more than a set has, or more than p."""
    told = 0
    for certificate in random_rates(30, seed=5):
        for plan in infeasible(certificate.layer) if certificate.layer else ():
            layer = replace(certificate.layer, optimum=replace(certificate.layer.optimum, plan=plan))
            assert rejected(rates_report.to_data(replace(certificate, layer=layer))), plan
            told += 1
    assert told >= 20


@coq
@both
def test_rocq_agrees_and_rejects(kind: str, tmp_path: Path) -> None:
    make, report, lies = KINDS[kind]
    honest = list(make(4, seed=3))
    modules = [f"Module C{i}.\n{report.body(it)}\nEnd C{i}.\n" for i, it in enumerate(honest)]
    done = coqc(report.prelude() + "\n".join(modules), tmp_path)
    assert done.returncode == 0, done.stderr
    theorems = done.stdout.count("Closed under the global context")
    assert theorems == sum(report.body(it).count("\nTheorem ") for it in honest)
    assert "Axioms" not in done.stdout
    for lie in lies(honest[1])[:2]:
        assert coqc(report.prelude() + report.body(lie), tmp_path, "lie").returncode != 0


@coq
@both
@pytest.mark.slow
def test_rocq_on_a_hundred_answers(kind: str, tmp_path: Path) -> None:
    make, report, _ = KINDS[kind]
    modules = [f"Module C{i}.\n{report.body(it)}\nEnd C{i}.\n" for i, it in enumerate(make(100, seed=8))]
    done = coqc(report.prelude() + "\n".join(modules), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Axioms" not in done.stdout


@coq
@both
@pytest.mark.slow
def test_rocq_rejects_a_hundred_lies(kind: str, tmp_path: Path) -> None:
    make, report, lies = KINDS[kind]
    some, false = [], []
    for certificate in make(60, seed=21):
        some.append(report.body(certificate))
        false += map(report.body, lies(certificate))
        if len(false) >= 100:
            break
    assert len(false) >= 100
    refused(report.prelude(), some, false, tmp_path)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MINE)
    return str(tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("acceptance --vocab 4", 0),
        ("acceptance --vocab 4 --layer-only", 0),
        ("acceptance --target 1,0,2,1 --draft 1,1,1,1 --k 3 --temperature 1/2", 0),
        ("acceptance compare --vocab 4 --depth 2 --budget 12", 0),
        ("check MINE:lossy --arrays list --scope quick", 1),
        ("check MINE:decode --as decoder --arrays list --scope random=2", 0),
        ("check MINE:two --as decoder --batch 2 --arrays list --scope random=1", 0),
        ("check MINE:sample --as sampler --probabilities --arrays list --scope small --temperature 1 --top-k 2", 1),
        ("check MINE:sample --as sampler --probabilities --arrays list --scope small", 0),
        ("check MINE:coins --as coins --arrays list --scope vocab=2,denominator=2,drafts=1,random=0", 0),
    ],
)
def test_the_commands_write_certificates(
    arguments: str, code: int, mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments.replace("MINE", mine).split()
    path = tmp_path / "answer.json"
    assert run([*words, "--certificate", str(path)]) == code
    assert "recheck it with" in capsys.readouterr().err
    done = subprocess.run([sys.executable, "-I", CHECKER, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "every number holds" in done.stdout
    alone = CHECKER.with_name("check_acceptance.py" if words[0] == "acceptance" else "check_paths.py")
    assert subprocess.run([sys.executable, "-I", alone, path], capture_output=True).returncode == 0
    assert run([*words, "--certificate", str(tmp_path / "answer.v")]) == code
    report = rates_report if words[0] == "acceptance" else paths_report
    assert (tmp_path / "answer.v").read_text().partition("(* Claims *)")[0].endswith(report.prelude() + "\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("acceptance compare --vocab 3 --temperatures 1,1/2 --certificate FOLDER/a.v", "RV701"),
        ("acceptance --vocab 60 --layer-only --certificate FOLDER/a.v", ""),
        ("acceptance --vocab 200 --layer-only --certificate FOLDER/a.json", "RV702"),
        ("acceptance --vocab 3 --certificate FOLDER/a.txt", "RV703"),
        ("acceptance --vocab 3 --certificate FOLDER/missing/a.v", "RV703"),
        ("check MINE:lossy --arrays list --certificate FOLDER/a.txt", "RV703"),
        ("check MINE:lossy --arrays list --scope seconds=0 --certificate FOLDER/a.json", "RV701"),
        ("check --planted toy_models/sound --certificate FOLDER/a.json", "RV106"),
    ],
)
def test_what_cannot_be_certified(
    arguments: str, code: str, mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments.replace("MINE", mine).replace("FOLDER", str(tmp_path)).split()
    assert run(words) == (2 if code else 0)
    assert code in capsys.readouterr().err
    assert bool(list(tmp_path.glob("a.*"))) == (not code)


def test_a_case_with_too_many_paths_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_verify.foreign.paths_certificate.MOST_PATHS", 3)
    with pytest.raises(InputError, match="RV702"):
        list(islice(endless_paths(), 2))


def test_the_first_cases_are_stated() -> None:
    """Of a check that holds as many cases as there is room for, and no gaps."""
    with keeping(40) as kept:
        report = check_verifier(VERIFIERS[0], arrays="list", scope=Scope.read("small"))
    certificate = paths_certificate(report, kept.cases)
    assert 1 < len(certificate.cases) < report.cases
    assert sum(len(case.paths) for case in certificate.cases) <= 40
    checker().check(paths_report.to_data(certificate))
    assert (
        certificate.stated()
        == f" of the first {len(certificate.cases)} of {report.cases:,} cases (the others are not in it)"
    )


def test_nothing_is_kept_unasked() -> None:
    with keeping(10) as kept:
        pass
    check_verifier(VERIFIERS[0], arrays="list", case=by_position([distribution([1, 1])] * 2, [distribution([1, 1])]))
    assert kept.cases == []


def test_a_path_breaks_a_contract_once() -> None:
    """The verifier writes into two of its arguments: on every path, hence with probability one, not two."""
    rows = [distribution([1, 2]), distribution([2, 1])]
    report = check_verifier(VERIFIERS[-1], arrays="list", case=by_position(rows, rows[:1]))
    assert {finding.code: finding.probability for finding in report.findings}["RV410"] == 1
