"""An optimal transport plan for one layer: a largest flow from candidate sets to their own tokens, in integers.

Sun et al. 2023, "SpecTr", section 3 states the linear program; Thomas and Pal 2026, "Global Resolution", solve it with
floats, to a tolerance. Here augmenting paths on integers over one denominator: exact, hence lossless.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import pairwise

from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import Rational, over_common_denominator, ratio
from rheo_verify.verification.optimal_transport import Plan


def best_plan(target: Row, sets: Mapping[frozenset[int], Rational]) -> Plan:
    """A plan of most acceptance for candidate sets of this law. Ties among plans: smaller sets and tokens first."""
    names = sorted(sets, key=lambda name: (len(name), sorted(name)))
    numbers, scale = over_common_denominator([*(sets[name] for name in names), *target])
    supply, room = numbers[: len(names)], numbers[len(names) :]
    flow: list[dict[int, int]] = [dict.fromkeys(sorted(name), 0) for name in names]
    while path := _augmenting(flow, supply, room):
        edges = list(pairwise(path))
        pushed = min([supply[path[0]], room[path[-1]]] + [flow[s][v] for v, s in edges[1::2]])
        for place, (here, there) in enumerate(edges):
            if place % 2:
                flow[there][here] -= pushed
            else:
                flow[here][there] += pushed
        supply[path[0]] -= pushed
        room[path[-1]] -= pushed
    spread = {name: {v: ratio(sent, scale) for v, sent in flow[i].items()} for i, name in enumerate(names)}
    return Plan(dict(sets), spread, tuple(ratio(left, scale) for left in room))


def _augmenting(flow: list[dict[int, int]], supply: list[int], room: list[int]) -> list[int]:
    """A shortest path set, token, set, …, token along which more can flow, alternating indices; empty if none."""
    came_to_set: dict[int, int | None] = {index: None for index, left in enumerate(supply) if left}
    came_to_token: dict[int, int] = {}
    queue = deque(came_to_set)
    while queue:
        index = queue.popleft()
        for token in flow[index]:
            if token in came_to_token:
                continue
            came_to_token[token] = index
            if room[token]:
                return _trace(token, came_to_token, came_to_set)
            for other, sent in enumerate(flow):
                if other not in came_to_set and sent.get(token):
                    came_to_set[other] = token
                    queue.append(other)
    return []


def _trace(token: int, came_to_token: dict[int, int], came_to_set: dict[int, int | None]) -> list[int]:
    path = [token]
    before: int | None = token
    while before is not None:
        index = came_to_token[before]
        path.append(index)
        before = came_to_set[index]
        if before is not None:
            path.append(before)
    return path[::-1]
