"""A layer averaged over its siblings: what verification does at a node before anything of the draft is known.

Where the topology is frozen, the siblings at a node are independent of the rest of the tree, and this average is all
that the law of a cycle needs of that node. Plain integers over one denominator.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

from rheo_verify.drafting.siblings import Drawn, Siblings
from rheo_verify.limits import Limits
from rheo_verify.probability.distributions import Row, normalise
from rheo_verify.probability.rationals import ONE, ZERO, Rational, over_common_denominator
from rheo_verify.verification.layer import LayerRule, exact_law

Pasts: TypeAlias = Sequence[tuple[Drawn, int]]
"""Drafted tokens that were all rejected, each with a weight."""

Rows: TypeAlias = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""The rows p, q and q-hat at a context, as integer weights."""


class Average(NamedTuple):
    """`descend[i][v]` / `scale` is the probability of accepting the i-th sibling and of its token being v.

    `stop[v]` / `scale` is that of all siblings rejected and v emitted; all of these sum to one. `paths` is the number
    of ways that were told apart.
    """

    descend: Sequence[Sequence[int]]
    stop: Sequence[int]
    scale: int
    paths: int


def average_by_enumeration(
    rule: LayerRule,
    siblings: Siblings,
    target: Row,
    draft: Row,
    sampling: Row,
    count: int,
    limits: Limits | None = None,
) -> Average:
    """Over every tuple of siblings, each with the rule's exact law: for any rule, and the twin of faster ways.

    Raises `LimitReached` RV201.
    """
    limits = limits or Limits()
    vocab = len(target)
    descend = [[ZERO] * vocab for _ in range(count)]
    stop = [ZERO] * vocab
    open_tuples: list[tuple[Drawn, tuple[Row | None, ...], Rational]] = [((), (), ONE)]
    paths = 0
    while open_tuples:
        limits.check_time()
        drawn, laws, probability = open_tuples.pop()
        following = siblings.following(draft, sampling, drawn, count) if len(drawn) < count else None
        if isinstance(following, int):
            open_tuples.append(((*drawn, following), (*laws, None), probability))
        elif following is not None:
            law = normalise(following)
            for token, q in enumerate(law):
                if q:
                    open_tuples.append(((*drawn, token), (*laws, law), probability * q))
        else:
            paths += 1
            accept, residual = exact_law(rule, target, drawn, laws)
            for place, token in enumerate(drawn):
                descend[place][token] += probability * accept[place]
            for token, emitted in enumerate(residual):
                stop[token] += probability * emitted
    flat, scale = over_common_denominator([value for row in (*descend, stop) for value in row])
    rows = [flat[start : start + vocab] for start in range(0, len(flat), vocab)]
    return Average(rows[:-1], rows[-1], scale, paths)


def average_by_rejection(
    siblings: Siblings,
    target: Sequence[int],
    draft: Sequence[int],
    sampling: Sequence[int],
    count: int,
    limits: Limits | None = None,
) -> Average:
    """Recursive rejection, draw by draw: the residual does not depend on which token was rejected.

    So pasts that the next draw does not tell apart (`Siblings.memory`) are one, and the last draw needs no branching.
    The rows are integer weights, not normalised. Raises `LimitReached` RV201.
    """
    node = _Rejection(siblings, draft, sampling, count, limits or Limits())
    return node.after(list(target), [((), 1)], 0)


