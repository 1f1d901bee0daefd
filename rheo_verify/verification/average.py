"""A layer averaged over its siblings: what verification does at a node before anything of the draft is known.

Where the topology is frozen, the siblings at a node are independent of the rest of the tree, and this average is all
that the law of a cycle needs of that node. Plain integers over one denominator.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

from rheo_verify.drafting.siblings import Drawn, Siblings
from rheo_verify.probability.distributions import Row, normalise
from rheo_verify.probability.rationals import ONE, ZERO, Rational, over_common_denominator
from rheo_verify.verification.layer import LayerRule, exact_law

Pasts: TypeAlias = Sequence[tuple[Drawn, int]]
"""Drafted tokens that were all rejected, each with a weight."""


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
    rule: LayerRule, siblings: Siblings, target: Row, draft: Row, sampling: Row, count: int
) -> Average:
    """Over every tuple of siblings, each with the rule's exact law: for any rule, and the twin of faster ways."""
    vocab = len(target)
    descend = [[ZERO] * vocab for _ in range(count)]
    stop = [ZERO] * vocab
    open_tuples: list[tuple[Drawn, tuple[Row | None, ...], Rational]] = [((), (), ONE)]
    paths = 0
    while open_tuples:
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
    siblings: Siblings, target: Sequence[int], draft: Sequence[int], sampling: Sequence[int], count: int
) -> Average:
    """Recursive rejection, draw by draw: the residual does not depend on which token was rejected.

    So pasts that the next draw does not tell apart (`Siblings.memory`) are one, and the last draw needs no branching.
    The rows are integer weights, not normalised.
    """
    return _Rejection(siblings, draft, sampling, count).after(list(target), [((), 1)], 0)


class _Rejection:
    """One node's siblings under recursive rejection, in integers."""

    def __init__(self, siblings: Siblings, draft: Sequence[int], sampling: Sequence[int], count: int) -> None:
        self.siblings = siblings
        self.draft = draft
        self.sampling = sampling
        self.count = count
        self.nothing = [0] * len(draft)

    def after(self, residual: list[int], pasts: Pasts, place: int) -> Average:
        """The average over what comes after one of `pasts` was rejected, `residual` (weights) being left of the target.

        The pasts have weights; all of them left the same residual.
        """
        mass = sum(residual)
        if place == self.count or not mass:
            return Average([self.nothing] * (self.count - place), residual, mass or 1, len(pasts))
        drafts = [(weight, past, self._following(past)) for past, weight in pasts]
        common = math.lcm(*[whole for _, _, (_, whole) in drafts])
        scale = sum(weight for weight, _, _ in drafts) * mass * common
        accepted = self.nothing
        ends: list[tuple[int, Average]] = []
        paths = 0
        for weight, past, (following, whole) in drafts:
            factor = weight * (common // whole)
            accept = [a if (a := q * mass) < (b := r * whole) else b for q, r in zip(following, residual, strict=True)]
            accepted = [value + factor * more for value, more in zip(accepted, accept, strict=True)]
            if place + 1 < self.count:
                rejected = mass * whole - sum(accept)
                if rejected:
                    ends.append((factor * rejected, self._rejected(residual, mass, following, whole, accept, past)))
                    paths += ends[-1][1].paths - 1
            paths += len(following) - following.count(0)
        if place + 1 < self.count:
            return self._join(accepted, scale, ends, paths, self.count - place - 1)
        whole = scale // mass  # whatever the draft, what is accepted and what is left make up the residual
        return Average([accepted], [r * whole - a for r, a in zip(residual, accepted, strict=True)], scale, paths)

    def _following(self, past: Drawn) -> tuple[list[int], int]:
        """The weights of the next sibling, and their sum. A point mass if it is chosen without chance."""
        found = self.siblings.following(self.draft, self.sampling, past, self.count)
        if found is None:
            return self.nothing, 1
        if isinstance(found, int):
            point = self.nothing.copy()
            point[found] = 1
            return point, 1
        return list(found), sum(found)

    def _rejected(
        self, residual: list[int], mass: int, following: list[int], whole: int, accept: list[int], past: Drawn
    ) -> Average:
        """What comes after this sibling was rejected, or if there is none; pasts that are remembered alike are one."""
        place = len(past)
        if not any(following):
            return Average([self.nothing] * (self.count - place - 1), residual, mass, 1)
        longer: dict[Hashable, tuple[Drawn, int]] = {}
        for token, (q, a) in enumerate(zip(following, accept, strict=True)):
            if q * mass > a:
                key = self.siblings.memory((*past, token))
                weight = q * mass - a
                longer[key] = (*past, token), weight + (longer[key][1] if key in longer else 0)
        left = [r * whole - a for r, a in zip(residual, accept, strict=True)]
        common = math.gcd(*left)
        if common > 1:
            left = [value // common for value in left]
        return self.after(left, list(longer.values()), place + 1)

    def _join(self, accept: list[int], scale: int, ends: list[tuple[int, Average]], paths: int, others: int) -> Average:
        """The next sibling accepted by `accept` / `scale`, else one of the ends, each with its weight / scale."""
        common = math.lcm(*[end.scale for _, end in ends])
        stop = self.nothing
        descend: list[Sequence[int]] = [self.nothing] * others
        for weight, end in ends:
            factor = weight * (common // end.scale)
            stop = [value + factor * more for value, more in zip(stop, end.stop, strict=True)]
            descend = [
                [value + factor * more for value, more in zip(row, more_row, strict=True)]
                for row, more_row in zip(descend, end.descend, strict=True)
            ]
        first = [value * common for value in accept]
        return Average([first, *descend], stop, scale * common, paths)
