"""The main question: is this tree design with this rule lossless on this model? By enumeration, in exact rationals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rheo_verify.checks.emission import Comparison, Emission, compare
from rheo_verify.checks.examples import example_draws
from rheo_verify.checks.layers import LayerLaws, StepViolation, step_violations
from rheo_verify.checks.prefix_emission import prefix_emission
from rheo_verify.checks.prefixes import Prefix, classes_of, count_leaves, grow_prefixes, prefixes_of
from rheo_verify.checks.showing import html_of
from rheo_verify.checks.structure import Blame, SlotFault, blame, slot_faults
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.all_trees import AllTrees, enumerate_trees
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.size import equal_support_trees, most_nodes, most_trees
from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.drafting.validity import why_not_lazy
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model, require_target
from rheo_verify.pieces import Store, Workers
from rheo_verify.probability.distributions import support
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ONE, ZERO, Rational, about
from rheo_verify.verification.layer import LayerRule
from rheo_verify.words import count

Method = Literal["auto", "exhaustive", "classes"]
AUTO_TREES = 3_000_000
MOST_TREES = 10**12
MOST_SEQUENCES = 1_000_000
MOST_CYCLES = 100
MOST_WALKED = 2_000
MOST_WEIGHTS_WALKED = 1_000_000
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

    def _repr_html_(self) -> str | None:
        return html_of(self)

    def example_draws(self, tree: Tree, limits: Limits | None = None) -> tuple[int, ...] | None:
        """Choices under which `build_then_prune` gives this T_R, for replaying it; None if none is found soon."""
        return example_draws(self.model, self.context, self.design, tree, limits=limits)


def enumerate_design(
    model: Model,
    design: TreeDesign,
    rule: LayerRule,
    *,
    method: Method = "auto",
    cycles: int = 1,
    context: Context = (),
    limits: Limits | None = None,
    workers: Workers | None = None,
    store: Store | None = None,
) -> Enumeration:
    """Decide losslessness at every budget 1…R and check the structural claims, each under its id.

    workers, store: who forms all the trees, and where finished pieces are kept; neither changes the answer.
    Raises `InputError` (a parameter, a missing row, RV107 where classes are not valid, RV108 where there are too many
    trees) and `LimitReached`.
    """
    if not 1 <= cycles <= MOST_CYCLES:
        raise InputError("RV106", f"cycles must be from 1 to {MOST_CYCLES}, not {cycles}")
    if any(not 0 <= token < model.vocab for token in context):
        raise InputError("RV106", f"the context {context} has a token outside 0…{model.vocab - 1}")
    design.check_vocab(model.vocab)
    chosen = choose_method(model, design, method, context, limits)
    require_target(model, context, cycles * (design.depth + 1) - 1)
    least = fewest_sequences(model, context, cycles, limits or Limits())
    if least > MOST_SEQUENCES:
        message = f"{count(cycles, 'cycle')} may emit {about(least)} different sequences and more, too many to compare"
        raise InputError("RV108", f"{message} (at most {MOST_SEQUENCES:,}); change --cycles")
    engine = _Engine(model, design, rule, chosen, limits or Limits(), workers, store)
    first = engine.at(context)
    faults = tuple(slot_faults(first.prefixes, limits=engine.limits))
    violations = tuple(step_violations(first.laws, first.prefixes, engine.limits))
    emission = engine.emission(context, design.budget, cycles)
    comparison = compare(model.target, context, emission)
    adapted = not violations and not any(fault.part == 3 for fault in faults)
    budgets, by = _budgets(engine, context, cycles, adapted, comparison)
    checks, not_checked = _claims(engine, context, faults, violations)
    if adapted and cycles == 1:
        checks["adapted-growth"] = Verdict.of(not any(budgets))
    elif adapted:
        not_checked["adapted-growth"] = "its conditions were looked at for the first cycle only"
    else:
        not_checked["adapted-growth"] = "its conditions do not hold: " + _why_not_adapted(violations)
    checks = {"lossless": Verdict.of(comparison.total_variation == 0), **checks}
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
        trees=first.found.trees if first.found else equal_support_trees(model, context, design, engine.limits),
        prefixes=first.prefixes,
        ancestor_closed=first.found is None or first.found.not_ancestor_closed == 0,
        emission=emission,
        checks=checks,
        not_checked=not_checked,
        slot_faults=faults,
        step_violations=violations,
        all_trees=first.found,
        blame=engine.blame(context, budgets) if comparison.total_variation else None,
    )


@dataclass(frozen=True)
class _Cycle:
    """What is known of a cycle that starts at one context."""

    laws: LayerLaws
    prefixes: Prefix
    found: AllTrees | None


@dataclass
class _Engine:
    """Cycles by the context they start from, each enumerated once and then asked at any budget."""

    model: Model
    design: TreeDesign
    rule: LayerRule
    method: Literal["exhaustive", "classes"]
    limits: Limits
    workers: Workers | None = None
    store: Store | None = None
    _known: dict[Context, _Cycle] = field(default_factory=dict)

    def at(self, context: Context) -> _Cycle:
        """All trees, or all classes, of a cycle at `context`."""
        cycle = self._known.get(context)
        if cycle is None:
            found, laws = None, LayerLaws(self.model, context, self.rule, self.limits)
            if self.method == "exhaustive":
                found = enumerate_trees(
                    self.model, context, self.design, self.limits, workers=self.workers, store=self.store
                )
                prefixes = prefixes_of(found.classes)
            else:
                prefixes = grow_prefixes(self.model, context, self.design, self.limits)
            cycle = self._known[context] = _Cycle(laws, prefixes, found)
        return cycle

    def emission(self, context: Context, budget: int, cycles: int) -> Emission:
        """What is emitted in `cycles` cycles, each with a new tree grown from where the last one stopped."""
        law: Law[TokenPath] = {(): ONE}
        for _ in range(cycles):
            longer: Law[TokenPath] = {}
            for tokens, probability in law.items():
                cycle = self.at(context + tokens)
                emitted = prefix_emission(cycle.laws, cycle.prefixes, budget, self.limits)
                for more, chance in emitted.law.items():
                    end = tokens + more
                    longer[end] = longer.get(end, ZERO) + probability * chance
                if len(longer) > MOST_SEQUENCES:
                    message = f"in {count(cycles, 'cycle')} there are more than {MOST_SEQUENCES:,} different sequences"
                    raise LimitReached("RV202", message, self.limits.covered)
            law = longer
        return Emission(law)

    def blame(self, context: Context, budgets: tuple[Rational, ...]) -> Blame:
        """Who is to blame at the smallest lossy budget, in the first cycle that is lossy there by itself."""
        budget = next(k for k, distance in enumerate(budgets, 1) if distance)
        for start, cycle in sorted(self._known.items(), key=lambda known: (len(known[0]), known[0])):
            emission = self.emission(start, budget, 1)
            if compare(self.model.target, start, emission).total_variation:
                return blame(cycle.prefixes, budget, start[len(context) :])
        raise AssertionError("a composition of lossless cycles is lossless")


def fewest_sequences(model: Model, context: Context, cycles: int, limits: Limits) -> int:
    """About how many sequences `cycles` tokens of the target can be, and so at least so many cycles that are lossless.

    Exact while at most `MOST_WALKED` contexts are looked at (fewer of a large vocabulary); beyond them every context is
    taken to have as many next tokens as the fewest found in any of them.
    """
    walks = max(10, min(MOST_WALKED, MOST_WEIGHTS_WALKED // model.vocab))
    ends, fewest = [context], model.vocab
    for left in range(cycles, 0, -1):
        if walks <= 0:
            return len(ends) * int(fewest**left)
        seen = ends[:: -(-len(ends) // walks)]
        nexts = [support(model.target(end)) for end in limits.watch(seen)]
        fewest = min(fewest, *map(len, nexts))
        if len(seen) < len(ends):
            return len(ends) * int(fewest**left)
        walks -= len(seen)
        ends = [(*end, token) for end, tokens in zip(seen, nexts, strict=True) for token in tokens]
    return len(ends)


def choose_method(
    model: Model, design: TreeDesign, method: Method, context: Context = (), limits: Limits | None = None
) -> Literal["exhaustive", "classes"]:
    """The engine that answers. `auto` prefers to enumerate all trees, unless there are many and classes are valid."""
    if method not in ("auto", "exhaustive", "classes"):
        raise InputError("RV106", f"method must be auto, exhaustive or classes, not {method!r}")
    reason = why_not_lazy(design, model, context, limits)
    most = most_trees(design, model.vocab)
    if method == "classes" and reason is not None:
        message = f"--method classes is not valid here: {reason}; best-first growth would repair it silently"
        raise InputError("RV107", message)
    if method == "classes" or (method == "auto" and reason is None and most > AUTO_TREES):
        return "classes"
    if most > MOST_TREES:
        remedy = "use --method classes" if reason is None else f"and classes are not valid here: {reason}"
        raise InputError("RV108", f"there may be {about(most)} unpruned trees, too many to enumerate; {remedy}")
    return "exhaustive"


def _budgets(
    engine: _Engine, context: Context, cycles: int, adapted: bool, at_full: Comparison
) -> tuple[tuple[Rational, ...], Literal["global", "local"]]:
    """Total variation at each budget, by comparing laws; by the local identities where that is a proof and cheaper."""
    full = engine.design.budget
    classes = count_leaves(engine.at(context).prefixes)
    if adapted and cycles == 1 and classes * full > GLOBAL_AT_EVERY_BUDGET and not at_full.total_variation:
        return (ZERO,) * full, "local"
    nodes = most_nodes(engine.design, engine.model.vocab)
    distances: list[Rational] = []
    for k in range(1, min(full, nodes)):
        emission = engine.emission(context, k, cycles)
        distances.append(compare(engine.model.target, context, emission).total_variation)
    return (*distances, *[at_full.total_variation] * (full - len(distances))), "global"


def _claims(
    engine: _Engine, context: Context, faults: tuple[SlotFault, ...], violations: tuple[StepViolation, ...]
) -> tuple[dict[str, Verdict], dict[str, str]]:
    checks: dict[str, Verdict] = {}
    not_checked: dict[str, str] = {}
    found = engine.at(context).found
    reason = why_not_lazy(engine.design, engine.model, context, engine.limits)
    if found is None:
        not_checked["eager-equals-lazy"] = "only the class method ran; use --method exhaustive"
    elif reason is not None:
        not_checked["eager-equals-lazy"] = f"its conditions do not hold: {reason}"
    else:
        grown = classes_of(grow_prefixes(engine.model, context, engine.design, engine.limits))
        checks["eager-equals-lazy"] = Verdict.of(grown == found.classes)
    checks["slot-determinism"] = Verdict.of(not faults)
    if found is None:
        not_checked["sampled-outranks-fill"] = "only the class method ran: it rests on this claim"
        not_checked["scores-never-increase"] = "only the class method ran: it rests on this claim"
    else:
        closed = not found.not_ancestor_closed and not found.table.factors_above_one
        checks["sampled-outranks-fill"] = Verdict.of(not found.table.outranked)
        checks["scores-never-increase"] = Verdict.of(closed)
    checks["layer-lossless"] = Verdict.of(not any(violation.what == "emission" for violation in violations))
    return checks, not_checked


def _why_not_adapted(violations: tuple[StepViolation, ...]) -> str:
    reasons = {
        "parent": "a node is revealed before its parent",
        "siblings": "a sampled token is revealed after a sibling that it could equal",
        "descent": "a revealed child changes the probability of descending into another",
        "emission": "the rule does not emit the target's law at a layer",
    }
    kinds = {violation.what for violation in violations}
    named = [reason for what, reason in reasons.items() if what in kinds]
    return "; ".join(named) or "a sampled token does not have the law that verification uses"
