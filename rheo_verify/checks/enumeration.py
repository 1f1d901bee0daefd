"""The main question: is this tree design with this rule lossless on this model? By enumeration, in exact rationals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rheo_verify.checks.emission import Comparison, Emission, compare, cycle_emission
from rheo_verify.checks.layers import LayerLaws, StepViolation, step_violations
from rheo_verify.checks.prefixes import Prefix, classes_of, grow_prefixes, leaves, prefixes_of
from rheo_verify.checks.structure import Blame, SlotFault, blame, slot_faults
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.all_trees import AllTrees, Limits, enumerate_trees
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.size import equal_support_trees, most_trees
from rheo_verify.drafting.tree import Tree
from rheo_verify.drafting.validity import why_not_lazy
from rheo_verify.errors import InputError
from rheo_verify.models.model import Context, Model, require_target
from rheo_verify.probability.rationals import ZERO, Rational
from rheo_verify.verification.layer import LayerRule

Method = Literal["auto", "exhaustive", "classes"]
AUTO_TREES = 3_000_000
MOST_TREES = 10**12
GLOBAL_AT_EVERY_BUDGET = 40_000


@dataclass(frozen=True)
class Enumeration:
    """The answer, with everything that was counted on the way.

    `verdict`, `total_variation`, `classes`, `emission` and `blame` speak of budget R; `budgets[k-1]` is the total
    variation at budget k. `checks` maps claim ids to verdicts, `not_checked` to why not. `trees` is the number of
    unpruned trees, None if the class method cannot know it.
    """

    model: Model
    design: TreeDesign
    rule: LayerRule
    method: Literal["exhaustive", "classes"]
    context: Context
    cycles: int
    verdict: Verdict
    comparison: Comparison
    budgets: tuple[Rational, ...]
    budgets_by: Literal["global", "local"]
    trees: int | None
    prefixes: Prefix = field(repr=False)
    ancestor_closed: bool
    emission: Emission = field(repr=False)
    checks: dict[str, Verdict]
    not_checked: dict[str, str]
    slot_faults: tuple[SlotFault, ...]
    step_violations: tuple[StepViolation, ...]
    all_trees: AllTrees | None = field(repr=False)
    blame: Blame | None

    @property
    def total_variation(self) -> Rational:
        """At budget R."""
        return self.comparison.total_variation

    def classes(self) -> dict[Tree, Rational]:
        """The law of T_R."""
        return classes_of(self.prefixes, self.design.budget)


def enumerate_design(
    model: Model,
    design: TreeDesign,
    rule: LayerRule,
    *,
    method: Method = "auto",
    cycles: int = 1,
    context: Context = (),
    limits: Limits | None = None,
) -> Enumeration:
    """Decide losslessness at every budget 1…R and check the structural claims, each under its id.

    Raises `InputError` (a parameter, a missing row, RV107 where classes are not valid, RV108 where there are too many
    trees) and `LimitReached`.
    """
    limits = limits or Limits()
    chosen = choose_method(model, design, method, context)
    design.check_vocab(model.vocab)
    require_target(model, context, cycles * (design.depth + 1) - 1)
    found = None
    if chosen == "exhaustive":
        found = enumerate_trees(model, context, design, limits)
        prefixes = prefixes_of(found.classes)
    else:
        prefixes = grow_prefixes(model, context, design, limits)
    laws = LayerLaws(model, context, rule)
    faults = tuple(slot_faults(prefixes))
    violations = tuple(step_violations(laws, prefixes))
    emission = cycle_emission(laws, leaves(prefixes))
    if cycles > 1:
        emission = more_cycles(emission, model, design, rule, chosen, context, cycles - 1)
    comparison = compare(model.target, context, emission)
    checks, not_checked = _claims(found, model, context, design, faults, violations, limits)
    adapted = not violations and not any(fault.part == 3 for fault in faults)
    budgets, by = _budgets(laws, prefixes, design.budget, adapted)
    if adapted:
        checks["adapted-growth"] = Verdict.of(not any(budgets))
    else:
        not_checked["adapted-growth"] = "its conditions do not hold: " + _why_not_adapted(violations)
    checks = {"lossless": Verdict.of(comparison.total_variation == 0), **checks}
    lossy = next((k for k, distance in enumerate(budgets, 1) if distance), None)
    return Enumeration(
        model=model,
        design=design,
        rule=rule,
        method=chosen,
        context=context,
        cycles=cycles,
        verdict=checks["lossless"],
        comparison=comparison,
        budgets=budgets,
        budgets_by=by,
        trees=found.trees if found else equal_support_trees(model, context, design),
        prefixes=prefixes,
        ancestor_closed=found is None or found.not_ancestor_closed == 0,
        emission=emission,
        checks=checks,
        not_checked=not_checked,
        slot_faults=faults,
        step_violations=violations,
        all_trees=found,
        blame=blame(prefixes, lossy) if comparison.total_variation and lossy else None,
    )


def choose_method(
    model: Model, design: TreeDesign, method: Method, context: Context = ()
) -> Literal["exhaustive", "classes"]:
    """The engine that answers. `auto` prefers to enumerate all trees, unless there are many and classes are valid."""
    reason = why_not_lazy(design, model, context)
    most = most_trees(design, model.vocab)
    if method == "classes" and reason is not None:
        message = f"--method classes is not valid here: {reason}; best-first growth would repair it silently"
        raise InputError("RV107", message)
    if method == "classes" or (method == "auto" and reason is None and most > AUTO_TREES):
        return "classes"
    if most > MOST_TREES:
        remedy = "use --method classes" if reason is None else f"and classes are not valid here: {reason}"
        raise InputError("RV108", f"there may be {_about(most)} unpruned trees, too many to enumerate; {remedy}")
    return "exhaustive"


def more_cycles(
    first: Emission,
    model: Model,
    design: TreeDesign,
    rule: LayerRule,
    method: Literal["exhaustive", "classes"],
    context: Context,
    cycles: int,
) -> Emission:
    """The law of the tokens after further cycles, each with a new tree grown from where the last one stopped."""
    law = first.law
    for _ in range(cycles):
        longer: dict[Context, Rational] = {}
        for tokens, probability in law.items():
            here = context + tokens
            if method == "classes":
                classes = leaves(grow_prefixes(model, here, design))
            else:
                classes = iter(enumerate_trees(model, here, design).classes.items())
            cycle = cycle_emission(LayerLaws(model, here, rule), classes)
            for more, chance in cycle.law.items():
                end = tokens + more
                longer[end] = longer.get(end, ZERO) + probability * chance
        law = longer
    return Emission(law)


def _budgets(
    laws: LayerLaws, prefixes: Prefix, budget: int, local: bool
) -> tuple[tuple[Rational, ...], Literal["global", "local"]]:
    """Total variation at each budget, by comparing laws; by the local identities where that is a proof and cheaper."""
    if local and sum(1 for _ in leaves(prefixes)) * budget > GLOBAL_AT_EVERY_BUDGET:
        return (ZERO,) * budget, "local"
    distances = []
    for k in range(1, budget + 1):
        emission = cycle_emission(laws, leaves(prefixes, k))
        distances.append(compare(laws.model.target, laws.context, emission).total_variation)
    return tuple(distances), "global"


def _claims(
    found: AllTrees | None,
    model: Model,
    context: Context,
    design: TreeDesign,
    faults: tuple[SlotFault, ...],
    violations: tuple[StepViolation, ...],
    limits: Limits,
) -> tuple[dict[str, Verdict], dict[str, str]]:
    checks: dict[str, Verdict] = {}
    not_checked: dict[str, str] = {}
    reason = why_not_lazy(design, model, context)
    if found is None:
        not_checked["eager-equals-lazy"] = "only the class method ran; use --method exhaustive"
    elif reason is not None:
        not_checked["eager-equals-lazy"] = f"its conditions do not hold: {reason}"
    else:
        grown = classes_of(grow_prefixes(model, context, design, limits))
        checks["eager-equals-lazy"] = Verdict.of(grown == found.classes)
    checks["slot-determinism"] = Verdict.of(not faults)
    if found is None:
        not_checked["sampled-outranks-fill"] = "only the class method ran: it rests on this claim"
        not_checked["scores-never-increase"] = "only the class method ran: it rests on this claim"
    else:
        checks["sampled-outranks-fill"] = Verdict.of(not found.table.outranked)
        checks["scores-never-increase"] = Verdict.of(
            not found.not_ancestor_closed and not found.table.factors_above_one
        )
    checks["layer-lossless"] = Verdict.of(not any(violation.what == "emission" for violation in violations))
    return checks, not_checked


def _why_not_adapted(violations: tuple[StepViolation, ...]) -> str:
    reasons = {
        "siblings": "a sampled token is revealed after a sibling that it could equal",
        "descent": "a revealed child changes the probability of descending into another",
        "emission": "the rule does not emit the target's law at a layer",
    }
    kinds = {violation.what for violation in violations}
    named = [reason for what, reason in reasons.items() if what in kinds]
    return "; ".join(named) or "a sampled token does not have the law that verification uses"


def _about(number: int) -> str:
    written = f"{number:,}"
    return written if len(written) < 20 else f"about 10^{len(str(number)) - 1}"
