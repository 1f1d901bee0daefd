"""The largest tau that layer rules can reach in a static tree.

In a static tree every T_R has the same slots, so each layer's n is fixed before its Y is drawn and a transport plan may
serve it. The plan that accepts most at every layer is *not* the one with the largest tau: it is worth more to descend
where the tree goes on. So every layer maximises, from the leaves up, the accepted probability weighted by what the
accepted child is worth, one token and the expected number below it: a transport problem of largest weight, solved
exactly by network simplex on integers. Rules that look at several layers at once are not covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from rheo_verify.checks.acceptance import draws, layer_at
from rheo_verify.checks.optimal import MOST_EDGES, optimal_acceptance
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import SlotPath, TokenPath, Tree
from rheo_verify.errors import InputError
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE, ZERO, Rational, over_common_denominator, ratio

Candidates: TypeAlias = tuple[int, ...]
Worth: TypeAlias = Mapping[tuple[Candidates, int], Rational]


def static_topology(trees: Iterable[tuple[Tree, Rational]]) -> frozenset[SlotPath] | None:
    """The slots of T_R if they are the same in every outcome, else None."""
    topologies = {frozenset(node.slots for node in tree) for tree, _ in trees}
    return topologies.pop() if len(topologies) == 1 else None


def best_tokens_per_cycle(
    model: Model, context: Context, design: TreeDesign, topology: frozenset[SlotPath], limits: Limits | None = None
) -> Rational:
    """The largest expected number of tokens per cycle over all lossless choices of a rule at each layer.

    `topology` holds every slot path of the static tree (`static_topology`); `design` gives m. Raises `LimitReached`,
    and `InputError` RV108 where a layer is too large.
    """
    limits = limits or Limits()
    known: dict[tuple[SlotPath, TokenPath], Rational] = {}

    def below(slots: SlotPath, tokens: TokenPath) -> Rational:
        count = sum(path[:-1] == slots for path in topology if path)
        if count == 0:
            return ZERO
        if (slots, tokens) not in known:
            limits.check_time()
            layer = layer_at(model, context + tokens, design.lead, count)
            if not any(path[: len(slots)] == slots for path in topology if len(path) > len(slots) + 1):
                known[slots, tokens] = optimal_acceptance(layer).rate  # every accepted token is worth one
                return known[slots, tokens]
            tuples = {tuple(c.token for c in candidates): mass for mass, candidates in draws(layer)}
            worth = {
                (chosen, token): ONE + below((*slots, place), (*tokens, token))
                for chosen in tuples
                for place, token in enumerate(chosen, 1)
            }
            known[slots, tokens] = heaviest_plan(layer.target, tuples, worth)
        return known[slots, tokens]

    return ONE + below((), ())


def heaviest_plan(target: Row, tuples: Law[Candidates], worth: Worth) -> Rational:
    """The largest `sum of flow * worth` when each tuple sends at most its probability to its tokens, and token v
    receives at most p(v). All worths are positive. Raises `InputError` RV108 above 100,000 pairs of tuple and token."""
    import networkx

    if len(worth) > MOST_EDGES:
        raise InputError("RV108", f"the best plan is a flow over {len(worth):,} edges here, more than {MOST_EDGES:,}")
    names = list(tuples)
    capacities, scale = over_common_denominator([*(tuples[name] for name in names), *target])
    edges = list(worth)
    weights, weight_scale = over_common_denominator([worth[edge] for edge in edges])
    graph = networkx.DiGraph()
    graph.add_edge("sink", "source", weight=0)
    for index, name in enumerate(names):
        graph.add_edge("source", name, capacity=capacities[index], weight=0)
    for token in range(len(target)):
        graph.add_edge(token, "sink", capacity=capacities[len(names) + token], weight=0)
    for (name, token), weight in zip(edges, weights, strict=True):
        graph.add_edge(name, token, weight=-weight, capacity=scale)
    cost, _ = networkx.network_simplex(graph)
    return ratio(-cost, scale * weight_scale)
