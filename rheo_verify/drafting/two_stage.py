"""Two-stage self-drafting (LoopSpec, arXiv 2609.17184): the drafter's second loop corrects the first loop's draw.

x is drawn from the first loop's q1. If the second loop's q2 thinks less of it, q2(x) < q1(x), a second token y is drawn
from what q2 has in excess, norm((q2 - q1)+); it is never x. The paper's two rows come out of one looped network; here
q1 is the model's q, and q2 its q-hat sharpened (squared and renormalised), so that the two differ on every toy model.
"""

from __future__ import annotations

from rheo_verify.drafting.siblings import Drawn, Siblings, Weights
from rheo_verify.errors import InputError


def _following(draft: Weights, sampling: Weights, drawn: Drawn, count: int) -> Weights | None:
    if count != 2:
        raise InputError("RV106", f"two-stage drafting makes at most two tokens at every node, not {count}")
    if not drawn:
        return draft
    second = [weight * weight for weight in sampling]
    first_mass, second_mass = sum(draft), sum(second)
    excess = [q2 * first_mass - q1 * second_mass for q1, q2 in zip(draft, second, strict=True)]
    if excess[drawn[0]] >= 0:
        return None
    return [max(value, value * 0) for value in excess]


TWO_STAGE = Siblings("two-stage", _following)
