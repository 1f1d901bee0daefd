"""What a whole decoder emits per cycle, exactly: all depths, pruning included; rules side by side.

The law of the pruned tree comes from best-first growth (claim `eager-equals-lazy`: only the paper's own design is
compared here). tau, the expected number of tokens per cycle, is one more than the expected number of accepted ones:
`tau = 1 + E over T_R of the sum, over its nodes, of the probability that verification reaches them`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rheo_verify.checks.emission import Emission, cycle_emission
from rheo_verify.checks.enumeration import Enumeration, enumerate_design
from rheo_verify.checks.layers import LayerLaws, reach
from rheo_verify.checks.optimal import optimal_rule
from rheo_verify.checks.prefixes import grow_prefixes, leaves
from rheo_verify.checks.showing import html_of
from rheo_verify.checks.static_optimum import best_tokens_per_cycle, static_topology
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Tree
from rheo_verify.errors import InputError
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.rationals import ONE, Rational, total
from rheo_verify.verification.layer import LayerRule
from rheo_verify.verification.rules import layer_rule

Trees: TypeAlias = Sequence[tuple[Tree, Rational]]

MOST_LEAD = 4


@dataclass(frozen=True)
class Cycle:
    """One decoder at one context. `trees` is the number of pruned trees T_R of positive probability.

    `rule` is the verification rule's name, `lead` is m (None for pure top-K, which has no sampled slot). `best`: the
    largest tau that lossless layer rules reach in this tree, None unless the tree is static.
    """

    rule: str
    lead: int | None
    emission: Emission
    trees: int
    best: Rational | None = None

    @property
    def tokens_per_cycle(self) -> Rational:
        """Tau."""
        return self.emission.tokens_per_cycle

    @property
    def name(self) -> str:
        """For tables: ``rheo m=1``, ``topk``."""
        return self.rule if self.lead is None else f"{self.rule} m={self.lead}"

    def _repr_html_(self) -> str | None:
        return html_of(self)


def unpruned(design: TreeDesign) -> TreeDesign:
    """The same design with a budget that holds every unpruned tree."""
    return replace(design, budget=design.pool * (1 + design.beam * (design.depth - 1)))


def top_k_design(design: TreeDesign, vocab: int) -> TreeDesign:
    """The same tree without a sampled slot: all K candidates are lead."""
    pool = min(design.pool, vocab)
    return replace(design, lead=pool, pool=pool)


def pruned_trees(
    model: Model, context: Context, design: TreeDesign, limits: Limits | None = None
) -> list[tuple[Tree, Rational]]:
    """The law of T_R. Raises `InputError` RV106 for a design other than the paper's own, and `LimitReached`."""
    design.check_vocab(model.vocab)
    if design.proxy != "rheo" or design.ties != "position" or design.epsilon != 0:
        raise InputError("RV106", "tokens per cycle are compared for the paper's proxy with ties by position only")
    return list(leaves(grow_prefixes(model, context, design, limits)))


def cycle(
    model: Model, context: Context, design: TreeDesign, rule: LayerRule | str, limits: Limits | None = None
) -> Cycle:
    """One decoder's cycle at `context`. Raises `InputError` RV505 for optimal-transport unless the tree is static."""
    chosen = _rule(rule)
    trees = pruned_trees(model, context, design, limits)
    if chosen.name == "optimal-transport" and static_topology(trees) is None:
        message = "the optimum has no tokens per cycle here: which slots survive depends on the draws"
        raise InputError("RV505", f"{message}, and its rule is lossy in such a tree (claim pruned-optimum)")
    return _cycle(model, context, design, chosen, trees, limits or Limits())


def compare_cycles(
    model: Model,
    context: Context,
    design: TreeDesign,
    *,
    leads: Sequence[int] = range(MOST_LEAD + 1),
    rules: Sequence[str] = ("rheo", "rrsw"),
    limits: Limits | None = None,
) -> tuple[Cycle, ...]:
    """`each_cycle`, all of them."""
    return tuple(each_cycle(model, context, design, leads=leads, rules=rules, limits=limits))


