"""The proofs: the registry is complete and current, every kind of check can fail, and what cannot run is said."""

from __future__ import annotations

import ast
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rheo_verify.checks import rocq
from rheo_verify.checks.proofs import load, prove
from rheo_verify.checks.rocq import check_theorems, statement
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.cli.settings import interrupting
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.verification import rheo
from rheo_verify.verification.layer import LayerRule

ROOT = Path(__file__).parent.parent
ROCQ = ROOT / "proofs" / "rocq"
CLAIMS = {claim.id: claim for claim in load("registry").CLAIMS}
IDS = (
    "sampled-outranks-fill",
    "scores-never-increase",
    "slot-determinism",
    "layer-lossless",
    "lossless",
    "acceptance-rheo",
    "acceptance-rrsw",
    "rheo-versus-rrsw",
    "single-draft-rates",
    "top-k-imperfect",
    "table-1",
    "raw-score-ranking",
    "cold-limit",
    "support-truncation",
    "adapted-growth",
    "eager-equals-lazy",
    "blame",
    "tie-rule",
    "residual-mass-rounding",
    "optimal-acceptance",
    "pruned-optimum",
)
coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed (Debian: apt install coq)")
TINY = """
Section S.
Variable n : nat.
Hypothesis positive : 0 < n.
Theorem fine : n = n. Proof. reflexivity. Qed.
Theorem uses : 0 < n. Proof. exact positive. Qed.
End S.
Axiom wish : 0 = 1.
Theorem assumed : 0 = 1. Proof. exact wish. Qed.
"""


def refuted() -> type[Exception]:
    kind: type[Exception] = load("check").Refuted
    return kind


def broken_law(target: Any, candidates: Any, laws: Any) -> tuple[Any, Any]:
    """`rheo`, but the sampled candidate is accepted half as often as it may be."""
    accept, residual = rheo.law(target, candidates, laws)
    return accept, residual + residual


def test_every_claim_has_an_entry_with_a_check() -> None:
    assert sorted(CLAIMS) == sorted(IDS)
    for claim in CLAIMS.values():
        assert claim.rocq or claim.checks
        assert claim.rocq or claim.missing, f"{claim.id}: say what is not proved"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_what_the_registry_names_exists(claim: Any) -> None:
    for name in [*(check for _, check in claim.checks), *claim.beside, *claim.rocq]:
        module, colon, function = name.partition(":")
        if not colon:
            assert statement(ROCQ, name)[1], f"no theorem {name}"
            continue
        source = ast.parse((ROOT / "proofs" / f"{module.replace('.', '/')}.py").read_text())
        assert function in {node.name for node in source.body if isinstance(node, ast.FunctionDef)}, name


def test_every_final_theorem_belongs_to_a_claim() -> None:
    final = set(re.findall(r"^Print Assumptions (\w+)\.$", (ROCQ / "Assumptions.v").read_text(), re.MULTILINE))
    assert final == {name for claim in CLAIMS.values() for name in (*claim.rocq, *claim.beside) if ":" not in name}


def test_the_wheel_ships_every_source_and_no_compiled_file() -> None:
    """A compiled Rocq file that comes with the wheel would be taken for checked."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shipped = set(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"])
    folder = {str(path.relative_to(ROOT)) for path in ROOT.glob("proofs/*.*") if path.suffix in (".py", ".md")}
    sources = {str(path.relative_to(ROOT)) for path in ROCQ.iterdir() if path.suffix in (".v", ".md", ".sh")}
    extras = {"proofs/bounded", "proofs/symbolic", "proofs/rocq/Makefile", "proofs/rocq/_CoqProject"}
    assert {path for path in shipped if path.startswith("proofs")} == folder | sources | extras


def test_pages_are_current() -> None:
    pages = pytest.importorskip("proofs.pages")
    how = "run python -m proofs.pages"
    assert (ROOT / "proofs" / "README.md").read_text() == pages.readme(), how
    assert (ROOT / "docs" / "reference" / "claims.md").read_text() == pages.claims_page(), how


def test_a_claim_at_level_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "table-1", "--level", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["verdict"]) == ("rheo_verify/prove", "VERIFIED")
    (claim,) = data["claims"]
    assert (claim["claim"], claim["level"]) == ("table-1", 1)
    assert claim["checks"][0]["checker"].startswith("rheo_verify ")


def test_a_failing_check_is_refuted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> str:
        raise refuted()("here is one")

    monkeypatch.setattr(load("bounded.instances"), "paper_table", fails)
    assert run(["prove", "table-1", "--level", "1"]) == 1
    assert "FAILS: here is one" in " ".join(capsys.readouterr().out.split())


def test_what_is_not_installed_is_never_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.delitem(sys.modules, "rheo_verify_proofs.symbolic.solver", raising=False)
    assert run(["prove", "tie-rule", "--level", "3"]) == 3
    out = capsys.readouterr().out
    assert "NOT RUN: coqc is not installed" in " ".join(out.split())
    assert run(["prove", "rheo-versus-rrsw", "--level", "2"]) == 3
    out = capsys.readouterr().out
    assert "NOT RUN: z3-solver is not installed" in " ".join(out.split())


def test_a_claim_without_a_check_at_a_level_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "blame", "--level", "2"]) == 3
    assert "none was checked" in capsys.readouterr().out


def test_a_counterexample_beside_has_the_level_of_its_check(capsys: pytest.CaptureFixture[str]) -> None:
    """Random rows are level 0 wherever they stand, and never raise the level of the claim that they stand beside."""
    assert run(["prove", "sampled-outranks-fill", "--level", "0", "--json"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert claim["level"] is None
    assert [(it["level"], it["counterexample_beside"]) for it in claim["checks"]] == [(0, True)]


def test_a_time_limit_in_a_thread_is_looked_at_between_checks(capsys: pytest.CaptureFixture[str]) -> None:
    """Signals are for the main thread alone."""
    codes: list[int] = []
    for seconds in ("60", "1e-9"):
        thread = threading.Thread(
            target=lambda: codes.append(run(["prove", "table-1", "--level", "1", "--time-limit", seconds]))  # noqa: B023
        )
        thread.start()
        thread.join()
    assert codes == [0, 3]
    assert "RV201" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")
def test_a_limit_rings_once_and_leaves_the_clean_up_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    timers = []

    def work() -> None:
        try:
            time.sleep(60)
        finally:
            timers.append(signal.getitimer(signal.ITIMER_REAL))

    with pytest.raises(LimitReached), interrupting(Limits(time.monotonic() + 0.2)):
        work()
    assert timers == [(0.0, 0.0)]
    assert signal.getsignal(signal.SIGALRM) == before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")
def test_a_ring_before_the_deadline_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer and the clock need not agree."""
    monkeypatch.setattr("rheo_verify.cli.settings.time", SimpleNamespace(monotonic=lambda: time.monotonic() + 100))
    with pytest.raises(LimitReached), interrupting(Limits(time.monotonic() + 0.3)):
        time.sleep(60)


