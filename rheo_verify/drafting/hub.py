"""SpecHub's pairs: every pair holds the hub a, the most probable token of q-hat (ties by token id).

Sun et al. 2024, "SpecHub: Provable Acceleration to Multi-Draft Speculative Decoding", section 3: the first token i is
drawn from q-hat. If it is not the hub, the second is; if it is, the second is drawn from q-hat without the hub.
"""

from __future__ import annotations

from rheo_verify.drafting.siblings import Drawn, Siblings, Weights
from rheo_verify.errors import InputError
from rheo_verify.probability.distributions import ranking


def _following(draft: Weights, sampling: Weights, drawn: Drawn, count: int) -> Weights | int | None:
    if count != 2:
        raise InputError("RV106", f"SpecHub drafts two tokens at every node, not {count}")
    if not drawn:
        return sampling
    hub = ranking(sampling)[0]
    if drawn[0] != hub:
        return hub
    rest = list(sampling)
    rest[hub] = rest[hub] * 0
    return rest if any(rest) else None


HUB = Siblings("hub", _following)
