"""Pieces: two processes against one, and what checkpoints cost, on 9.8 million trees.

Wall-clock time, so it says something on two idle cores only. Processes are started once a run of the program; the first
row includes that, the others find them warm.
"""

from __future__ import annotations

import tempfile
import time

from rheo_verify.drafting.all_trees import enumerate_trees, node_table
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.random_tables import random_model
from rheo_verify.pieces import Store, Workers

MODEL, DESIGN = random_model(6, 0), TreeDesign(depth=4)


def main() -> None:
    table = node_table(MODEL, (), DESIGN)
    two = Workers("loky", jobs=2)
    _seconds(table, two)  # start the processes
    one, both, kept = [], [], []
    for _ in range(15):
        one.append(_seconds(table, Workers("loky", jobs=1)))
        both.append(_seconds(table, two))
        with tempfile.TemporaryDirectory() as directory:
            kept.append(_seconds(table, Workers("loky", jobs=1), Store(directory)))
    print(f"9,765,625 trees: one process {min(one):.3f} s, two {min(both):.3f} s, ratio {min(one) / min(both):.2f}")
    print(f"  with checkpoints {min(kept):.3f} s: {100 * (min(kept) / min(one) - 1):+.1f} %")


def _seconds(table: object, workers: Workers, store: Store | None = None) -> float:
    begin = time.perf_counter()
    enumerate_trees(MODEL, (), DESIGN, table=table, workers=workers, store=store)
    return time.perf_counter() - begin
