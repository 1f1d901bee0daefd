"""Greedy drafting: the n - 1 most probable tokens of q-hat, then one token drawn from the rest.

Hu et al. 2025, "Towards Optimal Multi-draft Speculative Decoding", section 4. It is RheoSampling's pool with m = n - 1
lead tokens and no fill.
"""

from __future__ import annotations

from rheo_verify.drafting.siblings import Drawn, Siblings, Weights
from rheo_verify.probability.distributions import ranking


def _following(draft: Weights, sampling: Weights, drawn: Drawn, count: int) -> Weights | int | None:
    if len(drawn) == len(sampling):
        return None
    if len(drawn) < count - 1:
        return ranking(sampling)[len(drawn)]
    rest = list(sampling)
    for token in drawn:
        rest[token] = rest[token] * 0
    return rest if any(rest) else None


TOP_AND_SAMPLED = Siblings("top-and-sampled", _following, memory=lambda drawn: ())
