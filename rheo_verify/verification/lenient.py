"""Lenient acceptance: a draft is accepted with min(1, l p/q), l > 1, to accept more. Lossy: that is its price.

The relaxed test appears under many names; Leviathan et al. 2023, "Fast Inference from Transformers via Speculative
Decoding", appendix A.5, has it as lenience. A rejected draft is replaced from norm((p - q)+). At l = 1 it is
speculative sampling.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheo_verify.probability.arrays import Array, join, mass, minimum, pick, positive_part
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.rationals import Rational, text
from rheo_verify.verification.layer import Laws, LayerRule, Outcome


def lenient(factor: Rational) -> LayerRule:
    """The rule for at most one sampled candidate, with this factor l >= 1."""

    def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
        if not len(candidates):
            return Outcome(chance.choose(target), None)
        (token,), (q,) = candidates, laws
        wanted = factor * target[token]
        if chance.flip(min(wanted, q[token]), positive_part(q[token] - wanted)):
            return Outcome(token, 0)
        return Outcome(chance.choose(positive_part(target - q)), None)

    def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
        if not candidates.shape[-1]:
            return pick(target, candidates), target
        (q,) = laws
        wanted, drafted = factor * pick(target, candidates), pick(q, candidates)
        residual = positive_part(target - q)
        whole = mass(residual)
        whole = whole + (whole == 0)
        return join([minimum(wanted, drafted) * whole]), residual * positive_part(drafted - wanted)

    return LayerRule(f"lenient {text(factor)}", verify, law)
