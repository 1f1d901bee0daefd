"""Eager drafting: build the whole tree, then keep the R best nodes (SPEC 1.2; EAGLE-2's expand then rerank).

This is the algorithm as published and as engines run it. All of its runs at once: `all_trees`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import Pool, pool_at
from rheo_verify.drafting.priority import priority_of
from rheo_verify.drafting.tree import Node
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import draw
from rheo_verify.probability.rationals import ONE


def build_then_prune(chance: Chance, model: Model, context: Context, design: TreeDesign) -> Iterator[Node]:
    """Draw every expanded context's sampled token, then yield the R nodes of highest priority, best first."""
    tree = unpruned_tree(chance, design, lambda tokens: pool_at(model, context + tokens, design))
    yield from sorted(tree, key=priority_of(design))[: design.budget]


def unpruned_tree(
    chance: Chance,
    design: TreeDesign,
    pool_of: Callable[[Context], Pool],
    ahead: Callable[[list[Context]], None] | None = None,
) -> list[Node]:
    """One unpruned tree: depth by depth, the W nodes of highest priority are expanded.

    `ahead` is told the token paths of each depth before their pools are asked for: a network runs them in one batch.
    """
    root = Node((), (), "lead", ONE)
    tree: list[Node] = []
    layer = [root]
    for _ in range(design.depth):
        beam = sorted(layer, key=priority_of(design))[: design.beam]
        if ahead is not None:
            ahead([parent.tokens for parent in beam])
        layer = [child for parent in beam for child in _expand(chance, parent, pool_of(parent.tokens))]
        tree += layer
    return tree


def _expand(chance: Chance, parent: Node, pool: Pool) -> list[Node]:
    sampled = None if pool.sampling_law is None else draw(chance, pool.sampling_law)
    return [
        Node(
            slots=(*parent.slots, candidate.slot),
            tokens=(*parent.tokens, candidate.token),
            kind=candidate.kind,
            score=parent.score * candidate.factor,
            law=pool.verification_law if candidate.kind == "sampled" else None,
        )
        for candidate in pool.candidates(sampled)
    ]
