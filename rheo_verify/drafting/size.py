"""How many unpruned trees there are, before they are enumerated."""

from __future__ import annotations

from itertools import product

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import outcomes_at
from rheo_verify.errors import InputError
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model

MOST_CONTEXTS = 20_000


def expanded_contexts(design: TreeDesign, vocab: int) -> int:
    """How many contexts every unpruned tree expands: the root, then at most W at each depth."""
    expanded, layer = 0, 1
    for depth in range(design.depth):
        beam = min(design.beam, layer)
        following = beam * min(design.pool, vocab)
        if following == layer:
            return expanded + beam * (design.depth - depth)
        expanded, layer = expanded + beam, following
    return expanded


def most_nodes(design: TreeDesign, vocab: int) -> int:
    """How many nodes every unpruned tree has: larger budgets keep no more."""
    return expanded_contexts(design, vocab) * min(design.pool, vocab)


def most_trees(design: TreeDesign, vocab: int) -> int:
    """An upper bound on the number of unpruned trees: every expanded context draws from all tokens outside the lead.

    Beyond some thousand digits the exponent is cut: such a number only says that there are too many.
    """
    outcomes = max(1, vocab - design.lead) if design.pool > design.lead else 1
    bound: int = outcomes ** min(expanded_contexts(design, vocab), 1_000)
    return bound


def equal_support_trees(model: Model, context: Context, design: TreeDesign, limits: Limits | None = None) -> int | None:
    """The exact number of unpruned trees if every context's sampled token has as many outcomes, else None.

    All contexts that could be expanded are looked at; None also when there are more than `MOST_CONTEXTS`.
    Raises `LimitReached`.
    """
    if model.vocab ** (design.depth - 1) > MOST_CONTEXTS:
        return None
    limits = limits or Limits()
    sizes: set[int] = set()
    for length in range(design.depth):
        for path in product(range(model.vocab), repeat=length):
            limits.work(model.vocab)
            try:
                sizes.add(outcomes_at(model, context + path, design))
            except InputError:
                continue  # no row: this context is never expanded
            if len(sizes) > 1:
                return None
    trees: int = sizes.pop() ** expanded_contexts(design, model.vocab)
    return trees
