"""The candidate pool of an expanded context: lead, sampled, fill (SPEC 1.1; paper, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Kind
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row, has_mass, normalise, ranking, support, tail_mass, without
from rheo_verify.probability.rationals import Rational


class Candidate(NamedTuple):
    """One slot of a pool (`slot` counts from 1) and the factor it multiplies its parent's path score by."""

    slot: int
    kind: Kind
    token: int
    factor: Rational


@dataclass(frozen=True)
class Pool:
    """What is known of a pool before its sampled token Y is drawn.

    `sampling_law` is q-tilde, the law of Y, and `verification_law` the one that verification believes in; both are
    None when there is no sampled slot.
    """

    design: TreeDesign
    draft: Row
    order: tuple[int, ...]
    lead: tuple[int, ...]
    sampling_law: Row | None
    verification_law: Row | None
    _known: dict[int | None, tuple[Candidate, ...]] = field(default_factory=dict, compare=False, repr=False)
    _filled: dict[tuple[int, ...], tuple[Candidate, ...]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def outcomes(self) -> tuple[int, ...]:
        """The tokens that Y can be."""
        return support(self.sampling_law or ())

    def candidates(self, sampled: int | None) -> tuple[Candidate, ...]:
        """All slots, left to right, when the sampled token is `sampled` (None when there is no sampled slot)."""
        known = self._known.get(sampled)
        if known is None:
            known = self._known[sampled] = self._candidates(sampled)
        return known

    def _candidates(self, sampled: int | None) -> tuple[Candidate, ...]:
        leading, free = self._leading, self.design.pool - len(self._leading)
        if sampled is None:
            return leading + self._fill(self._tail[:free])
        middle = Candidate(len(leading) + 1, "sampled", sampled, self.proxy(sampled))
        best = self._tail[: free - 1]
        if sampled in best:
            best = tuple(token for token in self._tail[:free] if token != sampled)
        return (*leading, middle, *self._fill(best, 1))

    @cached_property
    def _leading(self) -> tuple[Candidate, ...]:
        return tuple(Candidate(slot, "lead", token, self.draft[token]) for slot, token in enumerate(self.lead, 1))

    @cached_property
    def _tail(self) -> tuple[int, ...]:
        """The best tokens that are not in the lead."""
        return self.order[len(self.lead) : len(self.lead) + self.design.pool]

    def _fill(self, tokens: tuple[int, ...], after: int = 0) -> tuple[Candidate, ...]:
        """The last slots; the same tokens are met again for most outcomes of Y."""
        known = self._filled.get(tokens)
        if known is None:
            slots = enumerate(tokens, len(self.lead) + after + 1)
            known = self._filled[tokens] = tuple(
                Candidate(slot, "fill", token, self.draft[token]) for slot, token in slots
            )
        return known

    def proxy(self, sampled: int) -> Rational:
        """The sampled slot's factor, which builds the tree and never verifies (paper, section 3.2)."""
        if self.design.proxy == "raw":
            return self.draft[sampled]
        if self.design.proxy != "rheo":
            return self.design.proxy
        if not self.lead:
            return self.draft[self.order[0]] + self.design.epsilon
        return min(self.draft[self.lead[-1]], self.residual_mass)

    @cached_property
    def residual_mass(self) -> Rational:
        """z, as the sum of the tail (claim `residual-mass-rounding` says why not 1 minus the lead)."""
        return tail_mass(self.draft, self.order, len(self.lead))  # type: ignore[no-any-return]


def pool_at(model: Model, context: Context, design: TreeDesign) -> Pool:
    """The pool of an expanded context. There is no sampled slot when K <= m or the lead carries all of q-hat."""
    draft = model.draft(context)
    order = ranking(draft)
    lead = order[: min(design.lead, design.pool)]
    sampling_law = _tail_law(model.sampling_draft(context), lead) if design.pool > design.lead else None
    verification_law = sampling_law
    if sampling_law is not None and design.verification == "ranking":
        verification_law = _tail_law(draft, lead) or sampling_law
    return Pool(design, draft, order, lead, sampling_law, verification_law)


def _tail_law(draft: Row, lead: tuple[int, ...]) -> Row | None:
    tail = without(draft, lead)
    return normalise(tail) if has_mass(tail) else None


def outcomes_at(model: Model, context: Context, design: TreeDesign) -> int:
    """How many tokens Y can be at a context (1 when nothing is sampled), without its pool."""
    if design.pool <= design.lead:
        return 1
    lead = set(ranking(model.draft(context))[: design.lead])
    return max(1, sum(token not in lead for token in support(model.sampling_draft(context))))
