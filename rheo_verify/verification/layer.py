"""What a verification rule is: two faces of one law at one context.

`verify(chance, target, candidates, laws)` goes through the published steps. `target` is the row p [V]; `candidates`
are the surviving children's tokens in slot order; `laws[i]` is the law that candidate i was drawn from, None if it was
chosen without chance. It returns the outcome.

`law(target, candidates, laws)` is the law of that outcome, branch-free and batched: `target` [..., V], `candidates`
[..., n], each law [..., V]. It returns weights `(accept [..., n], residual [..., V])`, not normalised; together they
are the law of "candidate i accepted" and "all rejected, token v emitted". Sampling it is one `choose` over both.

Where one candidate is sampled, `branches(target, others, place, drawn, q)` is the same law before it is joined:
`others` [..., n-1] are the candidates around the sampled one, `place` its slot, `drawn` [..., 1] its token, `q` its
law. The batch axes only need to broadcast, so that of many outcomes of `drawn` whatever does not depend on it is
computed once; `law` joins what it returns.

A rule may have a further face, `averages(siblings, rows, count, limits)`: its law averaged over siblings not yet drawn,
at many contexts, on integer rows p, q, q-hat; faster than over all tuples (`average.average_by_enumeration`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rheo_verify.probability.arrays import Array, join, row_array
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import Rational, ratio

Laws: TypeAlias = Sequence[Array]
"""One entry a candidate: the law it was drawn from, or None."""


class Outcome(NamedTuple):
    """Which token came out, and which candidate it was (None when every candidate was rejected)."""

    token: int
    accepted: int | None


class Branches(NamedTuple):
    """Weights of a law with one sampled candidate. others [..., n-1] and drawn [..., 1]: accepted; the token v comes

    out after all were rejected with `rejected * residual[v]`, of shapes [..., 1] and [..., V].
    """

    others: Array
    drawn: Array
    rejected: Array
    residual: Array

    def joined(self, place: int) -> tuple[Array, Array]:
        """As `law` returns it, the sampled candidate at `place`."""
        accept = join([self.others[..., :place], self.drawn, self.others[..., place:]])
        return accept, self.residual * self.rejected


@dataclass(frozen=True)
class LayerRule:
    """A verification rule under its published name."""

    name: str
    verify: Callable[[Chance, Array, Sequence[int], Laws], Outcome]
    law: Callable[[Array, Array, Laws], tuple[Array, Array]]
    averages: Callable[..., Iterable[Any]] | None = None
    branches: Callable[[Array, Array, int, Array, Array], Branches] | None = None


class LayerLaw(NamedTuple):
    """An exact law at one layer, normalised: `accept[i]`, `residual[v]`; together they sum to one."""

    accept: tuple[Rational, ...]
    residual: Row

    def emitted(self, candidates: Sequence[int]) -> Row:
        """The law of the token that comes out, whether as a candidate or from the residual."""
        row = list(self.residual)
        for token, probability in zip(candidates, self.accept, strict=True):
            row[token] = row[token] + probability
        return tuple(row)


def exact_law(rule: LayerRule, target: Row, candidates: Sequence[int], laws: Sequence[Row | None]) -> LayerLaw:
    """The rule's law at one context in rationals."""
    tokens = np.array(candidates, dtype=np.int64)
    arrays = [None if law is None else row_array(law) for law in laws]
    accept, residual = rule.law(row_array(target), tokens, arrays)
    weights: list[Any] = [*accept, *residual]
    whole = sum(weights)
    values = [ratio(weight, whole) for weight in weights]
    return LayerLaw(tuple(values[: len(accept)]), tuple(values[len(accept) :]))


def in_one_draw(rule: LayerRule) -> LayerRule:
    """The same rule, its steps replaced by a single draw from its law: one question to `Chance`, one GPU transfer."""

    def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
        accept, residual = rule.law(target, np.array(candidates, dtype=np.int64), laws)
        index = chance.choose(join([accept, residual]))
        count = len(candidates)
        return Outcome(candidates[index], index) if index < count else Outcome(index - count, None)

    return LayerRule(rule.name, verify, rule.law)


def around(candidates: Array, place: int) -> tuple[Array, Array]:
    """The candidates [..., n] without the one at `place`, [..., n-1], and that one, [..., 1]."""
    return join([candidates[..., :place], candidates[..., place + 1 :]]), candidates[..., place : place + 1]


def sampled_index(laws: Laws) -> int | None:
    """The position of the one sampled candidate, None when there is none."""
    positions = [index for index, law in enumerate(laws) if law is not None]
    if len(positions) > 1:
        raise ValueError(f"this rule takes at most one sampled candidate, not {len(positions)}")
    return positions[0] if positions else None
