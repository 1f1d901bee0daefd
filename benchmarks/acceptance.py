"""Speed of acceptance: closed forms in batches, and the exhaustive search against one pair at a time in `Fraction`.

Run: ``python -m benchmarks acceptance [--pairs N] [--json]``. One core, CPU time; torch too when it is
installed, wall time.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from fractions import Fraction
from itertools import islice

import numpy as np

from rheo_verify.checks.acceptance import Layer, enumerated_rate
from rheo_verify.checks.closed_forms import batch_rates
from rheo_verify.checks.instances import compositions, descending, shapes_of
from rheo_verify.checks.optimal import optimal_acceptance, smallest_cut
from rheo_verify.checks.search import Scope, begin, search


def batch(pairs: int, vocab: int) -> dict[str, float]:
    generator = np.random.default_rng(0)
    rows = generator.random((2, min(pairs, 100_000), vocab)) ** 8
    times = -(-pairs // rows.shape[1])
    begun = time.process_time()
    for _ in range(times):
        batch_rates(rows[0], rows[1], 1, 3)
    seconds = time.process_time() - begun
    return {"pairs": times * rows.shape[1], "vocab": vocab, "seconds": seconds, "pairs_per_s": pairs / seconds}


def torch_batch(pairs: int, vocab: int) -> dict[str, float] | None:
    try:
        import torch
    except ImportError:
        return None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = torch.rand((2, pairs, vocab), dtype=torch.float64, device=device) ** 8
    batch_rates(rows[0, :100], rows[1, :100], 1, 3)
    begun = time.perf_counter()
    batch_rates(rows[0], rows[1], 1, 3).rheo.sum().item()
    seconds = time.perf_counter() - begun
    return {"device": device, "pairs": pairs, "seconds": seconds, "pairs_per_s": pairs / seconds}


def searched(where: str, vocab: int, denominator: int) -> dict[str, float]:
    scope = Scope(where, vocab, denominator, shapes_of(vocab))
    begun = time.process_time()
    found = search(begin(scope)).total
    seconds = time.process_time() - begun
    return {
        "vocab": vocab,
        "denominator": denominator,
        "instances": found.pairs,
        "found": found.found,
        "seconds": seconds,
        "instances_per_s": found.pairs / seconds,
    }


def one_by_one(vocab: int, denominator: int, count: int) -> dict[str, float]:
    """The same question in `Fraction`, the steps of SPEC 1.3 written out (`acceptance_strategies` of the tests)."""
    from tests.acceptance.acceptance_strategies import by_definition

    drafts, targets = descending(denominator, vocab).tolist(), compositions(denominator, vocab).tolist()
    shapes = shapes_of(vocab)
    instances = ((p, q, *shape) for q in drafts for p in targets for shape in shapes)
    step = max(1, len(drafts) * len(targets) * len(shapes) // count)
    done, begun = 0, time.process_time()
    for p, q, n, m in islice(instances, 0, None, step):
        rows = [tuple(Fraction(w, denominator) for w in row) for row in (p, q)]
        layer = Layer(rows[0], rows[1], rows[1], m, n)
        assert by_definition(layer, "rrsw") is not None
        assert by_definition(layer, "rheo") is not None
        done += 1
    seconds = time.process_time() - begun
    return {"instances": done, "seconds": seconds, "instances_per_s": done / seconds}


def optimum(vocab: int, repeats: int) -> dict[str, float]:
    generator = np.random.default_rng(0)
    flow = cut = enumerated = 0.0
    for _ in range(repeats):
        p, q = (tuple(Fraction(int(w), int(row.sum())) for w in row) for row in generator.integers(1, 99, (2, vocab)))
        layer = Layer(p, q, q, 1, 4)
        begun = time.process_time()
        best = optimal_acceptance(layer)
        flow += time.process_time() - begun
        begun = time.process_time()
        smallest_cut(p, best.plan.sets)
        cut += time.process_time() - begun
        begun = time.process_time()
        enumerated_rate(layer, "rheo")
        enumerated += time.process_time() - begun
    ms = 1000 / repeats
    return {"vocab": vocab, "flow_and_cut_ms": flow * ms, "cut_ms": cut * ms, "rheo_by_enumeration_ms": enumerated * ms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    args, _ = parser.parse_known_args()
    fast, slow = searched("rrsw > rheo", 4, 20), one_by_one(4, 20, 3000)
    found = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}",
        "closed forms, 7 rates, NumPy": batch(args.pairs, 128),
        "closed forms, 7 rates, torch": torch_batch(min(args.pairs, 1_000_000), 128),
        "search, machine integers": fast,
        "search, one by one in Fraction": slow,
        "search, ratio": fast["instances_per_s"] / slow["instances_per_s"],
        "optimum at V = 8": optimum(8, 30),
    }
    if args.json:
        print(json.dumps(found, indent=1))
        return
    for name, values in found.items():
        print(f"{name}: {_shown(values)}")


def _shown(values: object) -> str:
    if isinstance(values, dict):
        return ", ".join(f"{key} {_shown(value)}" for key, value in values.items())
    return f"{values:,.4g}" if isinstance(values, float) else f"{values:,}" if isinstance(values, int) else str(values)


if __name__ == "__main__":
    main()
