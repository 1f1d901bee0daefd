"""SpecHub: a sparse transport of two drafts through the hub, the draft's most probable token a.

Sun et al. 2024, "SpecHub: Provable Acceleration to Multi-Draft Speculative Decoding", section 3. Pairs (i, a) have
probability A(i) = q(i), pairs (a, i) have B(i) = q(a) q(i) / (1 - q(a)). What is left of p is spent in four rounds: by
i in (i, a), by i in (a, i), by a in (a, i), by a in (i, a); a pair that got nothing draws from what is left. Open:
a draft that is certain of the hub. Then there is no second token, and B is one mass of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rheo_verify.probability.arrays import Array, minimum
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import ranking
from rheo_verify.verification.layer import Laws, LayerRule, Outcome


class _Rounds(NamedTuple):
    """What each round accepts and out of how much: rounds 1 and 2 by token, rounds 3 and 4 for the hub."""

    hub: int
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
    hub_is_first = candidates[0] == rounds.hub
    if len(candidates) == 2:
        place = 1 if hub_is_first else 0
        other = candidates[place]
        spent, drafted = rounds.other_second if hub_is_first else rounds.other_first
        if chance.flip(spent[other], drafted[other] - spent[other]):
            return Outcome(other, place)
    spent, unspent = rounds.hub_first if hub_is_first else rounds.hub_second
    if chance.flip(spent, unspent - spent):
        return Outcome(rounds.hub, 0 if hub_is_first else 1)
    return Outcome(chance.choose(rounds.left), None)


def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
    """The same, as probabilities. One context at a time."""
    count = len(candidates)
    if not count:
        return target[:0], target
    rounds = _rounds(target, laws[0])
    hub_is_first = int(candidates[0]) == rounds.hub
    accept = np.zeros(count, dtype=object) * target[:1]
    alive = target.sum()
    if count == 2:
        place = 1 if hub_is_first else 0
        other = candidates[place]
        spent, drafted = rounds.other_second if hub_is_first else rounds.other_first
        accept[place] = spent[other] / drafted[other]
        alive = alive - accept[place]
    spent, unspent = rounds.hub_first if hub_is_first else rounds.hub_second
    if unspent:
        hub_place = 0 if hub_is_first else 1
        accept[hub_place] = alive * spent / unspent
        alive = alive - accept[hub_place]
    whole = rounds.left.sum()
    return accept, rounds.left * (alive / whole if whole else alive)


RULE = LayerRule("spechub", verify, law)
