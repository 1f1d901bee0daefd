"""topk: every candidate is a deterministic one (SPEC 1.3; EAGLE-2/3's own verification).

In effect one draw from p, accepted if it is a candidate: lossless whatever the candidates are and however they were
chosen. It wastes the sample.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheo_verify.probability.arrays import Array, pick, zero_at
from rheo_verify.probability.chance import Chance
from rheo_verify.verification.layer import Laws, Outcome


def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
    """Accept each candidate with its probability under p; set it to zero and renormalise when it is rejected."""
    return test_in_order(chance, target, list(enumerate(candidates)))


def test_in_order(chance: Chance, remaining: Array, candidates: Sequence[tuple[int, int]]) -> Outcome:
    """Test (index, token) pairs as point masses under the weights `remaining`, then draw from what is left."""
    for index, token in candidates:
        rejected = zero_at(remaining, [token])
        if chance.flip(remaining[token], rejected.sum()):
            return Outcome(token, index)
        remaining = rejected
    return Outcome(chance.choose(remaining), None)


def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
    """Weights: accept = p at the candidates, residual = p elsewhere."""
    return pick(target, candidates), zero_at(target, candidates)
