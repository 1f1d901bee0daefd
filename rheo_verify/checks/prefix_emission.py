"""What one cycle emits, from the tree of prefixes: the fast path of `cycle_emission` (its twin in the tests).

A new node changes the law of one layer only, so the layer laws are kept along the walk, and each class only adds up
the nodes that verification can reach in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rheo_verify.checks.emission import Emission, emission_of_layers
from rheo_verify.checks.layers import LayerLaws
from rheo_verify.checks.prefixes import Prefix
from rheo_verify.drafting.tree import Node, SlotPath, TokenPath
from rheo_verify.limits import Limits
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import Rational
from rheo_verify.verification.layer import LayerLaw


@dataclass(slots=True)
class _Layer:
    """The children at one node, and the law there once it is needed (never at a node that cannot be reached)."""

    tokens: TokenPath
    children: tuple[Node, ...] = ()
    law: LayerLaw | None = None


class _Walk:
    """The layers of the T_k walked to, by the slots of their node; and what was added up.

    A layer may come before its node (where a child outscores its parent): it is reached once its node is there.
    """

    def __init__(self, laws: LayerLaws) -> None:
        self.laws = laws
        self.layers: dict[SlotPath, _Layer] = {}
        self.leaves: dict[TokenPath, _Layer] = {}
        self.weights: dict[int, Rational] = {}
        self.seen: dict[int, tuple[TokenPath, Row]] = {}

    def add(self, node: Node) -> _Layer | None:
        """Take a node into its layer; returns what the layer was, None if it was empty."""
        before = self.layers.get(node.slots[:-1])
        children = () if before is None else before.children
        if children and children[-1].slots > node.slots:
            children = tuple(sorted((*children, node), key=lambda child: child.slots))
        else:
            children = (*children, node)
        self.layers[node.slots[:-1]] = _Layer(node.tokens[:-1], children)
        return before

    def layer(self, slots: SlotPath, tokens: TokenPath) -> _Layer:
        """The layer at a node; an empty one is made once."""
        layer = self.layers.get(slots) or self.leaves.get(tokens)
        if layer is None:
            layer = self.leaves[tokens] = _Layer(tokens)
        return layer

    def count(self, probability: Rational) -> None:
        """Add one class: the probability of reaching each layer of it."""
        stack: list[tuple[SlotPath, TokenPath, Rational]] = [((), (), probability)]
        weights = self.weights
        while stack:
            slots, tokens, reached = stack.pop()
            layer = self.layer(slots, tokens)
            law = layer.law
            if law is None:
                law = layer.law = self.laws.at(layer.tokens, layer.children)
            key = id(law)
            if key in weights:
                weights[key] += reached
            else:
                weights[key] = reached
                self.seen[key] = (layer.tokens, law.residual)
            for child, accepted in zip(layer.children, law.accept, strict=True):
                if accepted:
                    stack.append((child.slots, child.tokens, reached * accepted))


def prefix_emission(laws: LayerLaws, root: Prefix, budget: int, limits: Limits | None = None) -> Emission:
    """The law of what one cycle emits at a budget, given the tree of prefixes. Raises `LimitReached`."""
    limits = limits or Limits()
    walk = _Walk(laws)
    undo: list[tuple[Node, _Layer | None]] = []
    steps: list[tuple[Prefix, Node | None, int]] = [(root, None, 0)]
    for here, node, depth in limits.watch(_popping(steps)):
        while len(undo) > max(0, depth - 1):
            last, before = undo.pop()
            if before is None:
                del walk.layers[last.slots[:-1]]
            else:
                walk.layers[last.slots[:-1]] = before
        if node is not None:
            undo.append((node, walk.add(node)))
        if not here.following or depth == budget:
            walk.count(here.probability)
        else:
            steps.extend((there, following, depth + 1) for following, there in here.following.items())
    return emission_of_layers((*walk.seen[key], weight) for key, weight in walk.weights.items())


def _popping(steps: list[tuple[Prefix, Node | None, int]]) -> Iterable[tuple[Prefix, Node | None, int]]:
    while steps:
        yield steps.pop()