def each_cycle(
    model: Model,
    context: Context,
    design: TreeDesign,
    *,
    leads: Sequence[int] = range(MOST_LEAD + 1),
    rules: Sequence[str] = ("rheo", "rrsw"),
    limits: Limits | None = None,
) -> Iterator[Cycle]:
    """Rules side by side, each with every m below K, then pure top-K. Raises `LimitReached`.

    Where the tree is static, also optimal-transport (if q-hat ranks as q does), and `best`: the largest tau that any
    layer rules reach.
    """
    limits = limits or Limits()
    pool = min(design.pool, model.vocab)
    for lead in leads:
        if lead < pool:
            here = replace(design, lead=lead)
            trees = pruned_trees(model, context, here, limits)
            topology = static_topology(trees)
            best = None if topology is None else best_tokens_per_cycle(model, context, here, topology, limits)
            for rule in rules:
                yield replace(_cycle(model, context, here, _rule(rule), trees, limits), best=best)
            if best is not None and (planned := _planned(model, context, here, trees, limits)) is not None:
                yield replace(planned, best=best)
    plain = top_k_design(design, model.vocab)
    trees = pruned_trees(model, context, plain, limits)
    yield _cycle(model, context, plain, layer_rule("topk"), trees, limits)


def ablations(cycles: Sequence[Cycle]) -> tuple[tuple[str, Cycle], ...]:
    """The design, rheo with m = 1 (or the first m there is), then what becomes of it when one part is changed.

    Empty where there is nothing to compare: no row of rheo with a lead.
    """
    leads = sorted(row.lead for row in cycles if row.rule == "rheo" and row.lead is not None)
    if not leads:
        return ()
    base = 1 if 1 in leads else leads[0]
    wanted = [
        (f"rheo, m = {base}", "rheo", base),
        ("verified by rrsw", "rrsw", base),
        *([("no lead, m = 0", "rheo", 0)] if base else []),
        (f"one more lead, m = {base + 1}", "rheo", base + 1),
        ("no sampled token, top-K", "topk", None),
    ]
    rows = {(row.rule, row.lead): row for row in cycles}
    return tuple((label, rows[rule, lead]) for label, rule, lead in wanted if (rule, lead) in rows)


def optimum_where_pruned(
    model: Model, context: Context, design: TreeDesign, limits: Limits | None = None
) -> Enumeration:
    """Whether the optimal plans for the n seen are lossless in this tree, and whose fault it is if not."""
    return enumerate_design(model, design, optimal_rule(), method="classes", context=context, limits=limits)


def expected_reach(laws: LayerLaws, trees: Iterable[tuple[Tree, Rational]]) -> Rational:
    """Tau by its identity: one, and for every node of T_R the probability that verification reaches it."""
    reached = (p * here for tree, p in trees for tokens, here, _, _ in reach(laws, tree) if tokens)
    return ONE + total(reached)


def _cycle(model: Model, context: Context, design: TreeDesign, rule: LayerRule, trees: Trees, limits: Limits) -> Cycle:
    emission = cycle_emission(LayerLaws(model, context, rule, limits), limits.watch(trees, every=1))
    lead = design.lead if design.pool > design.lead else None
    return Cycle(rule.name, lead, emission, len(trees))


def _planned(model: Model, context: Context, design: TreeDesign, trees: Trees, limits: Limits) -> Cycle | None:
    """optimal-transport, or None where q-hat ranks tokens unlike q, so that the rule cannot know its plan."""
    try:
        return _cycle(model, context, design, optimal_rule(), trees, limits)
    except InputError as error:
        if error.code != "RV502":
            raise
        return None


def _rule(rule: LayerRule | str) -> LayerRule:
    if not isinstance(rule, str):
        return rule
    return optimal_rule() if rule == "optimal-transport" else layer_rule(rule)
