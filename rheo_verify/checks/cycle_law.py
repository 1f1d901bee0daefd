"""The exact law of what a decoder emits in a cycle, at any context, each context once.

A frozen topology under a layer rule needs only one average a context (`average`), shared by all nodes and all cycles
that come to it. Anything else is enumerated: every outcome of the drafting, and verification's law on each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rheo_verify.checks.emission import Emission, cycle_emission
from rheo_verify.checks.layers import LayerLaws
from rheo_verify.decoders.decoder import Decoder
from rheo_verify.drafting.frozen_tree import FrozenTree
from rheo_verify.drafting.shapes import Shape
from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, ZERO, Rational, ratio
from rheo_verify.verification.average import average
from rheo_verify.verification.layer import LayerRule

NodeLaw: TypeAlias = tuple[list[tuple[int, Shape, Rational]], tuple[Rational, ...]]
"""What verification does at a node: descend to a token with a shape below it, or stop with one (by token)."""


class CycleLaws:
    """Laws of one decoder's cycles on one model. `paths` counts the outcomes that were told apart so far.

    Enumeration of drafting may end with `LimitReached`.
    """

    def __init__(self, decoder: Decoder, model: Model, limits: Limits | None = None) -> None:
        self.decoder = decoder
        self.model = model
        self.limits = limits or Limits()
        self.paths = 0
        self._cycles: dict[Context, Emission] = {}
        self._nodes: dict[tuple[Context, Shape], NodeLaw] = {}

    def at(self, context: Context) -> Emission:
        """The law of what a cycle from `context` emits."""
        found = self._cycles.get(context)
        if found is None:
            draft, rule = self.decoder.draft, self.decoder.rule
            if isinstance(draft, FrozenTree) and isinstance(rule, LayerRule):
                law = self._layered(draft, rule, context)
            else:
                law = self._enumerated(context)
            found = self._cycles[context] = Emission(law)
        return found

    def _layered(self, draft: FrozenTree, rule: LayerRule, context: Context) -> Law[TokenPath]:
        """From the root down, layer by layer, over pairs of tokens and the shape below them."""
        ends: dict[TokenPath, list[Rational]] = {}
        layer: dict[tuple[TokenPath, Shape], Rational] = {((), draft.shape(self.model, context)): ONE}
        while layer:
            below: dict[tuple[TokenPath, Shape], Rational] = {}
            for (tokens, shape), reached in layer.items():
                if shape:
                    descend, stop = self._node(draft, rule, context + tokens, shape)
                else:
                    descend, stop = [], self.model.target(context + tokens)
                    self.paths += 1
                for token, under, probability in descend:
                    key = ((*tokens, token), under)
                    weight = reached * probability
                    below[key] = below[key] + weight if key in below else weight
                row = [reached * probability for probability in stop]
                if tokens in ends:
                    row = [there + more for there, more in zip(ends[tokens], row, strict=True)]
                ends[tokens] = row
            layer = below
        return {(*tokens, token): p for tokens, row in ends.items() for token, p in enumerate(row) if p}

    def _node(self, draft: FrozenTree, rule: LayerRule, here: Context, shape: Shape) -> NodeLaw:
        known = self._nodes.get((here, shape))
        if known is not None:
            return known
        model = self.model
        rows = model.target(here), model.draft(here), model.sampling_draft(here)
        found = average(rule, draft.siblings, *rows, len(shape))
        self.paths += found.paths
        into: dict[tuple[int, Shape], int] = {}
        for under, row in zip(shape, found.descend, strict=True):
            for token, weight in enumerate(row):
                if weight:
                    into[token, under] = into.get((token, under), 0) + weight
        descend = [(token, under, ratio(weight, found.scale)) for (token, under), weight in into.items()]
        law = descend, tuple(ratio(weight, found.scale) for weight in found.stop)
        self._nodes[here, shape] = law
        return law

    def _enumerated(self, context: Context) -> Law[TokenPath]:
        outcomes: list[tuple[Tree, Rational]] = []
        paths = enumerate_paths(lambda chance: tuple(self.decoder.draft(chance, self.model, context)))
        for path in self.limits.watch(paths):
            outcomes.append((path.result, path.probability))
            self.paths += 1
        return verified(self.decoder, self.model, context, collect(outcomes).items())


def verified(
    decoder: Decoder, model: Model, context: Context, trees: Iterable[tuple[Tree, Rational]]
) -> Law[TokenPath]:
    """The law of what verification emits, over a law of trees."""
    if isinstance(decoder.rule, LayerRule):
        return cycle_emission(LayerLaws(model, context, decoder.rule), trees).law
    emitted: Law[TokenPath] = {}
    for tree, probability in trees:
        for tokens, given in decoder.rule.law(model, context, tree).items():
            emitted[tokens] = emitted.get(tokens, ZERO) + probability * given
    return emitted


def joint_law(laws: CycleLaws, context: Context, length: int) -> tuple[Law[TokenPath], Rational]:
    """The law of the first `length` tokens over as many cycles as they take, and the expected number of cycles.

    The surplus of the last cycle is cut (SPEC 1.3); every cycle drafts anew from where the last one stopped.
    """
    open_prefixes: dict[TokenPath, Rational] = {(): ONE}
    finished: Law[TokenPath] = {}
    cycles = ZERO
    for done in range(length):
        for tokens in [tokens for tokens in open_prefixes if len(tokens) == done]:
            probability = open_prefixes.pop(tokens)
            cycles += probability
            for more, given in laws.at(context + tokens).law.items():
                end = (*tokens, *more)[:length]
                into = finished if len(end) == length else open_prefixes
                into[end] = into.get(end, ZERO) + probability * given
    return finished, cycles