class _Rejection:
    """One node's siblings under recursive rejection, in integers."""

    def __init__(
        self, siblings: Siblings, draft: Sequence[int], sampling: Sequence[int], count: int, limits: Limits
    ) -> None:
        self.siblings = siblings
        self.draft = draft
        self.sampling = sampling
        self.count = count
        self.limits = limits
        self.nothing = [0] * len(draft)

    def after(self, residual: list[int], pasts: Pasts, place: int) -> Average:
        """The average over what comes after one of `pasts` was rejected, `residual` (weights) being left of the target.

        The pasts have weights; all of them left the same residual, which is not zero.
        """
        others = self.count - place - 1
        if len(pasts) == 1:
            return self._draw(residual, pasts[0][0], others)
        return _mixture([(weight, self._draw(residual, past, others)) for past, weight in pasts])

    def _draw(self, residual: list[int], past: Drawn, others: int) -> Average:
        """The next sibling after one past, and what comes after it."""
        self.limits.check_time()
        mass = sum(residual)
        following = self._following(past)
        if following is None:
            return Average([self.nothing] * (others + 1), residual, mass, 1)
        whole = sum(following)
        over = [q * mass - r * whole for q, r in zip(following, residual, strict=True)]
        rejected = [more if more > 0 else 0 for more in over]
        left = [-more if more < 0 else 0 for more in over]
        weight = sum(rejected)
        paths = len(following) - following.count(0)
        if not others or not weight:
            accept = [q * mass - more for q, more in zip(following, rejected, strict=True)]
            return Average([accept, *[self.nothing] * others], left, mass * whole, paths)
        end = self._rejected(left, following, whole, rejected, past)
        scale = end.scale
        accept = [(q * mass - more) * scale for q, more in zip(following, rejected, strict=True)]
        descend = [[weight * value for value in row] for row in end.descend]
        stop = [weight * value for value in end.stop]
        return Average([accept, *descend], stop, mass * whole * scale, paths + end.paths - 1)

    def _following(self, past: Drawn) -> list[int] | None:
        """The weights of the next sibling, if there is one. A point mass if it is chosen without chance."""
        found = self.siblings.following(self.draft, self.sampling, past, self.count)
        if not isinstance(found, int):
            return found if found is None else list(found)
        point = self.nothing.copy()
        point[found] = 1
        return point

    def _rejected(self, left: list[int], following: list[int], whole: int, rejected: list[int], past: Drawn) -> Average:
        """What comes after this sibling was rejected; pasts that are remembered alike are one."""
        common = math.gcd(*left)
        if common > 1:
            left = [value // common for value in left]
        if len(past) + 2 == self.count and self.siblings.removes:
            return self._last_of_a_pool(left, following, whole, rejected)
        longer: dict[Hashable, tuple[Drawn, int]] = {}
        for token, weight in enumerate(rejected):
            if weight:
                key = self.siblings.memory((*past, token))
                longer[key] = (*past, token), weight + (longer[key][1] if key in longer else 0)
        return self.after(left, list(longer.values()), len(past) + 1)

    def _last_of_a_pool(self, residual: list[int], pool: list[int], whole: int, rejected: list[int]) -> Average:
        """The last draw, from what is left of the `pool` (of `whole` weights) without the token that was `rejected`.

        It accepts min(q mass, r rest), where the rest of the pool is all that the rejected token is remembered by: at
        tokens with a residual r the pool is as it was, since no rejected one has any.
        """
        mass = sum(residual)
        by_rest: dict[int, int] = {}
        for q, weight in zip(pool, rejected, strict=True):
            if weight:
                by_rest[whole - q] = by_rest.get(whole - q, 0) + weight
        everything = sum(rejected)
        by_rest.pop(0, None)
        rests = sorted(by_rest)
        common = math.lcm(*rests)
        smaller, parts = [0], [0]
        for rest in rests:
            weight = by_rest[rest]
            smaller.append(smaller[-1] + weight)
            parts.append(parts[-1] + weight * (common // rest))
        accept = self.nothing.copy()
        stop = [r * (everything * common) for r in residual]
        for token, r in enumerate(residual):
            if r and (q := pool[token]):
                first = bisect_left(rests, -(-q * mass // r))
                accept[token] = q * mass * (parts[-1] - parts[first]) + r * common * smaller[first]
                stop[token] -= accept[token]
        pasts = len(rejected) - rejected.count(0)
        others = len(pool) - pool.count(0) - 1
        return Average([accept], stop, everything * common * mass, pasts * max(others, 1))


def _mixture(parts: Sequence[tuple[int, Average]]) -> Average:
    """One of the averages, each with its weight."""
    whole = sum([weight for weight, _ in parts])
    common = math.lcm(*[part.scale for _, part in parts])
    nothing = [0] * len(parts[0][1].stop)
    descend, stop = [nothing] * len(parts[0][1].descend), nothing
    for weight, part in parts:
        factor = weight * (common // part.scale)
        stop = _plus(stop, part.stop, factor)
        descend = [_plus(row, more, factor) for row, more in zip(descend, part.descend, strict=True)]
    return Average(descend, stop, whole * common, sum([part.paths for _, part in parts]))


def _plus(row: Sequence[int], more: Sequence[int], factor: int) -> list[int]:
    return [value + factor * other for value, other in zip(row, more, strict=True)]
