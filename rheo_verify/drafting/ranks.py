"""Floor 2's pools in ranks: a pool is a function of the order of q and of the sampled rank, so it is asked once.

What it answers serves every row of a batch: tensors of rows look the candidates up (`batched_tree`, the layer check).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import pool_at
from rheo_verify.models.model import Model
from rheo_verify.probability.sparse import SparseRow


@cache
def rank_pools(support: int, lead: int, pool: int) -> tuple[tuple[int, ...], ...]:
    """The candidates as ranks, slot by slot: a tuple for each outcome of the sampled token, one if none is drawn."""
    design = TreeDesign(lead=lead, pool=pool)
    falling = [2.0 * (support - rank) / support / (support + 1) for rank in range(support)]
    row = SparseRow(range(support), falling, support)
    known: Any = row
    found = pool_at(Model(support, lambda _: known, lambda _: known, lambda _: known, (), "ranks"), (), design)
    outcomes: tuple[int | None, ...] = found.outcomes or (None,)
    return tuple(tuple(it.token for it in found.candidates(outcome)) for outcome in outcomes)
