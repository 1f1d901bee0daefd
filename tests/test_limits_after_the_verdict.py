"""Work after a verdict keeps to the limits, too: walks, pages, pictures, certificates; and `acceptance` at any size."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rheo_verify.checks.acceptance import candidate_sets, layer_at
from rheo_verify.checks.certificate import certificate_of
from rheo_verify.checks.class_walks import class_walks, counterexample
from rheo_verify.checks.enumeration import Enumeration, enumerate_design
from rheo_verify.checks.optimal import largest_flow, optimal_acceptance
from rheo_verify.checks.static_optimum import best_tokens_per_cycle, heaviest_plan
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.rationals import ONE
from rheo_verify.report import enumeration as report
from rheo_verify.report.html.enumeration import to_html
from rheo_verify.report.html.pictures import class_svg
from rheo_verify.report.text import Style
from rheo_verify.verification.rules import layer_rule
from tests.clocks import ticking

OVER = 0.0


@dataclass
class Steps(Limits):
    """Limits that end after so many looks at the clock."""

    steps: int = 0

    def check_time(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise LimitReached("RV201", "the time limit was reached", self.covered)


def lossy(cycles: int = 1) -> Enumeration:
    model, design = random_model(4, 3), TreeDesign(budget=3, depth=2, proxy="raw")
    found = enumerate_design(model, design, layer_rule("rheo"), cycles=cycles)
    assert found.verdict is Verdict.REFUTED
    return found


def test_walks_end_at_the_limit() -> None:
    result = lossy()
    assert counterexample(result) is not None
    with pytest.raises(LimitReached):
        counterexample(result, limits=Limits(deadline=OVER))
    with pytest.raises(LimitReached):
        next(class_walks(result, 1, Limits(deadline=OVER)))


def test_a_later_cycle_is_enumerated_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Limits | None] = []

    def spy(*arguments: object, limits: Limits | None = None, **named: object) -> Enumeration:
        given.append(limits)
        return lossy()

    result = lossy()
    assert result.blame is not None
    later = replace(result, blame=replace(result.blame, context=(0,)))
    monkeypatch.setattr("rheo_verify.checks.class_walks.enumerate_design", spy)
    limits = Limits(deadline=time.monotonic() + 100)
    assert counterexample(later, limits=limits) is not None
    assert given == [limits]


def test_pages_say_that_they_are_not_whole() -> None:
    result = lossy()
    whole = to_html(result, "s", "command")
    assert "step by step.</p>" not in whole
    none = to_html(result, "s", "command", Limits(deadline=OVER))
    assert "The time limit was reached before all of the classes were told step by step." in none
    assert "The counterexample may not be among them" in none
    part = to_html(result, "s", "command", Steps(steps=2))
    assert "told step by step" in part
    assert len(none) < len(part) < len(whole)


def test_pictures_texts_and_certificates_keep_to_the_limits() -> None:
    result, over = lossy(), Limits(deadline=OVER)
    with pytest.raises(LimitReached):
        class_svg(result, "command", over)
    with pytest.raises(LimitReached):
        certificate_of(result, over)
    assert "walk through it: " in report.to_text(result, "s", Style())
    assert "walk through it: " not in report.to_text(result, "s", Style(), over)
    assert '"replay": null' in report.to_json(result, "s", over)


@pytest.fixture
def over_after_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is reached once the verdict is there."""
    from rheo_verify.checks import enumeration

    whole = enumeration.enumerate_design

    def then_over(*arguments: object, limits: Limits, **named: object) -> Enumeration:
        found = whole(*arguments, limits=limits, **named)  # type: ignore[arg-type]
        limits.deadline = OVER
        return found

    monkeypatch.setattr(enumeration, "enumerate_design", then_over)


TABLE_1 = ["enumerate", "--model", "table-1", "--depth", "1", "--budget", "2", "--proxy", "1/4"]


