"""An unpruned tree that prunes to a given T_R, found by search: the counterexample that a replay string names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from rheo_verify.drafting.build_then_prune import unpruned_tree
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import Pool, pool_at
from rheo_verify.drafting.priority import priority_of
from rheo_verify.drafting.tree import Tree
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import one_hot
from rheo_verify.probability.enumeration import enumerate_paths

MOST_PATHS = 20_000


def example_draws(
    model: Model, context: Context, design: TreeDesign, tree: Tree, most: int = MOST_PATHS, limits: Limits | None = None
) -> tuple[int, ...] | None:
    """The choices of a run of `build_then_prune` that gives `tree`; None if none is found among `most` paths.

    Where the tree holds a context's sampled node, its draw is known; only the other draws are searched. Raises
    `LimitReached`.
    """
    limits = limits or Limits()
    known = {node.tokens[:-1]: node.token for node in tree if node.law is not None}
    pools: dict[Context, Pool] = {}

    def pool_of(tokens: Context) -> Pool:
        if tokens not in pools:
            pools[tokens] = pool_at(model, context + tokens, design)
        return pools[tokens]

    def run(chance: Any) -> tuple[Tree, tuple[int, ...]]:
        script = _Script(chance, model.vocab)

        def expanding(tokens: Context) -> Pool:
            script.fixed = known.get(tokens)
            return pool_of(tokens)

        nodes = sorted(unpruned_tree(script, design, expanding), key=priority_of(design))
        return tuple(nodes[: design.budget]), tuple(script.draws)

    for path in limits.watch(islice(enumerate_paths(run), most), every=16):
        found, draws = path.result
        if found == tree:
            return draws
    return None


class _Script:
    """A `Chance` whose draw at the context being expanded may be fixed beforehand."""

    def __init__(self, chance: Any, vocab: int) -> None:
        self.chance = chance
        self.vocab = vocab
        self.fixed: int | None = None
        self.draws: list[int] = []

    def choose(self, weights: Sequence[Any]) -> int:
        if self.fixed is not None and weights[self.fixed]:
            weights = one_hot(self.fixed, self.vocab)
        self.draws.append(self.chance.choose(weights))
        return self.draws[-1]

    def flip(self, yes: Any, no: Any) -> bool:
        return self.choose((yes, no)) == 0
