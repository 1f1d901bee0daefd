"""From logits to rows: target rows at a temperature, draft rows cut to their best tokens. Batched, on any device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.probability.sparse import SparseRow

Tensor = Any


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
    """The `count` best of each row [n, V], best first, ties by token id: `torch.topk` made stable.

    Only rows in which a tie crosses the edge are sorted whole.
    """
    import torch

    count = min(count, values.shape[-1])
    best, ids = torch.topk(values, count, dim=-1)
    ids, order = ids.sort(-1)
    best, order = best.gather(-1, order).sort(dim=-1, descending=True, stable=True)
    ids = ids.gather(-1, order)
    crossing = (values >= best[..., -1:]).sum(-1) > count
    if bool(crossing.any()):
        rows = crossing.nonzero().flatten()
        whole, places = values[rows].sort(dim=-1, descending=True, stable=True)
        best[rows], ids[rows] = whole[:, :count], places[:, :count]
    return best, ids


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
    """Rows from a head's logits [n, V'] and the target id of each draft id, which must increase.

    The tail is added up, never computed as 1 minus the rest of q (claim `residual-mass-rounding`).
    """
    import torch

    wide = logits.to(getattr(torch, settings.dtype))
    best, ids = stable_top(wide, settings.support)
    weight = torch.exp(wide - best[:, :1])
    whole = weight.sum(-1, keepdim=True)
    ranking = torch.exp(best - best[:, :1]) / whole
    rest = weight.scatter(-1, ids, 0).sum(-1) / whole[:, 0]
    if settings.temperature == 0:
        sampling = torch.zeros_like(ranking)
        sampling[:, 0] = 1
    else:
        sampling = torch.softmax(best / settings.temperature, -1)
    return DraftRows(to_target[ids], ranking, rest, sampling)
