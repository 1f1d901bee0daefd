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
    """The layers of the T_k walked to, by the slots of their node; and what was added up."""

    def __init__(self, laws: LayerLaws) -> None:
        self.laws = laws
        self.layers: dict[SlotPath, _Layer] = {(): _Layer(())}
        self.weights: dict[int, Rational] = {}
        self.seen: dict[int, tuple[TokenPath, Row]] = {}

    def add(self, node: Node) -> _Layer | None:
        """Take a node into its layer; returns what the layer was, None if its parent is not there."""
        before = self.layers.get(node.slots[:-1])
        if before is None:
            return None
        children = before.children
        if children and children[-1].slots > node.slots:
            children = tuple(sorted((*children, node), key=lambda child: child.slots))
        else:
            children = (*children, node)
        self.layers[node.slots[:-1]] = _Layer(before.tokens, children)
        self.layers[node.slots] = _Layer(node.tokens)
        return before

    def count(self, probability: Rational) -> None:
        """Add one class: the probability of reaching each layer of it."""
        stack: list[tuple[SlotPath, Rational]] = [((), probability)]
        weights = self.weights
        while stack:
            slots, reached = stack.pop()
            layer = self.layers[slots]
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
                    stack.append((child.slots, reached * accepted))


def prefix_emission(laws: LayerLaws, root: Prefix, budget: int, limits: Limits | None = None) -> Emission:
    """The law of what one cycle emits at a budget, given the tree of prefixes. Raises `LimitReached`."""
    limits = limits or Limits()
    walk = _Walk(laws)
    undo: list[tuple[Node, _Layer | None]] = []
    steps: list[tuple[Prefix, Node | None, int]] = [(root, None, 0)]
    for here, node, depth in limits.watch(_popping(steps)):
        while len(undo) > max(0, depth - 1):
            last, before = undo.pop()
            if before is not None:
                walk.layers[last.slots[:-1]] = before
                del walk.layers[last.slots]
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
