"""Classes to look at, each told step by step: the one where a loss shows first, then the most probable ones."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rheo_verify.checks.enumeration import Enumeration, enumerate_design
from rheo_verify.checks.examples import MOST_PATHS, example_draws
from rheo_verify.checks.layers import StepViolation
from rheo_verify.checks.structure import SlotFault
from rheo_verify.checks.walkthrough import Walkthrough, walk_through, walkthrough_of
from rheo_verify.drafting.tree import SlotPath, TokenPath, Tree
from rheo_verify.drafting.validity import why_not_lazy
from rheo_verify.limits import Limits
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import Rational
from rheo_verify.probability.replay import choices_text

FEW_PATHS = 64


@dataclass(frozen=True)
class ClassWalk:
    """One class T_R. `along[k-1]` is the probability that T_k is what it is here.

    Where the loss shows in it: `blamed` is the slot to blame and `fault` how, or `layer` the tokens to the node at
    which the rule is to blame and `violation` how. `steady`: no draw beside the class changes it (no slot fault here).
    `replay` is the end of a replay string, None where none is known.
    """

    walk: Walkthrough
    probability: Rational
    along: tuple[Rational, ...]
    steady: bool
    replay: str | None = None
    blamed: SlotPath | None = None
    fault: SlotFault | None = None
    layer: TokenPath | None = None
    violation: StepViolation | None = None


def class_walks(result: Enumeration, most: int | None = None, limits: Limits | None = None) -> Iterator[ClassWalk]:
    """The counterexample if there is one, then the `most` most probable classes (all if None), most probable first.

    Raises `LimitReached` on the way.
    """
    limits = limits or Limits()
    classes = result.classes()
    first = counterexample(result, classes, limits)
    if first is not None:
        yield first
    seen = None if first is None or (result.blame and result.blame.context) else first.walk.tree

    def order(tree: Tree) -> tuple[Any, ...]:
        return (-classes[tree], [node.tokens for node in tree])

    for tree in sorted(classes, key=order) if most is None else heapq.nsmallest(most, classes, key=order):
        if tree != seen:
            yield _tell(result, tree, FEW_PATHS, limits)


def counterexample(
    result: Enumeration, classes: Law[Tree] | None = None, limits: Limits | None = None
) -> ClassWalk | None:
    """The most probable class in which the blamed slot survived, or in which the blamed rule fails; None if lossless.

    `classes` may be given where they are known. Where the guilty cycle starts later, that cycle is enumerated here.
    Raises `LimitReached`.
    """
    limits = limits or Limits()
    who = result.blame
    if who is None:
        return None
    if who.context:
        start = result.context + who.context
        later = enumerate_design(
            result.model, result.design, result.rule, method=result.method, context=start, limits=limits
        )
        return counterexample(later, limits=limits)
    classes = result.classes() if classes is None else classes
    if who.fault is not None:
        tree = guilty_tree(result, classes)
        slot, fault = who.fault.slots[0], who.fault
        return None if tree is None else _tell(result, tree, MOST_PATHS, limits, blamed=slot, fault=fault)
    for violation in result.step_violations:
        shows = [tree for tree in classes if _shows(tree, violation)]
        if violation.what in ("emission", "descent") and shows:
            tree = max(shows, key=lambda it: classes[it])
            return _tell(result, tree, MOST_PATHS, limits, layer=violation.tokens, violation=violation)
    return None


def guilty_tree(result: Enumeration, classes: Law[Tree] | None = None) -> Tree | None:
    """The most probable class in which the blamed slot survived; None if no slot of this cycle is to blame."""
    if result.blame is None or result.blame.fault is None or result.blame.context:
        return None
    fault = result.blame.fault
    size = len(fault.tree)
    classes = result.classes() if classes is None else classes
    shown = [
        tree
        for tree in classes
        if tree[:size] == fault.tree and len(tree) > size and tree[size].slots == fault.slots[0]
    ]
    return max(shown, key=lambda tree: classes[tree]) if shown else None


def _shows(tree: Tree, violation: StepViolation) -> bool:
    here = {node.slots[-1]: node.token for node in tree if node.tokens[:-1] == violation.tokens}
    return (violation.slot in here or not violation.slot) and set(violation.children) <= set(here.values())


def _tell(
    result: Enumeration,
    tree: Tree,
    most: int,
    limits: Limits,
    blamed: SlotPath | None = None,
    fault: SlotFault | None = None,
    layer: TokenPath | None = None,
    violation: StepViolation | None = None,
) -> ClassWalk:
    model, design, rule, context = result.model, result.design, result.rule, result.context
    limits.check_time()
    draws = example_draws(model, context, design, tree, most, limits)
    if draws is None:
        walk = walkthrough_of(model, design, rule, tree, context)
    else:
        walk = walk_through(model, design, rule, False, draws, context)
    along, here = [], result.prefixes
    for node in tree:
        here = here.following[node]
        along.append(here.probability)
    replay = None
    if not context and why_not_lazy(design, model, context) is None:
        replay = f"class:{choices_text([node.token for node in tree if node.law is not None])}"
    elif not context and draws is not None:
        replay = f"tree:{choices_text(draws)}"
    return ClassWalk(
        walk, here.probability, tuple(along), not result.slot_faults, replay, blamed, fault, layer, violation
    )
