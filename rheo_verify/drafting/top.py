"""The k most probable tokens under q as children, ties by token id, all chosen without chance."""

from __future__ import annotations

from rheo_verify.drafting.siblings import Drawn, Siblings, Weights
from rheo_verify.probability.distributions import ranking


def _following(draft: Weights, sampling: Weights, drawn: Drawn, count: int) -> int | None:
    return ranking(draft)[len(drawn)] if len(drawn) < len(draft) else None


TOP = Siblings("top", _following, memory=lambda drawn: ())
