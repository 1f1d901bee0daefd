"""SpecHub: a sparse transport of two drafts through the hub, the draft's most probable token a.

Sun et al. 2024, "SpecHub: Provable Acceleration to Multi-Draft Speculative Decoding", section 3. Pairs (i, a) have
probability A(i) = q(i), pairs (a, i) have B(i) = q(a) q(i) / (1 - q(a)). What is left of p is spent in four rounds: by
i in (i, a), by i in (a, i), by a in (a, i), by a in (i, a); a pair that got nothing draws from what is left. Open:
a draft that is certain of the hub. Then there is no second token, and B is one mass of 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rheo_verify.errors import MisuseError
from rheo_verify.probability.arrays import Array, minimum
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import ranking
from rheo_verify.verification.layer import Laws, LayerRule, Outcome


class _Rounds(NamedTuple):
    """What each round accepts and out of how much: rounds 1 and 2 by token, rounds 3 and 4 for the hub.

    `alone`: the draft is certain of the hub.
    """

    hub: int
    alone: bool
    other_first: tuple[Array, Array]
    other_second: tuple[Array, Array]
    hub_first: tuple[Any, Any]
    hub_second: tuple[Any, Any]
    left: Array


def _rounds(target: Array, draft: Array) -> _Rounds:
    hub = ranking(draft)[0]
    first = draft.copy()
    first[hub] = draft[hub] * 0
    rest = first.sum()
    second = first * (draft[hub] / rest) if rest else first
    others = target.copy()
    others[hub] = target[hub] * 0
    spent_first = minimum(others, first)
    others = others - spent_first
    spent_second = minimum(others, second)
    left = others - spent_second
    hub_left = target[hub]
    unspent_second = (second - spent_second).sum() if rest else draft[hub]
    spent_hub_first = min(hub_left, unspent_second)
    unspent_first = (first - spent_first).sum()
    spent_hub_second = min(hub_left - spent_hub_first, unspent_first)
    left[hub] = hub_left - spent_hub_first - spent_hub_second
    return _Rounds(
        hub,
        not rest,
        (spent_first, first),
        (spent_second, second),
        (spent_hub_first, unspent_second),
        (spent_hub_second, unspent_first),
        left,
    )


def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
    """The pair's other token first, then its hub, then a draw from what is left of p."""
    if not len(candidates):
        return Outcome(chance.choose(target), None)
    rounds = _rounds(target, laws[0])
    for place, (spent, offered) in _offers(rounds, candidates):
        if chance.flip(spent, offered - spent):
            return Outcome(candidates[place], place)
    return Outcome(chance.choose(rounds.left), None)


def _offers(rounds: _Rounds, candidates: Sequence[int]) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """The candidates' places in the order of the rounds, each with what its round accepts and out of how much."""
    hub_is_first = candidates[0] == rounds.hub
    if len(candidates) == 1 and not (hub_is_first and rounds.alone):
        raise MisuseError("RV303", "SpecHub verifies pairs, and a lone token only where the draft is certain of it")
    by_token = rounds.other_second if hub_is_first else rounds.other_first
    for place, token in enumerate(candidates):
        if token != rounds.hub:
            yield place, (by_token[0][token], by_token[1][token])
    for place, token in enumerate(candidates):
        if token == rounds.hub:
            yield place, rounds.hub_first if hub_is_first else rounds.hub_second


def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
    """The same, as probabilities. One context at a time."""
    alive = target.sum()
    accept = np.array([alive * 0] * len(candidates), dtype=target.dtype)
    if not len(candidates):
        return accept, target
    rounds = _rounds(target, laws[0])
    for place, (spent, offered) in _offers(rounds, candidates.tolist()):
        accept[place] = alive * spent / offered if offered else alive * 0
        alive = alive - accept[place]
    whole = rounds.left.sum()
    return accept, rounds.left * (alive / whole if whole else alive)


RULE = LayerRule("spechub", verify, law)
