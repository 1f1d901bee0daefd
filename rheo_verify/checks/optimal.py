"""The most that any layer rule can accept, for a given law of candidate sets (claim `optimal-acceptance`).

A rule that emits p and accepts only candidates moves each set's probability to tokens of that set, at most p(v) to
token v: a flow. So the best rate is a maximum flow, and by duality the smallest cut: whatever the token set T, no more
can pass than p(T), for the sets inside T, plus the probability of the sets not inside T. The two are computed apart; a
flow and a cut of equal value prove each other optimal, and `Optimum.verdict` checks exactly that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheo_verify.checks.acceptance import Layer, candidate_sets
from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError
from rheo_verify.probability.distributions import Row, ranking
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, ZERO, Rational, over_common_denominator, ratio, total
from rheo_verify.verification.layer import LayerRule, sampled_index
from rheo_verify.verification.optimal_transport import Plan, optimal_transport

LARGEST_ZETA = 20
MOST_EDGES = 100_000
_WORD = 2**62


@dataclass(frozen=True)
class Optimum:
    """The optimum with its certificate: a plan that reaches `rate`, and a token set `cut` that nothing can pass."""

    target: Row
    rate: Rational
    plan: Plan
    cut: frozenset[int]

    @property
    def cut_value(self) -> Rational:
        """`p(T) + Pr(candidate set not inside T)`, an upper bound on every rule's acceptance."""
        return cut_value(self.target, self.plan.sets, self.cut)

    def verdict(self) -> Verdict:
        """VERIFIED if the plan is feasible and its value is that of the cut. Trusts nothing that found them."""
        plan = self.plan
        feasible = all(
            token in chosen and value >= 0 for chosen, flows in plan.flow.items() for token, value in flows.items()
        ) and all(total(flows.values()) <= plan.sets.get(chosen, ZERO) for chosen, flows in plan.flow.items())
        served = _served(plan.flow, len(self.target))
        balanced = all(
            left >= 0 and sent + left == p for sent, left, p in zip(served, plan.residual, self.target, strict=True)
        )
        return Verdict.of(feasible and balanced and plan.accepted == self.rate == self.cut_value)


def cut_value(target: Row, sets: Mapping[frozenset[int], Rational], cut: frozenset[int]) -> Rational:
    """`p(T) + Pr(candidate set not inside T)` for T = `cut`."""
    return total(target[v] for v in cut) + total(mass for chosen, mass in sets.items() if not chosen <= cut)


def optimal_acceptance(layer: Layer) -> Optimum:
    """The optimum for the layer's own law of candidate sets, with its plan and its cut."""
    return largest_flow(layer.target, candidate_sets(layer))


def largest_flow(target: Row, sets: Law[frozenset[int]]) -> Optimum:
    """The optimum for any law of candidate sets, on integers: capacities are brought to one denominator.

    A token of one set alone is served by it first, which no other set can miss; what the sets have left goes through
    `networkx.preflow_push`, sets that are equal but for such tokens together. The cut is the zeta transform's where the
    vocabulary allows it (at most 20 tokens), else the one that the flow leaves. Raises `InputError` RV102 unless the
    probabilities of the sets sum to one, RV108 where there are too many of them.
    """
    _check_sets(target, sets)
    names = list(sets)
    capacities, scale = over_common_denominator([*(sets[name] for name in names), *target])
    left, room = list(capacities[: len(names)]), list(capacities[len(names) :])
    uses = Counter(token for name in names for token in name)
    flows: list[dict[int, int]] = [dict.fromkeys(sorted(name), 0) for name in names]

    def send(index: int, token: int, most: int) -> int:
        sent = min(most, left[index], room[token])
        flows[index][token] += sent
        left[index] -= sent
        room[token] -= sent
        return sent

    for index, flow in enumerate(flows):
        for token in flow:
            if uses[token] == 1:
                send(index, token, scale)
    together: dict[frozenset[int], list[int]] = {}
    for index, name in enumerate(names):
        together.setdefault(frozenset(token for token in name if uses[token] > 1), []).append(index)
    for shared, sent_to in zip(together, _pushed(list(together), together, left, room), strict=True):
        for token, amount in sent_to.items():
            for index in together[shared]:
                amount -= send(index, token, amount)
    plan_flow = {
        name: {v: ratio(sent, scale) for v, sent in flow.items()} for name, flow in zip(names, flows, strict=True)
    }
    plan = Plan(dict(sets), plan_flow, tuple(ratio(own, scale) for own in room))
    cut = smallest_cut(target, sets)[1] if len(target) <= LARGEST_ZETA else _cut_of(flows, left)
    return Optimum(target, ratio(sum(sum(flow.values()) for flow in flows), scale), plan, cut)


