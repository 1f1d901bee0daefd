"""Certificates: all that somebody else needs to work a verdict's numbers out again, without this project's code.

The rows of the model that the answer rests on, the design, and the claims: the law of the pruned tree, what a cycle
emits, the total variation at every budget. `report/certificate_json.py` and `report/certificate_rocq.py` write it down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from rheo_verify.checks.emission import compare
from rheo_verify.checks.enumeration import Enumeration
from rheo_verify.checks.layers import LayerLaws
from rheo_verify.checks.prefix_emission import prefix_emission
from rheo_verify.checks.prefixes import Prefix, classes_of, grow_prefixes, prefixes_of
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.all_trees import enumerate_trees
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.drafting.validity import lemma_1_covers
from rheo_verify.errors import InputError
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model, NextToken
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import Rational

RULES = ("rheo", "rrsw", "topk")
"""The rules that the checkers know by their steps."""
MOST_TREES = 3_000
MOST_WORK = 20_000
"""Classes times budget: each is walked once by whoever rechecks the certificate."""


@dataclass(frozen=True)
class Certificate:
    """One verdict, with what it rests on.

    `growth` says how the checker is to form the pruned trees: `eager`, from all unpruned ones, or `lazy`, one growth a
    class. `rows` are the rows used, by table and by tokens after the starting context.
    """

    vocab: int
    design: TreeDesign
    rule: str
    growth: Literal["eager", "lazy"]
    rows: dict[str, dict[TokenPath, Row]]
    classes: Law[Tree]
    emitted: Law[TokenPath]
    budgets: tuple[Rational, ...]
    total_variation: Rational
    tokens_per_cycle: Rational
    verdict: Verdict


def certificate_of(result: Enumeration, limits: Limits | None = None) -> Certificate:
    """The certificate of an enumeration.

    Raises `LimitReached`, and `InputError` RV701 for several cycles and for other rules, RV702 where it would be too
    large.
    """
    check_certifiable(result.cycles, result.rule.name)
    growth = _growth(result)
    rows: dict[str, dict[TokenPath, Row]] = {}
    _recompute(result, recording(result.model, result.context, rows), growth, limits)
    return Certificate(
        vocab=result.model.vocab,
        design=result.design,
        rule=result.rule.name,
        growth=growth,
        rows=rows,
        classes=result.classes(),
        emitted=result.emission.law,
        budgets=result.budgets,
        total_variation=result.total_variation,
        tokens_per_cycle=result.emission.tokens_per_cycle,
        verdict=result.verdict,
    )


def check_certifiable(cycles: int, rule: str) -> None:
    """Raises `InputError` RV701 for several cycles and for other rules, before any work."""
    if cycles != 1:
        raise InputError("RV701", f"a certificate speaks of one cycle, not of {cycles}")
    if rule not in RULES:
        raise InputError("RV701", f"a certificate speaks of the rules {', '.join(RULES)}, not of {rule}")


def _growth(result: Enumeration) -> Literal["eager", "lazy"]:
    """Eagerly where that is little work, so that nothing rests on a theorem; else by one growth a class, if valid."""
    work = len(result.classes()) * result.design.budget
    if work > MOST_WORK:
        raise InputError("RV702", f"the certificate would be too large to recheck: {work:,} classes times budgets")
    if result.method == "exhaustive" and (result.trees or 0) <= MOST_TREES:
        return "eager"
    if lemma_1_covers(result.design):
        return "lazy"
    trees = "an unknown number of" if result.trees is None else f"{result.trees:,}"
    raise InputError(
        "RV702", f"the certificate would be too large to recheck: {trees} unpruned trees, and lazy growth is not valid"
    )


def recording(model: Model, context: Context, rows: dict[str, dict[TokenPath, Row]]) -> Model:
    """The same model, writing down every row that is asked for, by its tokens after `context`."""

    def recorded(name: str, function: NextToken) -> NextToken:
        known = rows.setdefault(name, {})

        def row(tokens: Context) -> Row:
            found = known[tokens[len(context) :]] = function(tokens)
            return found

        return row

    tables: dict[str, Callable[[Context], Row]] = {
        name: recorded(name, getattr(model, name)) for name in ("target", "draft", "sampling_draft")
    }
    return replace(model, **tables)  # type: ignore[arg-type]


def _recompute(result: Enumeration, model: Model, growth: Literal["eager", "lazy"], limits: Limits | None) -> None:
    """Work the answer out again on a model that records; refuses to certify what does not come out the same."""
    prefixes = _prefixes(model, result.context, result.design, growth, limits)
    emissions = [
        prefix_emission(LayerLaws(model, result.context, result.rule, limits), prefixes, budget, limits)
        for budget in range(1, result.design.budget + 1)
    ]
    distances = tuple(compare(model.target, result.context, emission).total_variation for emission in emissions)
    same = classes_of(prefixes) == result.classes() and emissions[-1].law == result.emission.law
    if not same or distances != result.budgets:
        raise AssertionError("the answer came out differently when its rows were recorded")


def _prefixes(
    model: Model, context: Context, design: TreeDesign, growth: Literal["eager", "lazy"], limits: Limits | None
) -> Prefix:
    if growth == "eager":
        return prefixes_of(enumerate_trees(model, context, design, limits).classes)
    return grow_prefixes(model, context, design, limits)
