"""What one cycle emits, from the tree of prefixes: the fast path of `cycle_emission` (its twin in the tests).

A new node changes the law of one layer, and the probability of reaching few. So each vertex of the tree of prefixes
only states what changes there, for all the classes below it at once: a layer's old law is no longer reached with the
vertex's probability, and its new one is. Nothing is summed class by class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rheo_verify.checks.emission import Emission, emission_of_layers
from rheo_verify.checks.layers import LayerLaws
from rheo_verify.checks.prefixes import Prefix, with_child
from rheo_verify.drafting.tree import Node, SlotPath, TokenPath
from rheo_verify.limits import Limits
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ONE, ZERO, Rational
from rheo_verify.verification.layer import LayerLaw


class _Layer(NamedTuple):
    """The children at one node, the probability of reaching it, and the law there (None where it is not reached)."""

    tokens: TokenPath
    children: tuple[Node, ...]
    reached: Rational
    law: LayerLaw | None


class _Walk:
    """The layers of the T_k walked to, by the slots of their node; and what was added up.

    A layer may come before its node (where a child outscores its parent): it is reached once its node is there.
    """

    def __init__(self, laws: LayerLaws, probability: Rational) -> None:
        self.laws = laws
        self.layers: dict[SlotPath, _Layer] = {}
        self.weights: dict[int, tuple[TokenPath, Row, Rational]] = {}
        self._undo: list[tuple[SlotPath, _Layer | None]] = []
        self._marks: list[int] = []
        self._change((), (), (), ONE, probability)

    def go(self, depth: int, node: Node, probability: Rational) -> None:
        """Go on from the T_(depth-1) walked to with its next node; `probability` is that of T_depth."""
        while len(self._marks) >= depth:
            self._take_back(self._marks.pop())
        self._marks.append(len(self._undo))
        above = node.slots[:-1]
        layer = self.layers.get(above)
        if layer is None:
            self._change(above, node.tokens[:-1], (node,), ZERO, probability)
        else:
            self._change(above, layer.tokens, with_child(layer.children, node), layer.reached, probability)

    def _take_back(self, mark: int) -> None:
        while len(self._undo) > mark:
            slots, before = self._undo.pop()
            if before is None:
                del self.layers[slots]
            else:
                self.layers[slots] = before

    def _change(
        self, slots: SlotPath, tokens: TokenPath, children: tuple[Node, ...], reached: Rational, probability: Rational
    ) -> None:
        """Put a layer in place of what was there, and say so to the layers below it."""
        before = self.layers.get(slots)
        law = self.laws.at(tokens, children) if reached else None
        self._undo.append((slots, before))
        self.layers[slots] = _Layer(tokens, children, reached, law)
        if before is not None and before.law is not None:
            self._weigh(tokens, before.law, -probability * before.reached)
        if law is not None:
            self._weigh(tokens, law, probability * reached)
        for place, child in enumerate(children):
            descends = ZERO if law is None else reached * law.accept[place]
            below = self.layers.get(child.slots)
            if below is None:
                if descends:
                    self._change(child.slots, child.tokens, (), descends, probability)
            elif below.reached != descends:
                self._change(child.slots, below.tokens, below.children, descends, probability)

    def _weigh(self, tokens: TokenPath, law: LayerLaw, weight: Rational) -> None:
        key = id(law)
        known = self.weights.get(key)
        self.weights[key] = (tokens, law.residual, weight if known is None else known[2] + weight)


def prefix_emission(laws: LayerLaws, root: Prefix, budget: int, limits: Limits | None = None) -> Emission:
    """The law of what one cycle emits at a budget, given the tree of prefixes. Raises `LimitReached`."""
    walk = _Walk(laws, root.probability)
    steps = [(there, node, 1) for node, there in root.following.items()]
    for here, node, depth in (limits or Limits()).watch(_popping(steps)):
        if depth <= budget:
            walk.go(depth, node, here.probability)
            steps.extend((there, following, depth + 1) for following, there in here.following.items())
    return emission_of_layers(weighed for weighed in walk.weights.values() if weighed[2])


def _popping(steps: list[tuple[Prefix, Node, int]]) -> Iterable[tuple[Prefix, Node, int]]:
    while steps:
        yield steps.pop()
