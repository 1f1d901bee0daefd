"""From logits to rows: target rows at a temperature, draft rows cut to their best tokens. Batched, on any device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheo_verify.errors import InputError
from rheo_verify.models.torch_setup import check_dtype
from rheo_verify.probability.sparse import SparseRow

Tensor = Any
_BLOCK = 8
_FEW, _LONG = 32, 2**13
"""Fewer than `_FEW` of fewer than `_LONG` are found fastest by `torch.topk`; a longer row first by its blocks."""


@dataclass(frozen=True)
class RowSettings:
    """How rows are made. temperature: of target and sampling draft, 0 is greedy; the ranking draft is never tempered.

    support: S, the tokens that a draft row keeps. dtype: the torch type that rows are computed and verified in.
    """

    temperature: float = 1.0
    support: int = 128
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise InputError("RV106", f"temperature {self.temperature} must be at least 0")
        if self.support < 1:
            raise InputError("RV106", f"support {self.support} must be at least 1")
        check_dtype(self.dtype)


def target_rows(logits: Tensor, settings: RowSettings) -> Tensor:
    """p, [..., V], from logits of the same shape; at temperature 0 all mass on the best token (ties by token id)."""
    import torch

    wide = logits.to(getattr(torch, settings.dtype))
    if settings.temperature == 0:
        return torch.nn.functional.one_hot(first_best(logits), logits.shape[-1]).to(wide.dtype)
    return torch.softmax(wide / settings.temperature, -1)


def first_best(logits: Tensor) -> Tensor:
    """The best token of each row, the smallest id among equals (`argmax` leaves that open)."""
    import torch

    ids = torch.arange(logits.shape[-1], device=logits.device)
    best = logits == logits.amax(-1, keepdim=True)
    return torch.where(best, ids, logits.shape[-1]).amin(-1)


def stable_top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` best of each row [n, V], best first, ties by token id: `torch.topk` made stable, and faster.

    A tie may cross the edge; then the rows in which it does are cut by token id. One answer from the device, two for a
    few tokens where some tie.
    """
    import torch

    vocab = values.shape[-1]
    count = min(count, vocab)
    if vocab <= max(512, 4 * count):
        best, ids = values.sort(dim=-1, descending=True, stable=True)
        return best[:, :count], ids[:, :count]
    if count < _FEW and vocab < _LONG:
        best, ids = torch.topk(values, count + 1, dim=-1)
        if bool((best[:, :-1] > best[:, 1:]).all()):
            return best[:, :-1], ids[:, :-1]
    elif values.device.type == "cpu" and (found := _with_numpy(values, count)) is not None:
        return found
    best, ids, crossing = _top(values, count)
    best, ids = _by_id(best, ids)
    if bool(crossing.any()):
        rows = crossing.nonzero().flatten()
        some, edge = values[rows], best[rows, -1:]
        above = (some > edge) | (some.isnan() & ~edge.isnan())  # sorts above all numbers
        at = (some == edge) | (some.isnan() & edge.isnan())
        kept = above | (at & (at.cumsum(-1) <= count - above.sum(-1, keepdim=True)))
        places = kept.nonzero()[:, 1].view(len(rows), count)
        best[rows], ids[rows] = _by_id(some.gather(-1, places), places)
    return best, ids


def _with_numpy(values: Tensor, count: int) -> tuple[Tensor, Tensor] | None:
    """`stable_top` on a CPU; None where something is not a number, or ties leave too many to be sorted.

    What is not below a bound is sorted: of a long row it is the `count`-th best of the maxima of blocks (every G-th
    value), which few others reach, of a short one the `count`-th best itself.
    """
    import torch

    kind = values.dtype if values.dtype in (torch.float32, torch.float64) else torch.float32
    array = values.detach().to(kind).numpy()
    rows, vocab = array.shape
    blocks = 1 << max(7, (4 * count - 1).bit_length())
    if vocab < _LONG or vocab < blocks:
        among = array
    else:
        among = array[:, : vocab - vocab % blocks].reshape(rows, -1, blocks).max(1)
    last = among.shape[1] - count
    bound = np.partition(among, last, axis=-1)[:, last, None]
    places = np.flatnonzero(np.logical_not(array < bound))  # what is not a number counts
    reached = array.ravel().take(places)
    if not np.isfinite(reached.sum()):
        return None
    if len(places) == rows * count:
        falling, starts = -reached.reshape(rows, count), np.arange(0, rows * count, count)
    else:
        ends = places.searchsorted(np.arange(0, rows * vocab + 1, vocab))
        starts, lengths = ends[:-1], ends[1:] - ends[:-1]
        if (widest := int(lengths.max())) > 2 * blocks:
            return None
        falling = np.full((rows, widest), np.inf, dtype=array.dtype)
        falling[np.arange(widest) < lengths[:, None]] = -reached
    order = falling.argsort(axis=-1, kind="stable")[:, :count] + starts[:, None]
    best, ids = reached.take(order), places.take(order) % vocab
    return torch.from_numpy(best).to(values.dtype), torch.from_numpy(ids)


