"""The exact layer check on real rows: no sampling noise (claims `layer-lossless`, `support-truncation`).

At each context the pool of floor 2 is formed for every outcome of the sampled token, the rule's own law is taken for
each, and the laws are added up with the weights of q-tilde: the law of the token that comes out, against p.

Three things make it fast, none changes a number. A pool is a function of ranks, so floor 2 is asked once, on ranks,
and its answer serves every row. No candidate lies off the support of q-hat, and there a rule leaves p in proportion,
so all tokens off the support are one token here; `total_variation` and `deviation` speak of the whole vocabulary. And
what outcomes have in common (nearly all have the same other candidates) the rule's `branches` compute once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rheo_verify.drafting.ranks import rank_classes, rank_pools
from rheo_verify.limits import Progress
from rheo_verify.models.rows import DraftRows
from rheo_verify.models.torch_setup import check_dtype
from rheo_verify.probability.arrays import pick, zero_at
from rheo_verify.verification.layer import Branches, LayerRule

Tensor = Any
CHUNK = 2**18
"""Entries of the largest array that is formed at a time on a CPU: what its cache holds."""
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
    kind = getattr(torch, dtype)
    kept = pool if kept is None else min(kept, pool)
    # Below float64 each outcome rounds as it does when it is alone.
    branches = rule.branches if kept > lead and target.dtype == kind == torch.float64 else None
    question = _Question(rule, branches, lead, pool, kept, kind)
    chunk = CHUNK if target.device.type == "cpu" else CHUNK_ON_A_DEVICE
    step = max(1, chunk // max(target.shape[1], question.numbers(drafts.tokens.shape[1])))
    parts = []
    for start in range(0, len(target), step):
        part = DraftRows(
            *(it[start : start + step] for it in (drafts.tokens, drafts.ranking, drafts.rest, drafts.sampling))
        )
        parts.append(_chunk(target[start : start + step], part, question))
        if progress is not None:
            progress("rows checked exactly", min(start + step, len(target)), len(target))
    deviation, distance, acceptance = (torch.cat(it) for it in zip(*parts, strict=True))
    return LayerCheck(rule.name, lead, kept, dtype, deviation, distance, acceptance)


@dataclass(frozen=True)
class _Question:
    """What is asked of each row. `branches`: the rule's, where outcomes are to share work."""

    rule: LayerRule
    branches: Callable[..., Branches] | None
    lead: int
    pool: int
    kept: int
    dtype: Any

    def numbers(self, support: int) -> int:
        """How many numbers a row's largest array has."""
        outcomes = 1 if self.lead >= self.pool else self.kept if self.branches else support
        return outcomes * (support + 1)


def _chunk(target: Tensor, drafts: DraftRows, question: _Question) -> tuple[Tensor, Tensor, Tensor]:
    import torch

    off = zero_at(target, drafts.tokens)
    rest, largest = off.sum(-1, keepdim=True), off.amax(-1, keepdim=True)
    p = torch.cat((pick(target, drafts.tokens), rest), -1)
    q = torch.nn.functional.pad(drafts.sampling.clone(), (0, 1))
    q[:, : question.lead] = 0
    whole = q.sum(-1, keepdim=True)
    defined = (whole[:, 0] > 0) & (question.pool > question.lead)
    q = q / torch.where(whole > 0, whole, 1)
    emitted, accepted = torch.zeros_like(p), torch.zeros_like(p[:, 0])
    for sampled in (True, False):
        rows = (defined if sampled else ~defined).nonzero().flatten()
        if not len(rows):
            continue
        if not sampled:
            emitted[rows], accepted[rows] = _by_outcomes(p[rows], None, question)
        elif question.branches is None:
            emitted[rows], accepted[rows] = _by_outcomes(p[rows], q[rows], question)
        else:
            emitted[rows], accepted[rows] = _by_classes(p[rows], q[rows], question, question.branches)
    difference = (emitted - p).abs()
    spread = torch.where(rest > 0, difference[:, -1:] * largest / torch.where(rest > 0, rest, 1), difference[:, -1:])
    deviation = torch.cat((difference[:, :-1], spread), -1).amax(-1)
    return deviation, difference.sum(-1) / 2, accepted


def _by_outcomes(p: Tensor, law: Tensor | None, question: _Question) -> tuple[Tensor, Tensor]:
    """The law of the emitted token [B, S+1] and the acceptance [B], over all outcomes of the sampled token."""
    import torch

    support, dtype, pool = p.shape[1] - 1, question.dtype, question.pool
    lead = pool if law is None else question.lead
    ranks = torch.tensor(rank_pools(support, lead, pool), device=p.device)[:, : question.kept]
    outcomes = len(ranks)
    weight = torch.ones_like(p[:, :1]) if law is None else law[:, lead:support]
    candidates = ranks.expand(len(p), *ranks.shape)
    laws: list[Any] = [None] * ranks.shape[1]
    if law is not None and question.kept > lead:
        laws[lead] = law[:, None].to(dtype).expand(-1, outcomes, -1)
    rows = p[:, None].to(dtype).expand(-1, outcomes, -1)
    accept, residual = question.rule.law(rows, candidates, laws)
    accept, residual = accept.to(p.dtype), residual.to(p.dtype)
    scale = _shares(weight, accept.sum(-1) + residual.sum(-1))
    emitted = torch.einsum("by,byv->bv", scale, residual)
    accept = accept * scale[..., None]
    emitted.scatter_add_(1, candidates.reshape(len(p), -1), accept.reshape(len(p), -1))
    return emitted, accept.sum((1, 2))


def _by_classes(
    p: Tensor, law: Tensor, question: _Question, branches: Callable[..., Branches]
) -> tuple[Tensor, Tensor]:
    """The same, outcomes with the same other candidates side by side: what they have in common is computed once."""
    import torch

    lead = question.lead
    emitted, accepted = torch.zeros_like(p), torch.zeros_like(p[:, 0])
    for shared in rank_classes(p.shape[1] - 1, lead, question.pool, question.kept):
        others, drawn = (torch.tensor(it, dtype=torch.int64, device=p.device) for it in shared)
        its = branches(p[:, None], others[None], lead, drawn[None, :, None], law[:, None])
        whole = its.others.sum(-1) + its.drawn[..., 0] + its.rejected[..., 0] * its.residual.sum(-1)
        scale = _shares(law[:, drawn], whole)[..., None]
        kept, taken, rejected = its.others * scale, its.drawn * scale, its.rejected * scale
        if len(others) == 1:
            kept, rejected = kept.sum(1, keepdim=True), rejected.sum(1, keepdim=True)
        accepted += kept.sum((1, 2)) + taken.sum((1, 2))
        emitted += (rejected.transpose(1, 2) @ its.residual)[:, 0]
        emitted.index_add_(1, others.flatten(), kept.flatten(1))
        emitted.index_add_(1, drawn, taken[..., 0])
    return emitted, accepted


def _shares(weight: Tensor, whole: Tensor) -> Tensor:
    """What to multiply each outcome's weights by; one of weight zero may have no law of its own (0/0), nor counts."""
    import torch

    return torch.where(weight > 0, weight / torch.where(whole > 0, whole, 1), 0)
