"""Claim pruned-optimum: in a pruned dynamic tree the optimal plans are lossy, rheo and rrsw are not."""

from fractions import Fraction

import pytest

from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.checks.optimal import optimal_rule
from rheo_verify.checks.per_cycle import cycle, optimum_where_pruned
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import InputError
from rheo_verify.models.model import from_functions
from rheo_verify.probability.distributions import distribution
from rheo_verify.verification.rules import layer_rule

DESIGN = TreeDesign(lead=0, pool=2, beam=1, depth=2, budget=2)


def instance():
    drafts = {(): [2, 1, 1], (0,): [1, 0, 0]}
    return from_functions(
        3,
        lambda context: distribution([1, 1, 0] if context == () else [1, 1, 1]),
        lambda context: distribution(drafts.get(context, [1, 1, 1])),
    )


def test_the_optimum_is_refuted_and_the_rule_is_to_blame():
    found = enumerate_design(instance(), DESIGN, optimal_rule())
    assert found.verdict is Verdict.REFUTED
    assert found.total_variation >= Fraction(1, 4)
    assert found.blame is not None
    assert found.blame.culprit == "rule"
    assert found.checks["slot-determinism"] is Verdict.VERIFIED
    assert optimum_where_pruned(instance(), (), DESIGN).total_variation == found.total_variation


@pytest.mark.parametrize("rule", ["rheo", "rrsw", "topk"])
def test_the_other_rules_are_immune(rule):
    assert enumerate_design(instance(), DESIGN, layer_rule(rule)).verdict is Verdict.VERIFIED


def test_no_tokens_per_cycle_are_quoted():
    with pytest.raises(InputError, match=r"RV505.*pruned-optimum"):
        cycle(instance(), (), DESIGN, "optimal-transport")


def test_every_optimal_plan_is_lossy():
    """The least distance over all optimal plans, those that tell ordered tuples apart included: 1/4.

    Y = 0 (1/2) keeps Y alone, and any plan for n = 1 accepts it: p(0) = q(0). Y = 1, 2 (1/4 each) keep Y and fill 0,
    and follow a plan for n = 2, made for the tuples (0, 1), (1, 0), (2, 0) of probability 1/2, 1/4, 1/4. So token 0
    comes out with 1/2 + b + c, where (1, 0) sends b and (2, 0) sends c to it, instead of 1/2.
    """
    linprog = pytest.importorskip("scipy.optimize").linprog
    columns = ["01>0", "01>1", "10>1", "10>0", "20>2", "20>0"]

    def row(*names):
        return [float(name in names) for name in columns]

    tuples = [row("01>0", "01>1"), row("10>1", "10>0"), row("20>2", "20>0")]
    tokens = [row("01>0", "10>0", "20>0"), row("01>1", "10>1"), row("20>2")]
    limits = {"A_ub": tuples + tokens, "b_ub": [1 / 2, 1 / 4, 1 / 4, 1 / 2, 1 / 2, 0]}
    most = -linprog([-1] * 6, **limits).fun
    assert most == pytest.approx(1)
    least = linprog(row("10>0", "20>0"), **limits, A_eq=[[1] * 6], b_eq=[most])
    assert least.fun == pytest.approx(1 / 4)
