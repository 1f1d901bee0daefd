"""What finite precision does to the proxy and to ties (claims `residual-mass-rounding` and `tie-rule`).

The proxy min{q(x_m), z} outranks every fill if z, the mass outside the lead, is at least the best of them. As 1 minus
the lead, in low precision, it may not be; as the sum of the tail it is, in any precision with monotone rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rheo_verify.limits import Limits
from rheo_verify.models.rows import stable_top
from rheo_verify.models.torch_setup import check_dtype
from rheo_verify.verification.layer import LayerRule

Tensor = Any
LOW = ("bfloat16", "float16", "float32")


@dataclass(frozen=True)
class PrecisionRow:
    """One type and m. Fractions of rows: in which a proxy is below a fill, computed either way; in which scores tie.

    broken: z = 1 - lead; remedied: z = the tail's sum. distance: total variation of the layer's output when m+1 slots
    survive, averaged over the broken rows; largest: the most. ties: two of the K best scores equal; unstable: the
    kernel's top-k returned another order than the stable one.
    """

    dtype: str
    lead: int
    rows: int
    broken: float
    remedied: float
    distance: float
    largest: float
    remedied_distance: float
    ties: float
    unstable: float


def random_logits(rows: int, vocab: int, scale: float, seed: int) -> tuple[Tensor, Tensor]:
    """Draft logits [rows, vocab], normal with deviation `scale`; target logits: the same, disturbed by a tenth."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    draft = torch.randn(rows, vocab, generator=generator) * scale
    return draft, draft + torch.randn(rows, vocab, generator=generator) * scale / 10


def measure(
    draft: Tensor,
    target: Tensor,
    rule: LayerRule,
    *,
    dtype: str,
    lead: int,
    pool: int,
    limits: Limits | None = None,
) -> PrecisionRow:
    """Measure on draft logits [B, V'] and target logits [B, V'] of the same tokens. m = `lead` is at least 1."""
    import torch

    check_dtype(dtype)
    q = torch.softmax(draft.to(getattr(torch, dtype)), -1)
    best, ids = stable_top(q, min(q.shape[-1], lead + pool))
    after = torch.gather(q, -1, ids[:, lead - 1 : lead + 2])
    last, fill, next_fill = after[:, 0], after[:, 1], after[:, 2]
    minus = 1 - best[:, :lead].sum(-1)
    tail = q.scatter(-1, ids[:, :lead], 0).sum(-1)
    below, fixed = torch.minimum(last, minus) < fill, torch.minimum(last, tail) < fill
    distances = [
        _distances(target, q, ids, torch.minimum(last, z), fill, next_fill, lead, rule, _rows(chosen, limits))
        for z, chosen in ((minus, below), (tail, fixed))
    ]
    _, found = torch.topk(q, min(pool, q.shape[-1]), dim=-1)
    top = best[:, :pool]
    return PrecisionRow(
        dtype=dtype,
        lead=lead,
        rows=len(q),
        broken=float(below.double().mean()),
        remedied=float(fixed.double().mean()),
        distance=float(distances[0].mean()) if len(distances[0]) else 0.0,
        largest=float(distances[0].max()) if len(distances[0]) else 0.0,
        remedied_distance=float(distances[1].max()) if len(distances[1]) else 0.0,
        ties=float((top[:, 1:] == top[:, :-1]).any(-1).double().mean()),
        unstable=float((found != ids[:, : found.shape[1]]).any(-1).double().mean()),
    )


def _rows(chosen: Tensor, limits: Limits | None) -> Iterator[int]:
    return (limits or Limits()).watch(chosen.nonzero().flatten().tolist())


def _distances(
    target: Tensor,
    q: Tensor,
    ids: Tensor,
    proxy: Tensor,
    fill: Tensor,
    next_fill: Tensor,
    lead: int,
    rule: LayerRule,
    chosen: Iterable[int],
) -> Tensor:
    """Total variation between p and the output of the layer with m+1 surviving slots, for the chosen rows.

    Survives: the sampled slot if its proxy is at least the best fill's score, else that fill. The law is added up over
    all outcomes Y in float64, with q-tilde from the low-precision q.
    """
    import torch

    out = []
    for row in chosen:
        p = torch.softmax(target[row].double(), -1)
        law = q[row].double()
        law[ids[row, :lead]] = 0
        law = law / law.sum()
        outcomes = law.nonzero().flatten()
        first, second = int(ids[row, lead]), int(ids[row, lead + 1])
        best = torch.where(outcomes == first, next_fill[row], fill[row])
        instead = torch.where(outcomes == first, second, first)
        kept = proxy[row] >= best
        leads = ids[row, :lead].expand(len(outcomes), -1)
        emitted = torch.zeros_like(p)
        for sampled in (True, False):
            those = kept if sampled else ~kept
            if bool(those.any()):
                last = (outcomes if sampled else instead)[those, None]
                candidates = torch.cat((leads[those], last), -1)
                rows = p.expand(len(candidates), -1)
                laws = [*[None] * lead, law.expand(len(candidates), -1) if sampled else None]
                accept, residual = rule.law(rows, candidates, laws)
                weight = law[outcomes[those]] / (accept.sum(-1) + residual.sum(-1))
                emitted += (residual * weight[:, None]).sum(0)
                emitted.scatter_add_(0, candidates.flatten(), (accept * weight[:, None]).flatten())
        out.append((emitted - p).abs().sum() / 2)
    return torch.stack(out) if out else torch.zeros(0)
