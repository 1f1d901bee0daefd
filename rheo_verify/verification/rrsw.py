"""RRSw: recursive rejection without replacement, in slot order throughout (SPEC 1.3; paper, appendix D.2).

Lead candidates are point masses, the sampled one is tested against q-tilde under what the lead left, then the fill.
As in `rheo`, a token that q-tilde cannot produce is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheo_verify.probability.arrays import Array, join, mass, minimum, pick, positive_part, zero_at
from rheo_verify.probability.chance import Chance
from rheo_verify.verification import topk
from rheo_verify.verification.layer import Branches, Laws, Outcome, around, sampled_index


def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
    """Each candidate in turn: r(u) if it is a point mass, min(1, r(u)/q~(u)) if it is the sampled one."""
    remaining = target
    for index, (token, q) in enumerate(zip(candidates, laws, strict=True)):
        if q is None:
            rejected = zero_at(remaining, [token])
            accepted = chance.flip(remaining[token], rejected.sum())
        else:
            scaled = remaining.sum() * q
            rejected = positive_part(remaining - scaled)
            yes = minimum(remaining[token], scaled[token]) + (q[token] == 0)
            accepted = chance.flip(yes, positive_part(scaled[token] - remaining[token]))
        if accepted:
            return Outcome(token, index)
        remaining = rejected
    return Outcome(chance.choose(remaining), None)


def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
    """All weights times q~(u_s) Z, with Z the mass of (r - r_total q~)+ (1 if it is empty)."""
    s = sampled_index(laws)
    if s is None:
        return topk.law(target, candidates, laws)
    others, drawn = around(candidates, s)
    return branches(target, others, s, drawn, laws[s]).joined(s)


def branches(target: Array, others: Array, place: int, drawn: Array, q: Array) -> Branches:
    """See `layer`."""
    before, after = others[..., :place], others[..., place:]
    remaining = zero_at(target, before)
    scaled = mass(remaining) * q
    residual = positive_part(remaining - scaled)
    whole = mass(residual)
    whole = whole + (whole == 0)
    r_drawn, s_drawn, q_drawn = pick(remaining, drawn), pick(scaled, drawn), pick(q, drawn)
    rejected, impossible = positive_part(s_drawn - r_drawn), q_drawn == 0
    kept = [pick(target, before) * (q_drawn + impossible) * whole, pick(residual, after) * rejected]
    accepted = (minimum(r_drawn, s_drawn) + impossible * mass(remaining)) * whole
    return Branches(join(kept), accepted, rejected, zero_at(residual, after))
