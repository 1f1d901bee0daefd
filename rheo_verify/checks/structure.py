"""The structural claims on pruned trees: `slot-determinism` (Lemma 4), and who is to blame when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheo_verify.checks.prefixes import Prefix, walk
from rheo_verify.drafting.tree import Node, SlotPath, TokenPath, Tree
from rheo_verify.limits import Limits
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law, collect, law_total_variation
from rheo_verify.probability.rationals import Rational, total


@dataclass(frozen=True)
class SlotFault:
    """How `slot-determinism` fails after one T_k.

    part 1: the next node is not always in the same slot (`slots` lists them). part 2: it is in a lead or fill slot, but
    its token varies. part 3: it is in a sampled slot, given which its token has the law `found`, not `stated` (the law
    that verification uses). `given` is the probability of this T_k with this slot next.
    """

    part: int
    tree: Tree
    slots: tuple[SlotPath, ...]
    tokens: TokenPath
    given: Rational
    stated: Row | None
    found: Law[int]

    @property
    def distance(self) -> Rational:
        """Total variation between the stated law and the one found (part 3)."""
        stated = dict(enumerate(self.stated or ()))
        return law_total_variation({token: p for token, p in stated.items() if p}, self.found)


def slot_faults(root: Prefix, budget: int | None = None, limits: Limits | None = None) -> Iterator[SlotFault]:
    """All failures of `slot-determinism` for k < budget (for all k if None), in order of the growth.

    Part 3 is asked of each sampled slot by itself, so it is also found where part 1 fails.
    """
    for vertex, nodes, _ in (limits or Limits()).watch(walk(root)):
        if budget is not None and len(nodes) >= budget:
            continue
        if len(vertex.following) == 1 and next(iter(vertex.following)).law is None:
            continue  # one deterministic next node: nothing to compare it with
        tree = tuple(nodes)
        by_slot: dict[SlotPath, dict[Node, Rational]] = {}
        for node, there in vertex.following.items():
            by_slot.setdefault(node.slots, {})[node] = there.probability
        slots = tuple(sorted(by_slot))
        if len(slots) > 1:
            yield SlotFault(1, tree, slots, (), vertex.probability, None, {})
        for slot in slots:
            yield from _faults_in_slot(tree, slot, by_slot[slot])


def _faults_in_slot(tree: Tree, slot: SlotPath, nodes: dict[Node, Rational]) -> Iterator[SlotFault]:
    given = total(nodes.values())
    found = collect((node.token, probability / given) for node, probability in nodes.items())
    first = next(iter(nodes))
    if first.law is None:
        if len(found) > 1:
            yield SlotFault(2, tree, (slot,), first.tokens[:-1], given, None, found)
        return
    fault = SlotFault(3, tree, (slot,), first.tokens[:-1], given, first.law, found)
    if fault.distance:
        yield fault


@dataclass(frozen=True)
class Blame:
    """Why a design is lossy (claim `blame`). `budget` is R*, the smallest one at which it is.

    `context` is where the guilty cycle starts (tokens emitted before it).

    culprit `slot`: `fault` is the sampled slot of the R*-th node whose token does not have the law that verification
    uses. culprit `rule`: every sampled slot is faithful, so the layer rule itself does not preserve the target.
    """

    budget: int
    culprit: str
    fault: SlotFault | None
    context: TokenPath = ()


def blame(root: Prefix, budget: int, context: TokenPath = ()) -> Blame:
    """Who is to blame at the smallest lossy budget: the unfaithful slot that matters most, else the rule."""
    faults = [fault for fault in slot_faults(root, budget) if fault.part == 3 and len(fault.tree) == budget - 1]
    if not faults:
        return Blame(budget, "rule", None, context)
    return Blame(budget, "slot", max(faults, key=lambda fault: fault.given * fault.distance), context)
