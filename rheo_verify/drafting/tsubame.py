"""Tsubame: plan a topology from draft scores, freeze it, then sample its tokens.

"Tsubame: Tree Replay for Diffusion-Based Speculative Decoding" (arXiv 2609.33652, abstract). Pass one builds a top-K
tree by path scores and keeps nothing of it but its shape. Pass two walks the shape and samples every slot's token from
the drafter's conditional on the sampled path. Open in the abstract: how siblings are sampled. Without replacement, and
verified so, it is lossless (as it is with replacement): the shape is a function of the root's context alone.
"""

from __future__ import annotations

from rheo_verify.drafting.best_first import Growth
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.frozen_tree import FrozenTree
from rheo_verify.drafting.pool import pool_at
from rheo_verify.drafting.shapes import Shape, shape_of
from rheo_verify.drafting.siblings import Siblings
from rheo_verify.models.model import Context, Model


def replayed_tree(children: int, depth: int, budget: int, siblings: Siblings) -> FrozenTree:
    """The shape of the `budget` best nodes of a top-K tree, its tokens drawn afresh by `siblings`."""
    design = TreeDesign(lead=children, pool=children, beam=children, depth=depth, budget=budget)

    def plan(model: Model, context: Context) -> Shape:
        growth = Growth(design, lambda tokens: pool_at(model, context + tokens, design))
        while not growth.finished:
            growth.reveal(None)
        return shape_of(node.slots for node in growth.revealed)

    return FrozenTree(plan, siblings)