def _top(values: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best of each row in any order, and the rows [n] in which one as large as the last was left out,

    or may have been where one is not a number.
    They lie in the blocks (every V/8-th value) of the `count` largest maxima: for each value elsewhere those hold
    `count` at least as large.
    """
    import torch

    rows, vocab = values.shape
    if count < _FEW or vocab < 16 * count:
        best, ids = torch.topk(values, count + 1, dim=-1)
        return best[:, :-1], ids[:, :-1], ~(best[:, -2] > best[:, -1])
    padded = torch.nn.functional.pad(values, (0, -vocab % _BLOCK), value=-torch.inf) if vocab % _BLOCK else values
    blocks = padded.view(rows, _BLOCK, -1)
    highest = blocks.amax(1)
    chosen = torch.topk(highest, count, dim=-1, sorted=False).indices[:, None].expand(-1, _BLOCK, -1)
    some = blocks.gather(2, chosen).flatten(1)
    best, places = torch.topk(some, count, dim=-1, sorted=False)
    first = torch.arange(_BLOCK, device=values.device)[:, None] * blocks.shape[2]
    edge = best.amin(-1, keepdim=True)
    crossing = (_not_below(some, edge) > count) | (_not_below(highest, edge) > count)
    return best, (chosen + first).flatten(1).gather(1, places), crossing


def _not_below(values: Tensor, edge: Tensor) -> Tensor:
    """How many values of each row are not below its edge: what is not a number counts."""
    return values.shape[-1] - (values < edge).sum(-1)


def _by_id(values: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the order of falling values, equal ones by id."""
    ids, order = ids.sort(-1)
    values, order = values.gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return values, ids.gather(-1, order)


@dataclass(frozen=True)
class RankedRows:
    """n rows of q cut to their S best tokens, best first: logits `best` [n, S], draft ids `ids`, probabilities.

    `ranking` [n, S] is q, `rest` [n, 1] the mass that was cut off, None if nothing was: added up, never computed as 1
    minus the rest of q (claim `residual-mass-rounding`).
    """

    best: Tensor
    ids: Tensor
    ranking: Tensor
    rest: Tensor | None

    def sampling_weights(self, temperature: float) -> Tensor:
        """The sampling draft over the S tokens, [n, S], not normalised; at temperature 0 all on the best token."""
        import torch

        if temperature == 1:
            return self.ranking
        if temperature == 0:
            return torch.nn.functional.one_hot(torch.zeros_like(self.ids[:, 0]), self.ids.shape[1]).to(self.best.dtype)
        return torch.exp((self.best - self.best[:, :1]) / temperature)


def ranked_rows(logits: Tensor, count: int, dtype: str = "float64", *, rest: bool = True) -> RankedRows:
    """From a head's logits [n, V']; `rest` (costs a pass) may be left out where nothing reads it."""
    import torch

    kind = getattr(torch, dtype)
    widens = torch.promote_types(logits.dtype, kind) == kind  # then it keeps the order: ranked as they are
    best, ids = stable_top(logits if widens else logits.to(kind), count)
    best = best.to(kind)
    if best.shape[1] == logits.shape[1]:
        return RankedRows(best, ids, torch.softmax(best, -1), None)
    whole = torch.softmax(logits, -1, dtype=kind)
    ranking = whole.gather(-1, ids)
    left = whole.scatter_(-1, ids, 0).sum(-1, keepdim=True) if rest else None
    return RankedRows(best, ids, ranking, left)


@dataclass(frozen=True)
class DraftRows:
    """n draft rows cut to S tokens: target ids `tokens` [n, S] best first, `ranking` q [n, S] with the mass `rest` [n]

    that was cut off, and `sampling` q-hat [n, S], tempered, truncated and renormalised.
    """

    tokens: Tensor
    ranking: Tensor
    rest: Tensor
    sampling: Tensor

    def sparse(self, vocab: int) -> list[tuple[SparseRow, SparseRow]]:
        """Each row's ranking and sampling draft, for the drafting of floor 2. One transfer from the device."""
        tokens = self.tokens.tolist()
        ranking, sampling, rest = (it.cpu().double().numpy() for it in (self.ranking, self.sampling, self.rest))
        return [
            (SparseRow(ids, q, vocab, float(left)), SparseRow(ids, q_hat, vocab))
            for ids, q, left, q_hat in zip(tokens, ranking, rest, sampling, strict=True)
        ]


def draft_rows(logits: Tensor, to_target: Tensor, settings: RowSettings) -> DraftRows:
    """Rows from a head's logits [n, V'] and the target id of each draft id, which must increase."""
    rows = ranked_rows(logits, settings.support, settings.dtype)
    weights = rows.sampling_weights(settings.temperature)
    rest = rows.ranking.new_zeros(len(logits)) if rows.rest is None else rows.rest[:, 0]
    return DraftRows(to_target[rows.ids], rows.ranking, rest, weights / weights.sum(-1, keepdim=True))