def test_a_program_that_has_ended_need_not_be_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends the waiting may come after the program's own end."""
    whole = subprocess.Popen.communicate

    def ended(process: Any, *arguments: Any, **named: Any) -> Any:
        whole(process, *arguments, **named)
        raise LimitReached("RV201", "the time limit was reached", "")

    monkeypatch.setattr(subprocess.Popen, "communicate", ended)
    with pytest.raises(LimitReached):
        rocq._run([sys.executable, "-c", ""], Path.cwd())


def test_unknown_claims_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "theorem-1"]) == 2
    assert "RV705" in capsys.readouterr().err


@coq
def test_axioms_and_missing_theorems_are_found(tmp_path: Path) -> None:
    (tmp_path / "Tiny.v").write_text(TINY)
    (tmp_path / "Makefile").write_text("all:\n\tcoqc -Q . RheoVerify Tiny.v\n")
    answers = check_theorems(tmp_path, ["fine", "assumed", "nowhere"])
    assert {name: answer.verdict for name, answer in answers.items()} == {
        "fine": Verdict.VERIFIED,
        "assumed": Verdict.REFUTED,
        "nowhere": Verdict.REFUTED,
    }
    assert "wish" in answers["assumed"].text
    (tmp_path / "Tiny.v").write_text(TINY.replace("0 < n. Proof. exact positive", "0 < S n. Proof. exact positive"))
    assert check_theorems(tmp_path, ["fine"])["fine"].verdict is Verdict.REFUTED


def test_a_statement_is_shown_with_what_its_sections_assume(tmp_path: Path) -> None:
    (tmp_path / "Tiny.v").write_text(TINY)
    assert statement(tmp_path, "uses") == (
        ("Variable n : nat.", "Hypothesis positive : 0 < n."),
        "Theorem uses : 0 < n.",
    )
    assert statement(tmp_path, "assumed") == ((), "Theorem assumed : 0 = 1.")


def test_sweeps_find_a_broken_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = load("bounded.layers")
    monkeypatch.setattr(layers, "layer_rule", lambda name: LayerRule(name, rheo.verify, broken_law))
    with pytest.raises(refuted()):
        layers.layers_emit_the_target()


def test_sweeps_of_layers_hold() -> None:
    assert "13,458 layers" in load("bounded.layers").layers_emit_the_target()
    load("bounded.instances").half_precision()


def test_symbols_prove_and_refute() -> None:
    pytest.importorskip("sympy")
    layers = load("symbolic.layers")
    assert "all real" in layers._all_sizes(rheo, [(3, 0, 1), (4, 1, 1)])
    with pytest.raises(refuted()):
        layers._all_sizes(SimpleNamespace(law=broken_law, __name__="broken"), [(3, 0, 0)])


def test_worlds_are_all_sign_patterns() -> None:
    pytest.importorskip("sympy")
    execution = load("symbolic.execution")
    _, (x, y) = execution.symbols("x", "y")

    def compare(world: Any) -> tuple[bool, bool, bool]:
        a, b = execution.Number(x, world), execution.Number(y, world)
        return a > 0, b > a, a >= b

    found = [result for _, result in execution.worlds(compare)]
    assert sorted(found) == [(a, b, not b) for a in (False, True) for b in (False, True)]


def test_the_solver_finds_the_broken_variants() -> None:
    pytest.importorskip("z3", reason="z3 is not installed: pip install '.[proofs]'")
    solver = load("symbolic.solver")
    for check in (solver.one_draft, solver.another_law, solver.target_for_residual, solver.lead_after_the_draw):
        assert check()


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_all_claims(level: int) -> None:
    for answer in prove(CLAIMS.values(), level):
        for step in answer.steps:
            assert step.verdict is Verdict.VERIFIED, step
