"""RheoVerification, the paper's Algorithm 1: the sampled candidate first, against its true law q-tilde; then the rest.

With probability min(1, p/q~) the sampled candidate is accepted. On rejection the residual (p - q~)+ is what the other
candidates, in slot order, are point masses under. A token that q~ cannot produce (possible only when verification is
given another law than the one drawn from) has an infinite ratio and is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheo_verify.probability.arrays import Array, mass, minimum, pick, positive_part, zero_at
from rheo_verify.probability.chance import Chance
from rheo_verify.verification import topk
from rheo_verify.verification.layer import Branches, Laws, Outcome, around, sampled_index


def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
    """Algorithm 1 of the paper at one node."""
    s = sampled_index(laws)
    remaining = target
    if s is not None:
        q, token = laws[s], candidates[s]
        if chance.flip(minimum(target[token], q[token]) + (q[token] == 0), positive_part(q[token] - target[token])):
            return Outcome(token, s)
        remaining = positive_part(target - q)
    return topk.test_in_order(chance, remaining, [pair for pair in enumerate(candidates) if pair[0] != s])


def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
    """All weights times q~(u_s) Z, with Z the mass of the residual (1 if p = q~: then nothing is ever rejected)."""
    s = sampled_index(laws)
    if s is None:
        return topk.law(target, candidates, laws)
    others, drawn = around(candidates, s)
    return branches(target, others, s, drawn, laws[s]).joined(s)


def branches(target: Array, others: Array, place: int, drawn: Array, q: Array) -> Branches:
    """See `layer`. Once `drawn` can be rejected the residual is zero there."""
    residual = positive_part(target - q)
    whole = mass(residual)
    whole = whole + (whole == 0)
    p_drawn, q_drawn = pick(target, drawn), pick(q, drawn)
    rejected = positive_part(q_drawn - p_drawn)
    accepted = minimum(p_drawn, q_drawn) + (q_drawn == 0)
    return Branches(pick(residual, others) * rejected, accepted * whole, rejected, zero_at(residual, others))