def _pushed(
    shared: Sequence[frozenset[int]], members: Mapping[frozenset[int], Sequence[int]], left: list[int], room: list[int]
) -> list[dict[int, int]]:
    """A largest flow from groups of sets (what their members have left, together) to the tokens that they share."""
    import networkx

    edges = sum(map(len, shared))
    if edges > MOST_EDGES:
        raise InputError("RV108", f"the optimum is a flow over {edges:,} edges here, more than {MOST_EDGES:,}")
    graph = networkx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for index, tokens in enumerate(shared):
        graph.add_edge("source", ("set", index), capacity=sum(left[member] for member in members[tokens]))
        for token in tokens:
            graph.add_edge(("set", index), ("token", token))
            graph.add_edge(("token", token), "sink", capacity=room[token])
    solved = networkx.algorithms.flow.preflow_push(graph, "source", "sink")
    return [
        {token: solved["set", index]["token", token]["flow"] for token in sorted(tokens)}
        for index, tokens in enumerate(shared)
    ]


def smallest_cut(target: Row, sets: Law[frozenset[int]]) -> tuple[Rational, frozenset[int]]:
    """The minimum over all 2^V token sets T of `p(T) + Pr(set not inside T)`, and the first T that has it.

    Zeta transform: summing over subsets one token at a time gives Pr(set inside T) for every T at once. Exact: int64
    where the common denominator fits, else Python integers. Raises `InputError` RV108 above 20 tokens.
    """
    vocab = len(target)
    if vocab > LARGEST_ZETA:
        raise InputError("RV108", f"2^{vocab} token sets are too many for the cut formula (at most 2^{LARGEST_ZETA})")
    names = list(sets)
    numerators, scale = over_common_denominator([*(sets[name] for name in names), *target])
    kind: Any = np.int64 if scale < _WORD else object
    inside = np.zeros(2**vocab, dtype=kind)
    for index, name in enumerate(names):
        inside[sum(1 << token for token in name)] += numerators[index]
    own = np.zeros(2**vocab, dtype=kind)
    for token in range(vocab):
        halves = inside.reshape(-1, 2, 1 << token)
        halves[:, 1] += halves[:, 0]
        own.reshape(-1, 2, 1 << token)[:, 1] += numerators[len(names) + token]
    values = own + (scale - inside)
    best = int(values.argmin())
    return ratio(int(values[best]), scale), frozenset(v for v in range(vocab) if best >> v & 1)


def _check_sets(target: Row, sets: Law[frozenset[int]]) -> None:
    mass = total(sets.values())
    if mass != 1:
        raise InputError("RV102", f"the probabilities of the candidate sets sum to {mass}, not 1")
    known = frozenset(range(len(target)))
    for chosen in sets:
        if not chosen <= known:
            raise InputError("RV106", f"a candidate set holds a token outside the vocabulary of {len(target)}")


def _served(flow: Mapping[frozenset[int], Mapping[int, Rational]], vocab: int) -> list[Rational]:
    """What each token receives from all sets."""
    received = [ZERO] * vocab
    for flows in flow.values():
        for token, value in flows.items():
            received[token] += value
    return received


def _cut_of(flows: Sequence[Mapping[int, int]], left: Sequence[int]) -> frozenset[int]:
    """The tokens that a set with something left still reaches, by way of sets that could send elsewhere."""
    senders: dict[int, list[int]] = {}
    for index, flow in enumerate(flows):
        for token, sent in flow.items():
            if sent:
                senders.setdefault(token, []).append(index)
    frontier = [index for index, rest in enumerate(left) if rest]
    seen, reached = set(frontier), set[int]()
    while frontier:
        for token in flows[frontier.pop()]:
            if token not in reached:
                reached.add(token)
                more = [index for index in senders.get(token, ()) if index not in seen]
                seen.update(more)
                frontier += more
    return frozenset(reached)


def optimal_rule() -> LayerRule:
    """The rule that follows an optimal plan at every layer of a tree, chosen from what it sees there.

    It sees p, the candidates and q~, hence m, n and (since fill is ranked as q~ ranks) every other candidate set that
    the draw could have given. The plan is right for the layer only if n was fixed before the draw. Raises `InputError`
    RV502 where the fill is not what q~ would rank, so that the other sets cannot be known.
    """
    plans: dict[tuple[Any, ...], Plan] = {}

    def plan_of(target: Row, candidates: tuple[int, ...], laws: Sequence[Row | None]) -> Plan:
        s = sampled_index(laws)
        drawn_from = None if s is None else laws[s]
        if s is None or drawn_from is None:
            return largest_flow(target, {frozenset(candidates): ONE}).plan
        lead, count = candidates[:s], len(candidates)
        if candidates != _pool_of(drawn_from, lead, candidates[s], count):
            raise InputError("RV502", "optimal-transport needs the fill in the order of q~; q-hat ranks unlike q here")
        key = (target, drawn_from, lead, count)
        if key not in plans:
            draws = ((v, mass) for v, mass in enumerate(drawn_from) if mass)
            sets = collect((frozenset(_pool_of(drawn_from, lead, v, count)), mass) for v, mass in draws)
            plans[key] = largest_flow(target, sets).plan
        return plans[key]

    return optimal_transport(plan_of)


def _pool_of(law: Row, lead: tuple[int, ...], drawn: int, count: int) -> tuple[int, ...]:
    taken = {*lead, drawn}
    return (*lead, drawn, *(token for token in ranking(law) if token not in taken))[:count]
