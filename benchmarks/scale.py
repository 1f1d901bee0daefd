"""Pieces: two processes against one, and what checkpoints cost, on 9.8 million trees.

Two against one is wall-clock time, so it says something on two idle cores only; the processes are started beforehand.
What checkpoints cost is processor time.
"""

from __future__ import annotations

import tempfile
import time

from rheo_verify.drafting.all_trees import enumerate_trees, node_table
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.node_table import NodeTable
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
    (wall, alone), (faster, _), (_, stored) = (map(min, zip(*times, strict=True)) for times in (one, both, kept))
    print(f"9,765,625 trees: one process {wall:.3f} s, two {faster:.3f} s, ratio {wall / faster:.2f}")
    more = 100 * (stored / alone - 1)
    print(f"  checkpoints: {alone:.3f} s of processor time without, {stored:.3f} s with, {more:+.1f} %")


def _seconds(table: NodeTable, workers: Workers, store: Store | None = None) -> tuple[float, float]:
    """Of the clock, and of this process's processor time."""
    begin, used = time.perf_counter(), time.process_time()
    enumerate_trees(MODEL, (), DESIGN, table=table, workers=workers, store=store)
    return time.perf_counter() - begin, time.process_time() - used
