"""A layer averaged over its siblings: what verification does at a node before anything of the draft is known.

Where the topology is frozen, the siblings at a node are independent of the rest of the tree, and this average is all
that the law of a cycle needs of that node. Plain integers over one denominator.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rheo_verify.drafting.siblings import Drawn, Siblings
from rheo_verify.probability.distributions import Row, normalise
from rheo_verify.probability.rationals import ONE, ZERO, Rational, over_common_denominator
from rheo_verify.verification.layer import LayerRule, exact_law


class Average(NamedTuple):
    """`descend[i][v]` / `scale` is the probability of accepting the i-th sibling and of its token being v.

    `stop[v]` / `scale` is that of all siblings rejected and v emitted; all of these sum to one. `paths` is the number
    of ways that were told apart.
    """

    descend: Sequence[Sequence[int]]
    stop: Sequence[int]
    scale: int
    paths: int


def average(rule: LayerRule, siblings: Siblings, target: Row, draft: Row, sampling: Row, count: int) -> Average:
    """The average by the rule's own fast way if it has one, else over all sibling tuples."""
    found = rule.average and rule.average(siblings, target, draft, sampling, count)
    return found or average_by_enumeration(rule, siblings, target, draft, sampling, count)


def average_by_enumeration(
    rule: LayerRule, siblings: Siblings, target: Row, draft: Row, sampling: Row, count: int
) -> Average:
    """Over every tuple of siblings, each with the rule's exact law: for any rule, and the twin of the fast way."""
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


def average_by_rejection(siblings: Siblings, target: Row, draft: Row, sampling: Row, count: int) -> Average:
    """Recursive rejection, draw by draw: the residual does not depend on which token was rejected.

    So pasts that the next draw does not tell apart (`Siblings.memory`) are one, and the last draw needs no branching.
    """
    residual, ranked = over_common_denominator(target)[0], over_common_denominator(draft)[0]
    sampled = ranked if sampling is draft else over_common_denominator(sampling)[0]
    return _Rejection(siblings, ranked, sampled, count).after(residual, (), 0)


class _Rejection:
    """One node's siblings under recursive rejection, in integers."""

    def __init__(self, siblings: Siblings, draft: list[int], sampling: list[int], count: int) -> None:
        self.siblings = siblings
        self.draft = draft
        self.sampling = sampling
        self.count = count
        self.nothing = [0] * len(draft)

    def after(self, residual: list[int], drawn: Drawn, place: int) -> Average:
        """The average over what comes after `drawn` was rejected, `residual` (weights) being left of the target."""
        mass = sum(residual)
        following = None
        if place < self.count and mass:
            following = self.siblings.following(self.draft, self.sampling, drawn, self.count)
        if following is None:
            rest = [self.nothing] * (self.count - place)
            return Average(rest, residual, mass or 1, 1)
        if isinstance(following, int):
            return self._point_mass(residual, mass, drawn, place, following)
        whole = sum(following)
        drafted = [q * mass for q in following]
        wanted = [r * whole for r in residual]
        accept = [d if d < w else w for d, w in zip(drafted, wanted, strict=True)]
        left = [w - a for w, a in zip(wanted, accept, strict=True)]
        scale, paths = mass * whole, sum(d > 0 for d in drafted)
        if place + 1 == self.count:
            return Average([accept], left, scale, paths)  # what is rejected has the mass of what is left
        branches: dict[Hashable, tuple[Drawn, int]] = {}
        for token, (d, a) in enumerate(zip(drafted, accept, strict=True)):
            if d > a:
                longer = (*drawn, token)
                key = self.siblings.memory(longer)
                branches[key] = longer, d - a + (branches[key][1] if key in branches else 0)
        ends = [(weight, self.after(left, longer, place + 1)) for longer, weight in branches.values()]
        return self._join(accept, scale, ends, paths, self.count - place - 1)

    def _point_mass(self, residual: list[int], mass: int, drawn: Drawn, place: int, token: int) -> Average:
        accept = self.nothing.copy()
        accept[token] = residual[token]
        left = residual.copy()
        left[token] = 0
        rejected = mass - residual[token]
        ends = [(rejected, self.after(left, (*drawn, token), place + 1))] if rejected else []
        return self._join(accept, mass, ends, 1, self.count - place - 1)

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
            paths += end.paths - 1
        first = [value * common for value in accept]
        return Average([first, *descend], stop, scale * common, paths)