@pytest.mark.usefixtures("over_after_the_verdict")
@pytest.mark.parametrize("loudness", [[], ["--quiet"]])
def test_a_verdict_stands_where_its_files_take_too_long(
    loudness: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer stands, and what is missing is said; no older file stands in its place."""
    page, picture, certificate = (tmp_path / f"it.{it}" for it in ("html", "svg", "json"))
    for older in (page, picture, certificate):
        older.write_text("of another run")
    files = ["--html", str(page), "--svg", str(picture), "--certificate", str(certificate)]
    assert run([*TABLE_1, "--time-limit", "60", *files, *loudness]) == 1
    out, err = capsys.readouterr()
    assert "REFUTED" in out
    for name in ("it.svg", "it.json"):
        assert f"{name}: not written: the time limit was reached" in err
    assert err.count("; the older file of that name was removed") == 2
    assert "told step by step" in page.read_text()
    assert not picture.exists()
    assert not certificate.exists()


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("enumerate --vocab 6 --max-trees 1", ["svg", "certificate"]),
        ("acceptance --time-limit 1e-9", ["certificate"]),
        ("acceptance compare --time-limit 1e-9", ["certificate"]),
        ("acceptance compare --time-limit 1e-9", ["plot"]),
    ],
)
def test_without_an_answer_no_older_file_stays(
    command: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / f"{name}.{'json' if name == 'certificate' else 'svg'}" for name in names}
    for older in files.values():
        older.write_text("of another run")
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    assert run([*command.split(), *words, "--quiet"]) == 3
    err = capsys.readouterr().err
    for name, path in files.items():
        assert f"--{name} {path}: not written: there is no answer; the older file of that name was removed" in err
        assert not path.exists()


@pytest.mark.parametrize(
    ("command", "last"),
    [
        ("enumerate --vocab 3", "enumeration.to_text"),
        ("acceptance --vocab 3", "acceptance.layer_text"),
        ("acceptance compare --vocab 3", "acceptance.compare_text"),
    ],
)
def test_an_interrupt_leaves_what_this_run_has_written(
    command: str, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"rheo_verify.report.{last}", interrupt)
    certificate = tmp_path / "it.json"
    certificate.write_text("of another run")
    assert run([*command.split(), "--certificate", str(certificate)]) == 3
    assert "not written" not in capsys.readouterr().err
    assert certificate.read_text().startswith("{")


def test_a_file_that_cannot_be_removed_is_called_older(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    (tmp_path / "it.json").write_text("of another run")
    monkeypatch.setattr("rheo_verify.cli.files.os.unlink", refuse)
    assert run(["acceptance", "--time-limit", "1e-9", "--certificate", str(tmp_path / "it.json")]) == 3
    assert "is an OLDER one, and cannot be removed (Permission denied)" in capsys.readouterr().err


@pytest.mark.parametrize("looks", [0.5, 1.5, 2.5, 10, 100])
def test_acceptance_of_a_large_vocabulary_ends_at_its_limit(
    looks: float, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ticking(monkeypatch)
    assert run(["acceptance", "--vocab", "2000", "--time-limit", str(looks)]) == 3
    assert clock.looks <= looks + 2
    assert "RV201" in capsys.readouterr().err


def test_absurd_layers_are_refused_by_their_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["acceptance", "--vocab", "30000", "--k", "2000"]) == 2
    assert "RV108" in (said := capsys.readouterr().err)
    assert "59,998,000 tokens together" in said
    with pytest.raises(InputError, match="RV108"):
        candidate_sets(layer_at(random_model(3000, 0), (), 1, 1500))


def test_sets_together_have_the_optimum_of_sets_apart() -> None:
    """Tokens of one set alone are served first: the flow is as large, and its cut proves it, for any vocabulary."""
    for seed in range(30):
        layer = layer_at(random_model(24 + seed % 3, seed, zeros=seed % 9), (), seed % 3, 2 + seed % 5)
        optimum = optimal_acceptance(layer)
        assert optimum.verdict() is Verdict.VERIFIED
        assert optimum.cut_value == optimum.rate


def test_a_layer_of_leaves_is_a_flow() -> None:
    """The fast path of the best tau against its twin, the plan of largest weight."""
    for seed in range(20):
        layer = layer_at(random_model(5, seed, zeros=seed % 6), (), seed % 2, 2 + seed % 3)
        sets = candidate_sets(layer)
        tuples = {tuple(sorted(chosen)): mass for chosen, mass in sets.items()}
        worth = {(chosen, token): ONE for chosen in tuples for token in chosen}
        assert heaviest_plan(layer.target, tuples, worth) == largest_flow(layer.target, sets).rate


def test_the_best_of_a_static_tree_looks_at_the_clock() -> None:
    topology = frozenset({(1,), (2,)})
    design = TreeDesign(depth=1, budget=2, pool=2)
    assert best_tokens_per_cycle(random_model(3, 0), (), design, topology) > 1
    with pytest.raises(LimitReached):
        best_tokens_per_cycle(random_model(3, 0), (), design, topology, Limits(deadline=OVER))
