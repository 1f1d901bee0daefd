"""Where best-first growth is the published build-then-prune, and where it would silently repair a broken design."""

from __future__ import annotations

from itertools import product

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.rationals import text

MOST_CONTEXTS = 200_000


def why_not_lazy(design: TreeDesign, model: Model, context: Context = (), limits: Limits | None = None) -> str | None:
    """Why lazy growth may differ from build-then-prune for this design, or None when claim `eager-equals-lazy` holds.

    The conditions: ties go by position; the sampled factor is at least every fill's, whatever Y is; no factor exceeds
    one. The paper's proxy meets the second by Lemma 1; a constant or the raw score guarantees nothing. The third can
    fail only for m = 0 with epsilon > 0, and then every context that could be expanded is looked at.
    Raises `LimitReached`.
    """
    if design.ties != "position":
        return "ties are broken by token, so a drawn token can decide its own survival"
    if design.pool <= design.lead:
        return None
    if design.proxy == "raw":
        return "the sampled slot is scored by its own q, so a drawn token decides its own survival"
    if design.proxy != "rheo":
        return f"the constant proxy {text(design.proxy)} is not bound to outrank every fill"
    if design.lead == 0 and design.epsilon > 0:
        return _factor_above_one(design, model, context, limits or Limits())
    return None


def lemma_1_covers(design: TreeDesign) -> bool:
    """Whether claim `eager-equals-lazy` holds for this design on every model: the paper's proxy, without epsilon."""
    rheo = design.proxy == "rheo" and (design.lead > 0 or design.epsilon == 0)
    return design.ties == "position" and (design.pool <= design.lead or rheo)


def _factor_above_one(design: TreeDesign, model: Model, context: Context, limits: Limits) -> str | None:
    if model.vocab ** (design.depth - 1) > MOST_CONTEXTS:
        return f"with epsilon > 0, q(x1) + epsilon <= 1 would have to be checked at over {MOST_CONTEXTS:,} contexts"
    for length in range(design.depth):
        for path in product(range(model.vocab), repeat=length):
            limits.work(model.vocab)
            try:
                best = max(model.draft(context + path))
            except InputError:
                continue  # no row: this context cannot be expanded, or the growth itself will name it
            if best + design.epsilon > 1:
                return f"at the context {model.phrase(context + path)} the factor q(x1) + epsilon exceeds 1"
    return None
