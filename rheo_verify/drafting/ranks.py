"""Floor 2's pools in ranks: a pool is a function of the order of q and of the sampled rank, so it is asked once.

What it answers serves every row of a batch: tensors of rows look the candidates up (`batched_tree`, the layer check).
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import pool_at
from rheo_verify.models.model import Model
from rheo_verify.probability.sparse import SparseRow

Class: TypeAlias = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]
"""Other candidates and sampled ranks: as many of the former as of the latter, or one that all share."""


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


@cache
def rank_classes(support: int, lead: int, pool: int, kept: int) -> tuple[Class, ...]:
    """Outcomes of the sampled token by the other candidates in the first `kept` slots, which hold the sampled one.

    Where several outcomes share the others, those are given once; all outcomes that share them with none are one entry.
    """
    classes: dict[tuple[int, ...], list[int]] = {}
    for ranks in rank_pools(support, lead, pool):
        classes.setdefault((*ranks[:lead], *ranks[lead + 1 : kept]), []).append(ranks[lead])
    alone = {others: drawn[0] for others, drawn in classes.items() if len(drawn) == 1}
    found: list[Class] = [(tuple(alone), tuple(alone.values()))] if alone else []
    return (*found, *(((others,), tuple(drawn)) for others, drawn in classes.items() if len(drawn) > 1))
