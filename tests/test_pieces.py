"""Work in pieces: who does it, what dies meanwhile and what is kept change no answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from rheo_verify.drafting import all_trees, expansion
from rheo_verify.drafting.all_trees import enumerate_trees
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.model import Model
from rheo_verify.models.random_tables import random_model
from rheo_verify.pieces import Job, Store, Workers, results
from tests.clocks import ticking
from tests.instances import instances

LOKY = Workers("loky", jobs=2)


def square(shared: int, piece: int) -> int:
    return shared * piece * piece


def die_once(shared: str, piece: int) -> int:
    """Piece 3 kills the process that does it, the first time."""
    flag = Path(shared, "died")
    if piece == 3 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def die(shared: None, piece: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def wrong(shared: None, piece: int) -> int:
    raise InputError("RV106", f"piece {piece} is wrong")


def numbered(name: str, do: Any, shared: Any, count: int) -> Job:
    return Job(name, [name, str(shared)], do, shared, list(range(count)))


@pytest.mark.parametrize("workers", [Workers(), Workers("loky", jobs=1), LOKY, Workers("loky", jobs=3)])
def test_results_come_in_the_order_of_the_pieces(workers: Workers) -> None:
    assert list(results(numbered("squares", square, 2, 200), workers)) == [(i, 2 * i * i) for i in range(200)]


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    job = numbered("deaths", die_once, str(tmp_path), 40)
    assert [result for _, result in results(job, LOKY)] == list(range(40))
    assert (tmp_path / "died").exists()


def test_workers_that_die_while_nothing_is_asked_of_them() -> None:
    from joblib.externals.loky import get_reusable_executor

    found = results(numbered("squares", square, 1, 100), LOKY)
    first = next(found)
    time.sleep(1)
    for process in list(get_reusable_executor(max_workers=2)._processes.values()):
        os.kill(process.pid, signal.SIGKILL)
    time.sleep(0.5)
    assert [first, *found] == [(i, i * i) for i in range(100)]


def late_or_wrong(shared: None, piece: int) -> int:
    if piece == 5:
        raise InputError("RV106", "piece 5 is wrong")
    time.sleep(0.2 if piece == 0 else 0)
    return piece


def test_an_error_waits_for_its_turn() -> None:
    found = results(numbered("late", late_or_wrong, None, 20), Workers("loky", jobs=3))
    assert list(islice(found, 5)) == [(piece, piece) for piece in range(5)]
    with pytest.raises(InputError, match="piece 5 is wrong"):
        next(found)


def test_workers_that_always_die_are_given_up() -> None:
    with pytest.raises(InputError, match="RV803"):
        list(results(numbered("deaths", die, None, 4), LOKY))


@pytest.mark.parametrize("workers", [Workers(), LOKY])
def test_errors_and_limits_come_through(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="piece 0 is wrong"):
        list(results(numbered("wrong", wrong, None, 1), workers))
    clock = ticking(monkeypatch)
    with pytest.raises(LimitReached, match="RV201"):
        list(results(numbered("squares", square, 1, 200), workers, Limits(deadline=3)))
    assert clock.looks == 4


def test_finished_pieces_are_found_again(tmp_path: Path) -> None:
    job = numbered("squares", square, 3, 10)
    first = list(results(job, Workers(), store=Store(tmp_path)))
    again = Job(job.name, job.question, wrong, None, job.pieces)  # raises if anything is done again
    assert list(results(again, Workers(), store=Store(tmp_path))) == first
    assert list(results(again, LOKY, store=Store(tmp_path))) == first
    other = Job(job.name, [*job.question, "another"], square, 5, job.pieces)
    assert list(results(other, Workers(), store=Store(tmp_path))) == [(i, 5 * i * i) for i in range(10)]


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob("??/*.json"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "not whole JSON"),
        (lambda text: text.replace('"result":75', '"result":76'), "its digest differs"),
        (lambda text: text.replace("finished-piece", "something-else"), "another program"),
        (lambda text: "[]", "is damaged"),
        (lambda text: json.dumps({"result": json.loads(text)["result"]}), "is damaged"),
        (lambda text: json.dumps({**json.loads(text), "key": "0" * 64}), "belongs to another piece"),
    ],
)
def test_a_damaged_piece_is_refused_by_name(tmp_path: Path, damage: Any, message: str) -> None:
    job = numbered("squares", square, 3, 6)
    list(results(job, Workers(), store=Store(tmp_path)))
    path = next(path for path in _files(tmp_path) if '"result":75' in path.read_text())
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError, match=message) as caught:
        list(results(job, Workers(), store=Store(tmp_path)))
    assert path.name in caught.value.message
    assert caught.value.code == "RV801"


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(InputError, match=r"has files but no rheo_verify-checkpoint\.json"):
        Store(tmp_path)
    (tmp_path / "rheo_verify-checkpoint.json").write_text("{}")
    with pytest.raises(InputError, match="another version or another program"):
        Store(tmp_path)
    (tmp_path / "rheo_verify-checkpoint.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Store(tmp_path)
    with pytest.raises(InputError, match=r"RV801.*cannot be used"):
        Store(tmp_path / "holiday.jpg")


@given(instances(most=200))
@settings(max_examples=40)
def test_trees_in_pieces_are_all_trees(instance: tuple[Model, TreeDesign]) -> None:
    model, design = instance
    whole = enumerate_trees(model, (), design)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_trees, "TREES_A_PIECE", 7)
        patch.setattr(all_trees, "MOST_BEGUN", 12)
        patch.setattr(expansion, "ROWS_AT_ONCE", 5)
        all_trees._KNOWN.clear()
        pieces = enumerate_trees(model, (), design, workers=Workers("loky", jobs=1))
        all_trees._KNOWN.clear()
    assert (pieces.classes, pieces.formed, pieces.trees) == (whole.classes, whole.formed, whole.trees)
    assert list(pieces.classes) == list(whole.classes)
    assert pieces.not_ancestor_closed == whole.not_ancestor_closed


def test_a_piece_reaches_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """81 unfinished trees in many chunks, in pieces of a few."""
    model, design = random_model(4, 0), TreeDesign(depth=3)
    whole = enumerate_trees(model, (), design)
    monkeypatch.setattr(all_trees, "TREES_A_PIECE", 300)
    monkeypatch.setattr(expansion, "ROWS_AT_ONCE", 10)
    all_trees._KNOWN.clear()
    pieces = enumerate_trees(model, (), design, workers=Workers("loky", jobs=1))
    assert (pieces.classes, pieces.formed, pieces.trees) == (whole.classes, whole.formed, whole.trees)
    all_trees._KNOWN.clear()


def test_pieces_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    """Whole and well-formed, at the right address, but not what this program would have written there."""
    model, design, store = random_model(4, 0), TreeDesign(depth=2), Store(tmp_path)
    table = all_trees.node_table(model, (), design)
    job = all_trees._job(table, None)
    for wrong in ({"trees": 0}, {"classes": []}):
        for piece in job.pieces:
            store.put(job, piece, {**job.do(job.shared, piece), **wrong})
        with pytest.raises(InputError, match=r"RV801.*do not add up"):
            enumerate_trees(model, (), design, store=store)


def test_processes_form_the_same_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_trees, "TREES_A_PIECE", 5_000)
    model, design = random_model(6, 0), TreeDesign()
    whole, halves = enumerate_trees(model, (), design), enumerate_trees(model, (), design, workers=LOKY)
    assert (whole.classes, whole.formed, whole.trees) == (halves.classes, halves.formed, halves.trees)


KILLED_AFTER_TWO_PIECES = """
import os, signal, sys
from rheo_verify.cli.main import run
from rheo_verify.pieces import Store

