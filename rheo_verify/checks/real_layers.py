"""The exact layer check on real rows: no sampling noise (claims `layer-lossless`, `support-truncation`).

At each context the pool of floor 2 is formed for every outcome of the sampled token, the rule's own law is taken for
each, and the laws are added up with the weights of q-tilde: the law of the token that comes out, against p.

Two things make it fast, neither changes a number. A pool is a function of ranks, so floor 2 is asked once, on ranks,
and its answer serves every row. No candidate lies off the support of q-hat, and there a rule leaves p in proportion,
so all tokens off the support are one token here; `total_variation` and `deviation` speak of the whole vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rheo_verify.drafting.ranks import rank_pools
from rheo_verify.limits import Progress
from rheo_verify.models.rows import DraftRows
from rheo_verify.models.torch_setup import check_dtype
from rheo_verify.probability.arrays import pick, zero_at
from rheo_verify.verification.layer import LayerRule

Tensor = Any
CHUNK = 2**20
"""Entries of the largest array that is formed at a time on a CPU."""
CHUNK_ON_A_DEVICE = 2**22
"""The same on any other device."""


@dataclass(frozen=True)
class LayerCheck:
    """One answer a row, [B] each. deviation: the largest |found - p| over the vocabulary; acceptance: exact."""

    rule: str
    lead: int
    kept: int
    dtype: str
    deviation: Tensor
    total_variation: Tensor
    acceptance: Tensor

    @property
    def rows(self) -> int:
        """How many rows were checked."""
        return len(self.deviation)

    @property
    def worst(self) -> float:
        """The largest deviation of all rows; NaN if any is."""
        return float(self.deviation.max())


def check_layers(
    target: Tensor,
    drafts: DraftRows,
    rule: LayerRule,
    *,
    lead: int,
    pool: int,
    kept: int | None = None,
    dtype: str = "float64",
    progress: Progress | None = None,
) -> LayerCheck:
    """Check rows p [B, V] (normalised) against draft rows cut to S tokens, with the first `kept` slots surviving.

    `dtype` is what the rule computes in: float64 shows the mathematics, the model's own type what rounding does.
    """
    import torch

    check_dtype(dtype)
    support, kept = drafts.tokens.shape[1], pool if kept is None else min(kept, pool)
    chunk = CHUNK if target.device.type == "cpu" else CHUNK_ON_A_DEVICE
    step = max(1, chunk // (support * (support + 1)))
    parts = []
    for start in range(0, len(target), step):
        part = DraftRows(
            *(it[start : start + step] for it in (drafts.tokens, drafts.ranking, drafts.rest, drafts.sampling))
        )
        parts.append(_chunk(target[start : start + step], part, rule, lead, pool, kept, getattr(torch, dtype)))
        if progress is not None:
            progress("rows checked exactly", min(start + step, len(target)), len(target))
    deviation, distance, acceptance = (torch.cat(it) for it in zip(*parts, strict=True))
    return LayerCheck(rule.name, lead, kept, dtype, deviation, distance, acceptance)


def _chunk(
    target: Tensor, drafts: DraftRows, rule: LayerRule, lead: int, pool: int, kept: int, dtype: Any
) -> tuple[Tensor, Tensor, Tensor]:
    import torch

    off = zero_at(target, drafts.tokens)
    rest, largest = off.sum(-1, keepdim=True), off.amax(-1, keepdim=True)
    p = torch.cat((pick(target, drafts.tokens), rest), -1)
    q = torch.nn.functional.pad(drafts.sampling.clone(), (0, 1))
    q[:, :lead] = 0
    whole = q.sum(-1, keepdim=True)
    defined = (whole[:, 0] > 0) & (pool > lead)
    q = q / torch.where(whole > 0, whole, 1)
    emitted, accepted = torch.zeros_like(p), torch.zeros_like(p[:, 0])
    for sampled in (True, False):
        rows = (defined if sampled else ~defined).nonzero().flatten()
        if len(rows):
            lead_here = lead if sampled else pool
            law = q[rows] if sampled else None
            emitted[rows], accepted[rows] = _emitted(p[rows], law, rule, lead_here, pool, kept, dtype)
    difference = (emitted - p).abs()
    spread = torch.where(rest > 0, difference[:, -1:] * largest / torch.where(rest > 0, rest, 1), difference[:, -1:])
    deviation = torch.cat((difference[:, :-1], spread), -1).amax(-1)
    return deviation, difference.sum(-1) / 2, accepted


def _emitted(
    p: Tensor, law: Tensor | None, rule: LayerRule, lead: int, pool: int, kept: int, dtype: Any
) -> tuple[Tensor, Tensor]:
    """The law of the emitted token [B, S+1] and the acceptance [B], over all outcomes of the sampled token."""
    import torch

    support = p.shape[1] - 1
    ranks = torch.tensor(rank_pools(support, lead, pool), device=p.device)[:, :kept]
    outcomes = len(ranks)
    weight = torch.ones_like(p[:, :1]) if law is None else law[:, lead:support]
    candidates = ranks.expand(len(p), *ranks.shape)
    laws: list[Any] = [None] * ranks.shape[1]
    if law is not None and kept > lead:
        laws[lead] = law[:, None].to(dtype).expand(-1, outcomes, -1)
    rows = p[:, None].to(dtype).expand(-1, outcomes, -1)
    accept, residual = rule.law(rows, candidates, laws)
    accept, residual = accept.to(p.dtype), residual.to(p.dtype)
    whole = accept.sum(-1) + residual.sum(-1)
    # An outcome of weight zero may have no law of its own (0/0); it must not count.
    scale = torch.where(weight > 0, weight / torch.where(whole > 0, whole, 1), 0)
    emitted = torch.einsum("by,byv->bv", scale, residual)
    accept = accept * scale[..., None]
    emitted.scatter_add_(1, candidates.reshape(len(p), -1), accept.reshape(len(p), -1))
    return emitted, accept.sum((1, 2))
