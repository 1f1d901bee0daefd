"""Certificates: two checkers that share no code with the package agree with it, and reject what was tampered with."""

from __future__ import annotations

import ast
import copy
import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from rheo_verify.checks.acceptance import layer_at, layer_rates
from rheo_verify.checks.certificate import Certificate, certificate_of
from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.rationals import ratio
from rheo_verify.report.certificate_json import to_data, to_json
from rheo_verify.report.certificate_rocq import body, prelude, to_rocq
from rheo_verify.verification.rules import layer_rule
from tests.certificates import CHECKER, CORRUPTIONS, checker, coq, coqc, random_certificates, refused, rejected, told


@pytest.mark.parametrize("name", ["check_certificate", "check_acceptance", "check_paths"])
def test_the_checkers_stand_alone(name: str) -> None:
    source = CHECKER.with_name(f"{name}.py").read_text()
    assert len(source.splitlines()) < 150
    imported = {
        (alias.name if isinstance(node, ast.Import) else node.module or "").partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert imported <= set(sys.stdlib_module_names)


def test_a_hundred_random_verdicts() -> None:
    verdicts: Counter[tuple[Verdict, str]] = Counter()
    for certificate in random_certificates(100):
        checker().check(json.loads(to_json(certificate)))
        verdicts[certificate.verdict, certificate.growth] += 1
    assert verdicts[Verdict.VERIFIED, "eager"] >= 30
    assert verdicts[Verdict.REFUTED, "eager"] >= 25


def test_growth_by_classes_is_rechecked_lazily() -> None:
    for seed in range(12):
        design = TreeDesign(lead=seed % 3, pool=3 + seed % 2, budget=5)
        result = enumerate_design(random_model(5, seed), design, layer_rule("rheo"), method="classes")
        certificate = certificate_of(result)
        assert certificate.growth == "lazy"
        checker().check(json.loads(to_json(certificate)))


def test_a_layer_rate_is_certified_by_the_tree_of_depth_one() -> None:
    """What `acceptance` says of n candidates: the tokens per cycle, minus one, of the tree D = 1, K = R = n."""
    for seed in range(12):
        model = random_model(4, seed, largest=3)
        lead, count = seed % 3, 2 + seed % 2
        rates = layer_rates(layer_at(model, (), lead, count))
        for rule, rate in (("rheo", rates.rheo), ("rrsw", rates.rrsw), ("topk", None)):
            design = TreeDesign(lead=lead, pool=count, depth=1, budget=count)
            certificate = certificate_of(enumerate_design(model, design, layer_rule(rule)))
            checker().check(json.loads(to_json(certificate)))
            assert rate is None or certificate.tokens_per_cycle - 1 == rate


def test_lazy_growth_is_refused_where_it_would_repair_a_design() -> None:
    table = enumerate_design(random_model(3, 2), TreeDesign(depth=1, budget=2, proxy="raw"), layer_rule("rheo"))
    data = to_data(certificate_of(table))
    checker().check(copy.deepcopy(data))
    with pytest.raises(ValueError, match="lazy growth is not valid"):
        checker().check({**data, "growth": "lazy"})


def test_corrupted_certificates_are_rejected() -> None:
    """Each of the corruptions on many certificates: some 110, every one rejected."""
    dice = random.Random(5)
    corrupted = 0
    for certificate in random_certificates(7, seed=11):
        for corrupt in CORRUPTIONS:
            data = to_data(certificate)
            corrupt(data, dice)
            assert rejected(json.loads(json.dumps(data))), corrupt
            corrupted += 1
    assert corrupted >= 100


def lies(certificate: Certificate) -> list[Certificate]:
    """The same certificate with one claim false."""
    third = ratio(1, 3)
    classes, emitted = dict(certificate.classes), dict(certificate.emitted)
    tree, tokens = next(iter(classes)), next(iter(emitted))
    opposite = Verdict.VERIFIED if certificate.verdict is Verdict.REFUTED else Verdict.REFUTED
    target = certificate.rows["target"]
    turned = (*target[()][1:], target[()][0])
    return [
        replace(certificate, verdict=opposite),
        replace(certificate, budgets=(certificate.budgets[0] + third, *certificate.budgets[1:])),
        replace(certificate, tokens_per_cycle=certificate.tokens_per_cycle + third),
        replace(certificate, classes={**classes, tree: classes[tree] / 2}),
        replace(certificate, emitted={**emitted, tokens: emitted[tokens] / 2}),
        replace(certificate, rows={**certificate.rows, "target": {**target, (): turned}}),
        replace(certificate, rows={**certificate.rows, "draft": {}}),
    ]


@coq
def test_rocq_agrees_and_rejects(tmp_path: Path) -> None:
    """Eight verdicts in one file of modules; then the same with one lie in it, which must not compile."""
    honest = list(random_certificates(8, seed=3, most=30, depth=2))
    assert {it.verdict for it in honest} == {Verdict.VERIFIED, Verdict.REFUTED}
    modules = [f"Module C{i}.\n{body(it)}\nEnd C{i}.\n" for i, it in enumerate(honest)]
    done = coqc(prelude() + "\n".join(modules), tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split("\n")) == {"Closed under the global context", ""}
    for lie in lies(honest[1])[:2]:
        assert coqc(prelude() + body(lie), tmp_path, "lie").returncode != 0


@coq
@pytest.mark.slow
def test_rocq_on_a_hundred_verdicts(tmp_path: Path) -> None:
    honest = list(random_certificates(100, seed=8, most=80, depth=2))
    modules = [f"Module C{i}.\n{body(it)}\nEnd C{i}.\n" for i, it in enumerate(honest)]
    done = coqc(prelude() + "\n".join(modules), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Axioms" not in done.stdout


@coq
@pytest.mark.slow
def test_rocq_rejects_a_hundred_lies(tmp_path: Path) -> None:
    made = random_certificates(40, seed=21, most=30, depth=2)
    some = [it for it in made if len(set(it.rows["target"][()])) > 1 and it.rows["draft"]][:15]
    false = [body(lie) for certificate in some for lie in lies(certificate)]
    assert len(false) >= 100
    refused(prelude(), map(body, some), false, tmp_path)


@coq
def test_a_truth_among_the_lies_is_noticed(tmp_path: Path) -> None:
    """The test above can fail: on a certificate that holds and is taken for a lie, and on a lie taken for honest."""
    (some,) = random_certificates(1, seed=3, most=30, depth=1)
    assert coqc(prelude() + told(body(some), "A", lie=True), tmp_path).returncode != 0
    assert coqc(prelude() + told(body(lies(some)[0]), "A"), tmp_path).returncode != 0


@coq
@pytest.mark.slow
def test_rocq_on_six_tokens_and_a_hundred_classes(tmp_path: Path) -> None:
    certificate = certificate_of(enumerate_design(random_model(6, 0), TreeDesign(budget=8), layer_rule("rheo")))
    assert len(certificate.classes) >= 100
    done = coqc(to_rocq(certificate), tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split("\n")) == {"Closed under the global context", ""}


@pytest.mark.parametrize("ending", ["json", "v"])
def test_the_command_writes_a_certificate(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"table-1.{ending}"
    arguments = ["enumerate", "--model", "table-1", "--budget", "2", "--depth", "1", "--proxy", "1/4"]
    assert run([*arguments, "--certificate", str(path)]) == 1
    out, err = capsys.readouterr()
    assert "REFUTED" in out
    assert "recheck it with" in err
    if ending == "json":
        done = subprocess.run([sys.executable, "-I", CHECKER, path], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "every number holds" in done.stdout
        path.write_text(path.read_text().replace('"4/25"', '"0"'))
        done = subprocess.run([sys.executable, "-I", CHECKER, path], capture_output=True, text=True)
        assert done.returncode == 1
        assert "REJECTED" in done.stderr
    else:
        written = path.read_text()
        assert "(4 # 25)" in written
        assert written.partition("(* Claims *)")[0].endswith(prelude() + "\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--cycles", "2", "--depth", "1", "--vocab", "2", "--certificate", "FOLDER/a.json"], "RV701"),
        (["--vocab", "6", "--proxy", "raw", "--certificate", "FOLDER/a.json"], "RV702"),
        (["--vocab", "2", "--depth", "1", "--certificate", "FOLDER/a.txt"], "RV703"),
        (["--vocab", "2", "--depth", "1", "--certificate", "FOLDER/missing/a.v"], "RV703"),
    ],
)
def test_what_cannot_be_certified(
    arguments: list[str], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["enumerate", *(word.replace("FOLDER", str(tmp_path)) for word in arguments)]) == 2
    assert code in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_large_certificate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    result = enumerate_design(random_model(4, 0), TreeDesign(), layer_rule("rheo"))
    monkeypatch.setattr("rheo_verify.checks.certificate.MOST_WORK", len(result.classes()) * 6 - 1)
    with pytest.raises(InputError, match="RV702"):
        certificate_of(result)
