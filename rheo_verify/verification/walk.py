"""Verification of a whole tree, from the root down: accept a child and descend, or emit a token and stop (SPEC 1.3)."""

from __future__ import annotations

from rheo_verify.drafting.tree import Node, SlotPath, TokenPath, Tree, children_of
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.arrays import law_array, row_array
from rheo_verify.probability.chance import Chance
from rheo_verify.verification.layer import LayerRule, Outcome


def walk(chance: Chance, model: Model, context: Context, tree: Tree, rule: LayerRule) -> TokenPath:
    """One verification of a drafted tree: the emitted tokens (1 to depth + 1 of them)."""
    slots: SlotPath = ()
    emitted: TokenPath = ()
    while True:
        children = children_of(tree, slots)
        outcome = verify_layer(chance, model, context + emitted, children, rule)
        emitted = (*emitted, outcome.token)
        if outcome.accepted is None:
            return emitted
        slots = children[outcome.accepted].slots


def verify_layer(chance: Chance, model: Model, context: Context, children: list[Node], rule: LayerRule) -> Outcome:
    """The rule's steps at one node, given its surviving children in slot order."""
    target = row_array(model.target(context))
    laws = [None if node.law is None else law_array(node.law, target) for node in children]
    return rule.verify(chance, target, [node.token for node in children], laws)
