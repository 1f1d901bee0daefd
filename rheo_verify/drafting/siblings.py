"""How the children of one node are drafted, one after another, when their number is fixed beforehand.

The way of drafting is said as a function of the earlier siblings, not as a program that draws: so the same lines draft
with a `Chance`, and let the exact engine branch on what matters and share what does not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row, normalise

Weights: TypeAlias = Sequence[Any]
"""A row in any exact number system (rationals, integers), not normalised."""

Drawn: TypeAlias = tuple[int, ...]
"""The tokens of the earlier siblings, in the order in which they were drafted."""


def everything(drawn: Drawn) -> Hashable:
    """The memory of a drafting that may depend on all of its past."""
    return drawn


@dataclass(frozen=True)
class Siblings:
    """A way of drafting children at one node.

    `following(draft, sampling, drawn, count)` says what comes after the siblings `drawn`, of `count` wanted: weights to
    draw a token from, a token chosen without chance, or None when there is no further sibling. `draft` and `sampling`
    are the rows q and q-hat there, as weights. `memory(drawn)` is all that `following` depends on of `drawn`, apart
    from their number. `removes`: what comes after is always q-hat without the tokens drawn, None if nothing is left.
    """

    name: str
    following: Callable[[Weights, Weights, Drawn, int], Weights | int | None]
    memory: Callable[[Drawn], Hashable] = everything
    removes: bool = False

    def draw(self, chance: Chance, draft: Row, sampling: Row, count: int) -> Iterator[tuple[int, Row | None]]:
        """The siblings' tokens, each with the law it was drawn from (None: chosen without chance)."""
        drawn: Drawn = ()
        while len(drawn) < count:
            found = self.following(draft, sampling, drawn, count)
            if found is None:
                return
            if isinstance(found, int):
                token, law = found, None
            else:
                law = normalise(found)
                token = chance.choose(law)
            yield token, law
            drawn = (*drawn, token)