put, done = Store.put, []

def put_and_die(*arguments):
    put(*arguments)
    done.append(arguments)
    if len(done) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

Store.put = put_and_die
run(sys.argv[1:])
"""


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """`kill -9` in the middle; what was finished is found, and the output is the same to the byte."""
    command = [sys.executable, "-m", "rheo_verify", "enumerate", "--vocab", "6", "--depth", "4", "--seed", "5"]
    command += ["--method", "exhaustive", "--json", "--jobs", "1"]
    straight = subprocess.run(command, capture_output=True, text=True)
    dying = [sys.executable, "-c", KILLED_AFTER_TWO_PIECES, *command[3:], "--checkpoint", str(tmp_path)]
    assert subprocess.run(dying, stdout=subprocess.DEVNULL).returncode == -signal.SIGKILL
    kept = {path: path.stat().st_mtime_ns for path in _files(tmp_path)}
    assert len(kept) == 2
    again = subprocess.run([*command, "--checkpoint", str(tmp_path)], capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (straight.returncode, straight.stdout)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(_files(tmp_path)) > len(kept)


def test_memory_is_bounded_by_flag() -> None:
    """A process that holds more than it may ends as INCONCLUSIVE, with the counts so far."""
    command = [sys.executable, "-m", "rheo_verify", "enumerate", "--vocab", "6", "--depth", "4"]
    command += ["--method", "exhaustive", "--memory-limit"]
    small = subprocess.run([*command, "1M"], capture_output=True, text=True)
    assert small.returncode == 3
    assert "the memory limit of 1 MiB was reached" in small.stdout
    smaller = subprocess.run([*command, "1K"], capture_output=True, text=True)
    assert "the memory limit of 1 KiB was reached" in smaller.stdout
    wrong = subprocess.run([*command, "many"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "--memory-limit 'many' must be a size" in wrong.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "dask"}, "belong together"),
        ({"scheduler": "tcp://a:1"}, "belong together"),
        ({"backend": "loky", "jobs": 0}, "--jobs 0"),
        ({"backend": "threads"}, "backend must be"),
    ],
)
def test_workers_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Workers(**options)
