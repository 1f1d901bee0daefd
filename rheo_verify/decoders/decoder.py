"""Decoders and the decoding loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rheo_verify.drafting.tree import Node, TokenPath, Tree
from rheo_verify.errors import InputError
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.verification.layer import LayerRule
from rheo_verify.verification.tree_rule import TreeRule
from rheo_verify.verification.walk import walk

Draft: TypeAlias = Callable[[Chance, Model, Context], Iterator[Node]]
"""Yields a tree's nodes in the order in which they are revealed."""


@dataclass(frozen=True)
class Decoder:
    """A way of drafting and a way of verifying: a layer rule from the root down, or a rule for the whole tree."""

    name: str
    draft: Draft
    rule: LayerRule | TreeRule

    def cycle(self, chance: Chance, model: Model, context: Context) -> TokenPath:
        """Draft one tree at `context` and verify it: the emitted tokens."""
        tree: Tree = tuple(self.draft(chance, model, context))
        if isinstance(self.rule, TreeRule):
            return self.rule.verify(chance, model, context, tree)
        return walk(chance, model, context, tree, self.rule)


def decode(chance: Chance, decoder: Decoder, model: Model, context: Context, length: int) -> TokenPath:
    """Run cycles until `length` tokens are out; what the last cycle emits beyond is cut (SPEC 1.3)."""
    if length < 0:
        raise InputError("RV106", f"length {length} must not be negative")
    emitted: TokenPath = ()
    while len(emitted) < length:
        emitted += decoder.cycle(chance, model, context + emitted)
    return emitted[:length]
