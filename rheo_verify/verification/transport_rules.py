"""`optimal-transport` in trees: where the plan of a layer comes from.

A plan needs the law of the candidate sets. With a frozen topology that law follows from how siblings are drafted and
from how many there are, so `of_siblings` is lossless. In a pruned dynamic tree the number n that is seen depends on the
draw; `of_pool` plans for the n it sees all the same, and is lossy (claim `pruned-optimum`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rheo_verify.drafting.siblings import Drawn, Siblings
from rheo_verify.probability.distributions import Row, normalise, ranking
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, Rational
from rheo_verify.verification.best_plan import best_plan
from rheo_verify.verification.layer import LayerRule
from rheo_verify.verification.optimal_transport import Plan, optimal_transport


def of_siblings(siblings: Siblings) -> LayerRule:
    """The rule for siblings whose first is drawn from q-hat, and whose number was fixed before."""

    def sets(candidates: Drawn, laws: Sequence[Row | None]) -> Law[frozenset[int]]:
        sampling = laws[0]
        assert sampling is not None
        return candidate_sets(siblings, sampling, sampling, len(candidates))

    return optimal_transport(_remembered(sets))


def of_pool() -> LayerRule:
    """The rule for a pool of the n best tokens around one sampled token, n being what it sees."""

    def sets(candidates: Drawn, laws: Sequence[Row | None]) -> Law[frozenset[int]]:
        drawn_from = [(place, law) for place, law in enumerate(laws) if law is not None]
        if not drawn_from:
            return {frozenset(candidates): ONE}
        ((place, law),) = drawn_from
        lead, order = candidates[:place], ranking(law)

        def pool(drawn: int) -> frozenset[int]:
            rest = (token for token in order if token not in lead and token != drawn)
            return frozenset([*lead, drawn, *rest][: len(candidates)])

        return collect((pool(token), q) for token, q in enumerate(law) if q)

    return optimal_transport(_remembered(sets))


def candidate_sets(siblings: Siblings, draft: Row, sampling: Row, count: int) -> Law[frozenset[int]]:
    """The law of the set of drafted tokens at one node."""
    found: list[tuple[frozenset[int], Rational]] = []
    open_pasts: list[tuple[Drawn, Rational]] = [((), ONE)]
    while open_pasts:
        drawn, probability = open_pasts.pop()
        following = siblings.following(draft, sampling, drawn, count) if len(drawn) < count else None
        if following is None:
            found.append((frozenset(drawn), probability))
        elif isinstance(following, int):
            open_pasts.append(((*drawn, following), probability))
        else:
            law = normalise(following)
            open_pasts += [((*drawn, token), probability * q) for token, q in enumerate(law) if q]
    return collect(found)


def _remembered(
    sets: Callable[[Drawn, Sequence[Row | None]], Law[frozenset[int]]],
) -> Callable[[Row, Drawn, Sequence[Row | None]], Plan]:
    """A plan for each target and law of sets, made once."""
    plans: dict[Any, Plan] = {}

    def plan_of(target: Row, candidates: Drawn, laws: Sequence[Row | None]) -> Plan:
        law = sets(candidates, laws)
        key = (target, frozenset(law.items()))
        if key not in plans:
            plans[key] = best_plan(target, law)
        return plans[key]

    return plan_of
