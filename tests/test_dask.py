"""The same pieces on a Dask cluster: two worker processes of this machine, one of which is killed while it works."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.errors import InputError
from rheo_verify.pieces import Job, Store, Workers, results

pytestmark = pytest.mark.slow
pytest.importorskip("distributed", reason="distributed is not installed: pip install '.[dask]'")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


def work(shared: str, piece: int) -> int:
    """Say who is at work, and take a while."""
    Path(shared, str(os.getpid())).touch()
    time.sleep(0.05)
    return piece * piece


def test_a_killed_worker_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.mkdir()
    killed: list[int] = []

    def kill_one() -> None:
        while not killed:
            for name in names.iterdir():
                killed.append(int(name.name))
                os.kill(killed[0], signal.SIGKILL)
                return
            time.sleep(0.01)

    killer = threading.Thread(target=kill_one)
    killer.start()
    job = Job("squares", ["squares"], work, str(names), list(range(30)))
    found = list(results(job, Workers("dask", scheduler=cluster.scheduler_address), store=Store(tmp_path / "kept")))
    killer.join()
    assert found == [(piece, piece * piece) for piece in range(30)]
    assert killed
    assert len(list(names.iterdir())) >= 2


def test_trees_are_the_same(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from rheo_verify.cli.main import run

    arguments = ["enumerate", "--vocab", "5", "--depth", "4", "--method", "exhaustive", "--json"]
    assert run([*arguments, "--scheduler", cluster.scheduler_address]) == 0
    there = capsys.readouterr().out
    assert run([*arguments, "--backend", "serial"]) == 0
    assert capsys.readouterr().out == there


def test_nobody_at_the_address() -> None:
    with pytest.raises(InputError, match=r"RV802: --scheduler tcp://127\.0\.0\.1:9: no cluster answers there"):
        list(results(Job("squares", [], work, "", [1]), Workers("dask", scheduler="tcp://127.0.0.1:9")))
