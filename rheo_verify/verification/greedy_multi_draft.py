"""The transport-optimal rule for top n - 1 tokens plus one sampled.

Hu et al. 2025, "Towards Optimal Multi-draft Speculative Decoding", section 4. Accept the sampled x with probability
min(1, p/q~); else draw once from norm((p - q~)+), and a draw that is one of the top n - 1 is accepted too. Acceptance
is the sum of p over the top n - 1 and of min(p, q~) over the rest, which is the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheo_verify.probability.arrays import Array, positive_part
from rheo_verify.probability.chance import Chance
from rheo_verify.verification import rheo
from rheo_verify.verification.layer import Laws, LayerRule, Outcome, sampled_index


def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
    """The sampled one, then one draw from the residual."""
    s = sampled_index(laws)
    remaining = target
    if s is not None:
        q, token = laws[s], candidates[s]
        if chance.flip(min(target[token], q[token]), positive_part(q[token] - target[token])):
            return Outcome(token, s)
        remaining = positive_part(target - q)
    token = chance.choose(remaining)
    return Outcome(token, next((index for index, top in enumerate(candidates) if top == token), None))


law = rheo.law
"""Testing point masses one by one, as `rheo` does, is one draw from the same residual."""

RULE = LayerRule("greedy-multi-draft", verify, law)
