"""What enumeration costs per path, against the bare function; and the time to decide a typical verifier.

Run: ``python benchmarks/foreign.py``. Process time, one torch thread; the bare function is given the drafts of the
same paths, and runs with its own random numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.replay import ReplayChance

P = [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.125, 0.5, 0.375]]
Q = [[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]


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
        return [*tokens[:i], np.random.choice(3, p=residual / residual.sum())]
    return [*tokens, np.random.choice(3, p=target[len(tokens)])]


def per_path(function: Callable[[], Any], rounds: int = 12) -> tuple[float, float]:
    """Microseconds a call: bare, and answered on the same law of paths (each path timed, weighted by its probability).

    Bare and answered rounds alternate, and the best round of each counts, so that a busy machine disturbs both alike.
    """
    function()
    bare, answered = [], []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(200):
            function()
        bare.append((time.process_time() - started) / 200)
        with answering(function) as door:
            run = lambda chance: door.run(chance, function)  # noqa: E731
            total = 0.0
            for path in list(enumerate_paths(run)):
                started = time.process_time()
                for _ in range(30):
                    run(ReplayChance(path.choices))
                total += float(path.probability) * (time.process_time() - started) / 30
            answered.append(total)
    return min(bare) * 1e6, min(answered) * 1e6


def main() -> None:
    torch.set_num_threads(1)
    rows = {
        "torch": (torch_verifier, torch.tensor(P).double(), torch.tensor(Q).double(), torch.tensor([1, 0])),
        "numpy": (numpy_verifier, np.array(P), np.array(Q), np.array([1, 0])),
    }
    for name, (verifier, target, draft, tokens) in rows.items():
        bare, path = per_path(lambda v=verifier, p=target, q=draft, x=tokens: len(v(p, q, x)))
        print(f"{name:6} bare {bare:7.1f} us   per path {path:7.1f} us   ratio {path / bare:.2f}")
    started = time.process_time()
    scope = Scope(vocab=3, denominator=5, drafts=2, random=200)
    report = check_verifier(torch_verifier, scope=scope)
    print(
        f"{report.verdict}: {report.cases} cases, {report.paths} paths in {time.process_time() - started:.1f} s of CPU"
    )


if __name__ == "__main__":
    main()
