"""The candidate pool of an expanded context: lead, sampled, fill (SPEC 1.1; paper, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Kind
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row, has_mass, normalise, ranking, support, tail_mass, without
from rheo_verify.probability.rationals import Rational


@dataclass(frozen=True, slots=True)
class Candidate:
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

    @cached_property
    def outcomes(self) -> tuple[int, ...]:
        """The tokens that Y can be."""
        return support(self.sampling_law or ())

    def candidates(self, sampled: int | None) -> tuple[Candidate, ...]:
        """All slots, left to right, when the sampled token is `sampled` (None when there is no sampled slot)."""
        known = self._known.get(sampled)
        if known is None:
            known = self._known[sampled] = tuple(self._candidates(sampled))
        return known

    def _candidates(self, sampled: int | None) -> list[Candidate]:
        slots = [(token, self.draft[token]) for token in self.lead]
        kinds: list[Kind] = ["lead"] * len(slots)
        if sampled is not None:
            slots.append((sampled, self.proxy(sampled)))
            kinds.append("sampled")
        taken = {*self.lead, sampled}
        best = self.order[: self.design.pool + len(taken)]
        fill = [(token, self.draft[token]) for token in best if token not in taken]
        slots = (slots + fill)[: self.design.pool]
        kinds += ["fill"] * (len(slots) - len(kinds))
        return [Candidate(i + 1, kind, *slot) for i, (kind, slot) in enumerate(zip(kinds, slots, strict=True))]

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
