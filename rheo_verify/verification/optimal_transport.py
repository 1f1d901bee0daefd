"""optimal-transport: a plan of most acceptance, run as a layer rule (claim `optimal-acceptance`).

A plan belongs to one layer: it says how the probability of each candidate *set* is spread over the set's own tokens,
so that no token receives more than p. What is left of p is emitted on rejection. Averaged over the sets that the plan
was made for, the layer emits p; over any other law of sets it need not. So the rule is lossless only where the number
of candidates is fixed before the sampled token is drawn (static, frozen or unpruned trees), and lossy in a pruned
dynamic tree (claim `pruned-optimum`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rheo_verify.errors import InputError
from rheo_verify.probability.arrays import Array, is_torch, row_array
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ZERO, Rational, total
from rheo_verify.verification.layer import Laws, LayerRule, Outcome


@dataclass(frozen=True)
class Plan:
    """How a layer's candidate sets serve its target.

    `sets` is the law of the candidate set. `flow[set][token]` is the probability of "this set, and this token of it
    accepted"; `residual[v]` what is left of p(v), emitted when every candidate is rejected.
    """

    sets: Mapping[frozenset[int], Rational]
    flow: Mapping[frozenset[int], Mapping[int, Rational]]
    residual: Row

    @property
    def accepted(self) -> Rational:
        """The acceptance rate: the value of the flow."""
        return total(value for flows in self.flow.values() for value in flows.values())

    def weights(self, candidates: Sequence[int]) -> tuple[list[Rational], list[Rational]]:
        """For one candidate tuple: what each candidate is accepted with, and the residual, as weights.

        Of equal candidates the first is accepted for all.

        Raises `InputError` RV501 for a set that the plan does not know.
        """
        chosen = frozenset(candidates)
        if chosen not in self.sets:
            known = ", ".join(sorted(_set_text(one) for one in self.sets))
            raise InputError("RV501", f"the plan has no candidate set {_set_text(chosen)}; it was made for {known}")
        flows = self.flow.get(chosen, {})
        left = total(self.residual)
        accept = [
            ZERO if token in candidates[:place] else flows.get(token, ZERO) for place, token in enumerate(candidates)
        ]
        if left == 0:
            return accept, list(self.residual)
        slack = (self.sets[chosen] - total(accept)) / left
        return accept, [slack * value for value in self.residual]


PlanOf: TypeAlias = Callable[[Row, tuple[int, ...], Sequence[Row | None]], Plan]
"""The plan for a layer from what the rule sees there: the target row, the candidates in slot order, their laws."""


def optimal_transport(plan_of: PlanOf) -> LayerRule:
    """The rule that follows the plan of each layer. A single layer's rule: ``optimal_transport(lambda *_: plan)``."""

    def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
        accept, residual = _weights(plan_of, target, candidates, laws)
        chosen = chance.choose([*accept, *residual])
        if chosen < len(accept):
            return Outcome(int(candidates[chosen]), chosen)
        return Outcome(chosen - len(accept), None)

    def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
        if is_torch(target) or target.dtype != object or target.ndim != 1:
            raise InputError("RV502", "optimal-transport follows an exact plan: one exact row at a time, no batch")
        accept, residual = _weights(plan_of, target, candidates.tolist(), laws)
        return row_array(accept), row_array(residual)

    return LayerRule("optimal-transport", verify, law)


def _weights(plan_of: PlanOf, target: Any, candidates: Sequence[int], laws: Laws) -> tuple[list[Any], list[Any]]:
    if not len(candidates):
        return [], list(target)
    seen = tuple(int(token) for token in np.asarray(candidates))
    rows = [None if row is None else tuple(row) for row in laws]
    return plan_of(tuple(target), seen, rows).weights(seen)


def _set_text(tokens: frozenset[int]) -> str:
    return "{" + ", ".join(map(str, sorted(tokens))) + "}"
