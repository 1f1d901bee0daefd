"""One class or path told step by step: pools, scores, what survived, and verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheo_verify.checks.layers import LayerLaws
from rheo_verify.checks.showing import html_of
from rheo_verify.drafting.best_first import best_first
from rheo_verify.drafting.build_then_prune import unpruned_tree
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import Pool, pool_at
from rheo_verify.drafting.priority import priority_of
from rheo_verify.drafting.tree import Node, SlotPath, TokenPath, Tree, children_of
from rheo_verify.drafting.validity import why_not_lazy
from rheo_verify.errors import InputError
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ZERO, Rational
from rheo_verify.probability.replay import ReplayChance
from rheo_verify.verification.layer import LayerLaw, LayerRule, Outcome
from rheo_verify.verification.walk import verify_layer
from rheo_verify.words import count


@dataclass(frozen=True)
class LayerStep:
    """Verification at one node: its candidates, the law of the outcome, and what happened (None: not followed)."""

    tokens: TokenPath
    target: Row
    children: tuple[Node, ...]
    law: LayerLaw
    outcome: Outcome | None


@dataclass(frozen=True)
class Walkthrough:
    """What one path shows. `probability` is that of all choices followed."""

    model: Model
    design: TreeDesign
    rule: LayerRule
    pools: tuple[tuple[TokenPath, Pool, int | None], ...]
    tree: Tree
    pruned: Tree
    drafted: Rational
    layers: tuple[LayerStep, ...]
    emitted: TokenPath | None
    probability: Rational

    def _repr_html_(self) -> str | None:
        return html_of(self)


def walk_through(
    model: Model, design: TreeDesign, rule: LayerRule, lazy: bool, choices: Sequence[int], context: Context = ()
) -> Walkthrough:
    """Follow `choices` through drafting, and through verification if they go on. Raises `InputError` RV107, RV109."""
    if lazy and (reason := why_not_lazy(design, model, context)) is not None:
        raise InputError("RV107", f"this design has no classes to grow: {reason}; replay a tree instead")
    chance = ReplayChance(choices)
    if lazy:
        tree = tuple(best_first(chance, model, context, design))
        pruned: Tree = ()
    else:
        nodes = unpruned_tree(chance, design, lambda tokens: pool_at(model, context + tokens, design))
        ranked = sorted(nodes, key=priority_of(design))
        tree, pruned = tuple(ranked[: design.budget]), tuple(ranked[design.budget :])
    drafted = chance.probability
    laws = LayerLaws(model, context, rule)
    if chance.position < len(choices):
        layers, emitted = _verify(chance, laws, tree)
        if chance.position < len(choices):
            message = f"the path has {count(len(choices), 'choice')}, but only {chance.position} asked for"
            raise InputError("RV109", message)
    else:
        layers, emitted = _all_layers(laws, tree), None
    pools = _pools(model, context, design, (*tree, *pruned))
    return Walkthrough(model, design, rule, pools, tree, pruned, drafted, layers, emitted, chance.probability)


def walkthrough_of(model: Model, design: TreeDesign, rule: LayerRule, tree: Tree, context: Context = ()) -> Walkthrough:
    """A kept tree by itself, of which no run is known: nothing pruned is shown, and `drafted` is not known (zero)."""
    layers = _all_layers(LayerLaws(model, context, rule), tree)
    pools = _pools(model, context, design, tree)
    return Walkthrough(model, design, rule, pools, tree, (), ZERO, layers, None, ZERO)


def _pools(
    model: Model, context: Context, design: TreeDesign, nodes: Tree
) -> tuple[tuple[TokenPath, Pool, int | None], ...]:
    expanded = sorted({node.tokens[:-1] for node in nodes}, key=lambda tokens: (len(tokens), tokens))
    drawn = {node.tokens[:-1]: node.token for node in nodes if node.kind == "sampled"}
    return tuple((tokens, pool_at(model, context + tokens, design), drawn.get(tokens)) for tokens in expanded)


def _verify(chance: ReplayChance, laws: LayerLaws, tree: Tree) -> tuple[tuple[LayerStep, ...], TokenPath]:
    layers: list[LayerStep] = []
    slots: SlotPath = ()
    emitted: TokenPath = ()
    while True:
        children = children_of(tree, slots)
        outcome = verify_layer(chance, laws.model, laws.context + emitted, children, laws.rule)
        layers.append(LayerStep(emitted, laws.target(emitted), tuple(children), laws.at(emitted, children), outcome))
        emitted = (*emitted, outcome.token)
        if outcome.accepted is None:
            return tuple(layers), emitted
        slots = children[outcome.accepted].slots


def _all_layers(laws: LayerLaws, tree: Tree) -> tuple[LayerStep, ...]:
    layers = []
    for slots, tokens in [((), ()), *((node.slots, node.tokens) for node in tree)]:
        children = children_of(tree, slots)
        if children:
            layers.append(LayerStep(tokens, laws.target(tokens), tuple(children), laws.at(tokens, children), None))
    return tuple(layers)
