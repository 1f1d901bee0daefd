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
from itertools import pairwise
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


@dataclass(frozen=True)
class Drafted:
    """A pruned tree, its nodes by priority, and the draft rows that it was built from (None off the expanded paths)."""

    tree: Tree
    rows: Callable[[TokenPath], tuple[SparseRow, SparseRow] | None]


def covers(design: TreeDesign) -> bool:
    """Whether a design can be drafted so: the paper's proxy, ties by position, the law that was sampled from."""
    return design.proxy == "rheo" and design.ties == "position" and design.verification == "sampling"


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
    import torch

    drafting = _Drafting(chance, design, settings, to_target, vocab)
    with torch.inference_mode():
        drafting.expand(root, None)
        for _ in range(1, design.depth):
            scores = drafting.depths[-1].scores
            beam = _first(scores, design.beam).sort().values
            drafting.beams.append(beam)
            tokens = drafting.depths[-1].tokens[beam]
            drafting.expand(step(tokens, beam // design.pool), scores[beam, None])
        return drafting.pruned()


def _first(scores: Tensor, count: int) -> Tensor:
    """Where the `count` best scores are, best first, equal ones in their order."""
    return scores.sort(descending=True, stable=True).indices[:count]


@dataclass(frozen=True)
class _Depth:
    """n expanded contexts of one depth: their draft logits [n, V'], and their pools one after another, [n K].

    `drawn` [n]: how many ranks below the lead the sampled token is, S - m where none is sampled; None if m >= K.
    """

    logits: Tensor
    rows: RankedRows
    tokens: Tensor
    scores: Tensor
    drawn: Tensor


class _Drafting:
    """A tree under construction. `beams`: for each depth but the first, the nodes above that were expanded."""

    def __init__(
        self, chance: RowChance, design: TreeDesign, settings: RowSettings, to_target: Tensor, vocab: int
    ) -> None:
        self.chance, self.design, self.settings, self.to_target, self.vocab = chance, design, settings, to_target, vocab
        self.epsilon = float(design.epsilon)
        self.columns: Tensor = None
        self.depths: list[_Depth] = []
        self.beams: list[Tensor] = []

    def expand(self, logits: Tensor, above: Tensor | None) -> None:
        """Form the pools of n contexts whose path scores are `above` [n, 1] (None: 1)."""
        pool = self.design.pool
        if self.design.lead >= pool:
            rows = ranked_rows(logits, pool, self.settings.dtype, rest=False)
            ids, factors, drawn = rows.ids, rows.ranking, None
        else:
            rows = ranked_rows(logits, self.settings.support, self.settings.dtype, rest=self.design.lead > 0)
            ids, factors, drawn = self._draw(rows)
        scores = factors if above is None else above * factors
        self.depths.append(_Depth(logits, rows, self.to_target[ids].flatten(), scores.flatten(), drawn))

    def _draw(self, rows: RankedRows) -> tuple[Tensor, Tensor, Tensor]:
        """Sample a token for each of n rows: draft ids and factors [n, K], and what was drawn [n]."""
        import torch

        lead, temperature, q = self.design.lead, self.settings.temperature, rows.ranking
        weights = rows.sampling_weights(temperature)
        support = weights.shape[1]
        if lead:
            weights = weights.narrow(1, lead, support - lead)
        cumulative = weights.cumsum(-1, dtype=torch.float64)
        drawn = self.chance.choose_rows(cumulative)
        if self.columns is None:
            self.columns = _columns(support, lead, self.design.pool, q.device)
        columns = self.columns.index_select(0, drawn)
        factors = q.gather(1, columns)
        place = factors.narrow(1, lead, 1)
        # At temperature 1 a row without mass below the lead has the same factor either way: 0.
        unsampled = None if temperature == 1 else (drawn[:, None] == support - lead, place.clone())
        if lead:
            last = support - lead - 1
            tail = cumulative.narrow(1, last, 1) if temperature == 1 else q[:, lead:].sum(-1, keepdim=True)
            torch.minimum(q.narrow(1, lead - 1, 1), tail if rows.rest is None else tail + rows.rest, out=place)
        else:
            torch.add(q.narrow(1, 0, 1), self.epsilon, out=place)
        if unsampled is not None:
            place.copy_(torch.where(*unsampled, place))
        return rows.ids.gather(1, columns), factors, drawn

    def pruned(self) -> Drafted:
        """Keep the R best nodes and bring them back: two transfers."""
        import torch

        sizes = [it.scores.shape[0] for it in self.depths]
        scores = torch.cat([it.scores for it in self.depths])
        kept = _first(scores, self.design.budget)
        drawn = [it.drawn for it in self.depths if it.drawn is not None]
        parts = [kept, *self.beams, *(it.tokens for it in self.depths), *drawn]
        numbers = torch.cat(parts).tolist()
        values = scores[kept].tolist()
        if not values[0] >= 0:  # a NaN, wherever it is, sorts first
            raise InputError("RV608", "the head's logits are not numbers")
        ends = [0]
        for part in parts:
            ends.append(ends[-1] + part.shape[0])
        chosen, *rest = (numbers[begin:end] for begin, end in pairwise(ends))
        beams, rest = rest[: len(self.beams)], rest[len(self.beams) :]
        tokens, outcomes = rest[: len(sizes)], rest[len(sizes) :]

        paths = _paths(beams, tokens, self.design.pool)
        nodes = []
        for at, score in zip(chosen, values, strict=True):
            level = 0
            while at >= sizes[level]:
                at -= sizes[level]
                level += 1
            parent, slot = divmod(at, self.design.pool)
            kind, law = self._kind(level, parent, slot, outcomes)
            slots, path = paths[level][parent]
            nodes.append(Node((*slots, slot + 1), (*path, tokens[level][at]), kind, score, law))
        places = {path: (level, row) for level, beam in enumerate(paths) for row, (_, path) in enumerate(beam)}
        return Drafted(tuple(nodes), lambda path: self._rows(places.get(path)))

    def _kind(self, level: int, parent: int, slot: int, outcomes: list[list[int]]) -> tuple[Kind, Any]:
        lead, here = self.design.lead, self.depths[level]
        if slot < lead:
            return "lead", None
        if slot > lead or outcomes[level][parent] == here.rows.ids.shape[1] - lead:
            return "fill", None
        weights = here.rows.sampling_weights
        return "sampled", TailRow(
            lambda: (self.to_target[here.rows.ids], weights(self.settings.temperature)), parent, lead
        )

    def _rows(self, place: tuple[int, int] | None) -> tuple[SparseRow, SparseRow] | None:
        if place is None:
            return None
        level, row = place
        return draft_rows(self.depths[level].logits[row : row + 1], self.to_target, self.settings).sparse(self.vocab)[0]


def _paths(beams: list[list[int]], tokens: list[list[int]], pool: int) -> list[list[tuple[SlotPath, TokenPath]]]:
    """Slots and tokens on the way to each expanded context, depth by depth."""
    paths: list[list[tuple[SlotPath, TokenPath]]] = [[((), ())]]
    for beam, drafted in zip(beams, tokens, strict=False):
        above = paths[-1]
        paths.append([((*above[at // pool][0], at % pool + 1), (*above[at // pool][1], drafted[at])) for at in beam])
    return paths


@cache
def _columns(support: int, lead: int, pool: int, device: Any) -> Tensor:
    """The ranks of the slots by the outcome of the draw, [S-m+1, K].

    The last row is for a context whose q-hat has no mass outside the lead: no slot is sampled there.
    """
    import torch

    return torch.tensor([*rank_pools(support, lead, pool), rank_pools(support, pool, pool)[0]], device=device)
