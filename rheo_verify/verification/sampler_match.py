"""Sampler match: draw the target's own token once; if a child carries it, descend, else emit it and stop.

It never looks at q: lossless for every tree, also one that was grown or pruned by its drawn tokens. There is one shared
draw per node, and siblings with equal tokens count once. EAGLE at temperature 0, OPT-Tree, JetSpec and DominoTree do
so; its law is `topk`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheo_verify.probability.arrays import Array, is_torch, pick, zero_at
from rheo_verify.probability.chance import Chance
from rheo_verify.verification.layer import Laws, LayerRule, Outcome


def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
    """One draw from p; the first child that carries it, if any."""
    token = chance.choose(target)
    return Outcome(token, next((index for index, child in enumerate(candidates) if child == token), None))


def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
    """Weights: p at the first sibling of each token, p elsewhere."""
    equal = candidates[..., :, None] == candidates[..., None, :]
    before = equal & np.tri(candidates.shape[-1], k=-1, dtype=bool) if not is_torch(candidates) else equal.tril(-1)
    return pick(target, candidates) * (before.sum(-1) == 0), zero_at(target, candidates)


RULE = LayerRule("sampler-match", verify, law)
