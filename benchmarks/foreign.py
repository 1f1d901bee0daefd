"""What enumeration costs per path, against the bare function; and the time to decide a typical verifier.

Run: ``python -m benchmarks foreign``. Process time, one torch thread. Three costs of the same paths, in alternating
rounds, the best round of each path: the bare function with its own random numbers; the function answered; and
the whole check (drafts, copies of the inputs, contracts, the law added up). Paths are weighted by their probability, so
that all three speak of the same work.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.arrays_in_out import Maker
from rheo_verify.foreign.cases import by_position
from rheo_verify.foreign.judging import Tally
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.foreign.verifier import VerifierTrial
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.rationals import ratio

P = [[4, 2, 2], [2, 2, 4], [1, 4, 3]]
Q = [[2, 4, 2], [4, 2, 2]]
ROUNDS = 25
LIMIT_S = 20.0


def torch_verifier(target: Any, draft: Any, tokens: Any) -> Any:
    for i, token in enumerate(tokens):
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[len(tokens)], 1)])


def numpy_verifier(target: Any, draft: Any, tokens: Any) -> Any:
    for i, token in enumerate(tokens):
        if np.random.random() < target[i, token] / draft[i, token]:
            continue
        residual = np.maximum(target[i] - draft[i], 0)
        return [*tokens[:i], np.random.choice(len(residual), p=residual / residual.sum())]
    return [*tokens, np.random.choice(len(target[-1]), p=target[len(tokens)])]


def timed_paths(run: Callable[[Any], Any], best: dict[Any, tuple[float, float]], added: Callable[[Any], Any]) -> None:
    """Run through every path; keep the least time of each with its probability."""
    paths: Iterator[Any] = enumerate_paths(run)
    while True:
        started = time.process_time()
        path = next(paths, None)
        if path is None:
            return
        added(path)
        spent = time.process_time() - started
        old = best.get(path.choices, (spent, 0.0))[0]
        best[path.choices] = (min(old, spent), float(path.probability))


def mean(best: dict[Any, tuple[float, float]]) -> float:
    """Microseconds per path, weighted by probability."""
    return sum(spent * weight for spent, weight in best.values()) * 1e6


def per_path(arrays: str, verifier: Callable[..., Any]) -> tuple[float, float, float]:
    """Microseconds per path: bare, answered, whole check."""
    rows = [[tuple(ratio(x, 8) for x in row) for row in table] for table in (P, Q)]
    case, maker = by_position(*rows), Maker(arrays)
    trial = VerifierTrial(None, None, case, maker)  # type: ignore[arg-type]
    drafts = [(a, b) for a in range(3) for b in range(3)]
    weight = {d: float(case.draft[()][d[0]] * case.draft[d[:1]][d[1]]) for d in drafts}
    bare: dict[Any, tuple[float, float]] = {}
    answered: list[dict[Any, tuple[float, float]]] = [{} for _ in drafts]
    whole: dict[Any, tuple[float, float]] = {}
    for _ in range(ROUNDS):
        for d in drafts:
            given = [array for array, _ in trial._inputs(d)]
            started = time.process_time()
            for _ in range(40):
                verifier(*given)
            spent = (time.process_time() - started) / 40
            bare[d] = (min(spent, bare.get(d, (spent, 0.0))[0]), weight[d])
        with answering(verifier) as door:
            for d, best in zip(drafts, answered, strict=True):
                given = [array for array, _ in trial._inputs(d)]
                timed_paths(lambda chance, g=given: door.run(chance, lambda: verifier(*g)), best, lambda path: None)
        with answering(verifier) as door:
            tally = Tally()
            run = VerifierTrial(door, Rebuilder(verifier), case, maker).run
            timed_paths(run, whole, lambda path, t=tally: t.add(*path.result, path.probability, path.choices))
    inside = sum(weight[d] * mean(best) for d, best in zip(drafts, answered, strict=True))
    return mean(bare), inside, mean(whole)


TYPICAL = """
from benchmarks.foreign import {name}_verifier
from rheo_verify.testing import assert_lossless

def test_verifier():
    assert_lossless({name}_verifier, arrays="{name}", scope="vocab=3,denominator=5,drafts=2,random=200")
"""


def with_pytest(name: str) -> float:
    """Seconds of CPU that pytest takes to decide a typical verifier, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, f"test_{name}.py")
        with open(file, "w", encoding="utf-8") as out:
            out.write(TYPICAL.format(name=name))
        before = os.times()
        place = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment = os.environ | {"PYTHONPATH": place, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, check=False)
        after = os.times()
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    torch.set_num_threads(1)
    late = False
    for name, verifier in (("torch", torch_verifier), ("numpy", numpy_verifier)):
        bare, answered, whole = per_path(name, verifier)
        print(
            f"{name:6} bare {bare:6.1f} us   answered {answered:6.1f} us ({answered / bare:.2f}x)"
            f"   whole check {whole:6.1f} us per path ({whole / bare:.2f}x)",
            flush=True,
        )
        late |= whole > 3 * bare
    for name in ("torch", "numpy"):
        spent = with_pytest(name)
        print(f"{name:6} V = 3, N <= 5, and 200 random cases, with pytest: {spent:.1f} s of CPU (limit {LIMIT_S:g} s)")
        late |= spent > LIMIT_S
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
