"""Build-then-prune on tensors: each depth's pools, draws, scores and beam in one batch, on the device of the rows.

It is `build_then_prune` for networks, whose slow twin in the tests it is held against: the same nodes given the same
draws, the same law. Which candidates a pool has is floor 2's own answer, in ranks (`rank_pools`). Each depth keeps its
nodes in the order of their slots, so a stable sort by score is the order of priority. Nothing is brought back from the
device until the tree is pruned, except where a tie crosses the edge of a top-k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.ranks import rank_pools
from rheo_verify.drafting.tree import Kind, Node, SlotPath, TokenPath, Tree
from rheo_verify.errors import InputError
from rheo_verify.models.rows import RankedRows, RowSettings, draft_rows, ranked_rows
from rheo_verify.probability.chance import RowChance
from rheo_verify.probability.sparse import SparseRow, TailRow

Tensor = Any
Step = Callable[[Tensor, Tensor], Tensor]
"""Draft logits [n, V'] after tokens [n], each after the row `parents` [n] of the step before (`HeadState.step`)."""


def covers(design: TreeDesign) -> bool:
    """Whether a design can be drafted so: the paper's proxy, ties by position, the law that was sampled from."""
    return design.proxy == "rheo" and design.ties == "position" and design.verification == "sampling"


@dataclass(frozen=True)
class _Depth:
    """n expanded contexts of one depth: their draft logits [n, V'] and their pools, [n, K] each.

    `drawn` [n]: how many ranks below the lead the sampled token is; None if there is no sampled slot.
    """

    logits: Tensor
    rows: RankedRows
    tokens: Tensor
    scores: Tensor
    drawn: Tensor


@dataclass(frozen=True)
class Drafted:
    """A pruned tree, its nodes by priority, and the draft rows that it was built from."""

    tree: Tree
    rows: Callable[[TokenPath], tuple[SparseRow, SparseRow] | None]


def batched_tree(
    chance: RowChance,
    design: TreeDesign,
    settings: RowSettings,
    to_target: Tensor,
    vocab: int,
    root: Tensor,
    step: Step,
) -> Drafted:
    """One pruned tree. `root` [1, V']: draft logits at the context; `to_target` [V'] increases.

    K is at most the support and V'. Raises `InputError` RV608 when logits are not numbers.
    """
    depths: list[_Depth] = []
    beams: list[Tensor] = []
    logits, above = root, None
    for level in range(design.depth):
        here = _pools(chance, design, settings, to_target, logits, above)
        depths.append(here)
        if level + 1 < design.depth:
            scores = here.scores.flatten()
            beam = scores.sort(descending=True, stable=True).indices[: design.beam].sort().values
            beams.append(beam)
            above = scores[beam, None]
            logits = step(here.tokens.flatten()[beam], beam // design.pool)
    return _pruned(design, settings, to_target, vocab, depths, beams)


def _pools(
    chance: RowChance,
    design: TreeDesign,
    settings: RowSettings,
    to_target: Tensor,
    logits: Tensor,
    above: Tensor | None,
) -> _Depth:
    """The pools of n contexts whose path scores are `above` [n, 1]."""
    import torch

    lead, pool = design.lead, design.pool
    if lead >= pool:
        rows = ranked_rows(logits, pool, settings.dtype, rest=False)
        ids, factors, drawn = rows.ids, rows.ranking, None
    else:
        rows = ranked_rows(logits, settings.support, settings.dtype)
        drawn = chance.choose_rows(rows.sampling_weights(settings.temperature)[:, lead:])
        columns = _columns(rows.ids.shape[1], lead, pool, logits.device)[drawn]
        tail = rows.ranking[:, lead:].sum(-1, keepdim=True) + rows.rest
        if lead:
            proxy = torch.minimum(rows.ranking[:, lead - 1 : lead], tail)
        else:
            proxy = rows.ranking[:, :1] + float(design.epsilon)
        factors = torch.cat((rows.ranking, proxy), 1).gather(1, columns[:, pool:])
        ids = rows.ids.gather(1, columns[:, :pool])
    return _Depth(logits, rows, to_target[ids], factors if above is None else above * factors, drawn)


@cache
def _columns(support: int, lead: int, pool: int, device: Any) -> Tensor:
    """[S-m+1, 2 K]: by the outcome of the draw, the ranks of the slots; then the same with column S, the proxy's, at m.

    The last row is for a context whose q-hat has no mass outside the lead: no slot is sampled there.
    """
    import torch

    ranks = [*rank_pools(support, lead, pool), rank_pools(support, pool, pool)[0]]
    table = torch.tensor(ranks, device=device).repeat(1, 2)
    table[:-1, pool + lead] = support
    return table


def _pruned(
    design: TreeDesign,
    settings: RowSettings,
    to_target: Tensor,
    vocab: int,
    depths: list[_Depth],
    beams: list[Tensor],
) -> Drafted:
    """Keep the R best nodes, and bring them back: two transfers."""
    import torch

    scores = torch.cat([it.scores.flatten() for it in depths])
    kept = scores.sort(descending=True, stable=True).indices[: design.budget]
    parts = [kept, *(it.tokens.flatten() for it in depths), *beams, *(it.drawn for it in depths if it.drawn is not None)]
    numbers = iter(torch.cat(parts).tolist())
    values = scores[kept].tolist()
    if not values[0] >= 0:  # a NaN anywhere sorts first
        raise InputError("RV608", "the head's logits are not numbers")

    def take(count: int) -> list[int]:
        return [next(numbers) for _ in range(count)]

    chosen = take(len(kept))
    tokens = [take(it.tokens.numel()) for it in depths]
    parents = [[0], *(take(len(beam)) for beam in beams)]
    drawn = [[] if it.drawn is None else take(len(it.drawn)) for it in depths]

    pool = design.pool
    paths: list[list[tuple[SlotPath, TokenPath]]] = [[((), ())]]
    for level, beam in enumerate(parents[1:]):
        paths.append([_below(paths[level][at // pool], at % pool, tokens[level][at]) for at in beam])
    firsts = [0]
    for it in depths:
        firsts.append(firsts[-1] + it.tokens.numel())
    weights = [it.rows.sampling_weights(settings.temperature) if drawn[0] else None for it in depths]
    targets = [to_target[it.rows.ids] if drawn[0] else None for it in depths]
    nodes = []
    for at, score in zip(chosen, values, strict=True):
        level = next(level for level, first in enumerate(firsts[1:]) if at < first)
        parent, slot = divmod(at - firsts[level], pool)
        slots, path = _below(paths[level][parent], slot, tokens[level][at - firsts[level]])
        kind: Kind = "lead" if slot < design.lead else "fill"
        law: Any = None
        if drawn[level] and slot == design.lead and drawn[level][parent] < depths[level].rows.ids.shape[1] - design.lead:
            kind, law = "sampled", TailRow(targets[level], weights[level], parent, design.lead)
        nodes.append(Node(slots, path, kind, score, law))
    places = {path: (level, row) for level, beam in enumerate(paths) for row, (_, path) in enumerate(beam)}

    def rows_at(path: TokenPath) -> tuple[SparseRow, SparseRow] | None:
        if path not in places:
            return None
        level, row = places[path]
        return draft_rows(depths[level].logits[row : row + 1], to_target, settings).sparse(vocab)[0]

    return Drafted(tuple(nodes), rows_at)


def _below(parent: tuple[SlotPath, TokenPath], slot: int, token: int) -> tuple[SlotPath, TokenPath]:
    return (*parent[0], slot + 1), (*parent[1], token)
