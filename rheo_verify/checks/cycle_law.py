"""The exact law of what a decoder emits in a cycle, at any context, each context once.

A frozen topology under a layer rule needs only one average a context (`average`), shared by all nodes and all cycles
that come to it. Anything else is enumerated: every outcome of the drafting, and verification's law on each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import add
from typing import TypeAlias

from rheo_verify.checks.emission import Emission, cycle_emission
from rheo_verify.checks.layers import LayerLaws
from rheo_verify.decoders.decoder import Decoder
from rheo_verify.drafting.frozen_tree import FrozenTree
from rheo_verify.drafting.shapes import LEAF, Shape
from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.limits import Limits
from rheo_verify.models.integer_rows import IntegerRows, Integers
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, ZERO, Rational, ratio
from rheo_verify.verification.average import Average, average_by_enumeration
from rheo_verify.verification.layer import LayerRule

NodeLaw: TypeAlias = tuple[list[tuple[Shape, Sequence[int]]], Sequence[int], int]
"""What verification does at a node: descend into a shape, by token; stop with a token; weights, and their scale."""

NodeLaws: TypeAlias = dict[Context, NodeLaw]

Nodes: TypeAlias = dict[TokenPath, tuple[int, int]]
"""The probability of coming to a node, by its tokens: weight and scale."""


class CycleLaws:
    """Laws of one decoder's cycles on one model. `paths` counts the outcomes that were told apart so far.

    `rows` may be shared among decoders on the same model. Enumeration of drafting may end with `LimitReached`.
    """

    def __init__(
        self, decoder: Decoder, model: Model, limits: Limits | None = None, rows: IntegerRows | None = None
    ) -> None:
        self.decoder = decoder
        self.model = model
        self.limits = limits or Limits()
        self.rows = rows or IntegerRows(model)
        self.paths = 0
        self._cycles: dict[Context, Emission] = {}
        self._nodes: dict[Shape, NodeLaws] = {}

    def at(self, context: Context) -> Emission:
        """The law of what a cycle from `context` emits."""
        found = self._cycles.get(context)
        if found is None:
            if self._cycles:
                self.limits.covered = f"{len(self._cycles):,} of the cycles were finished"
            self.limits.check_time()
            law = self.in_integers(context)
            if law is None:
                found = Emission(self._enumerated(context))
            else:
                ends = ((tokens, weights, scale) for tokens, (weights, scale) in law.items())
                found = Emission(
                    {
                        (*tokens, token): ratio(weight, scale)
                        for tokens, weights, scale in ends
                        for token, weight in enumerate(weights)
                        if weight
                    }
                )
            self._cycles[context] = found
        return found

    def in_integers(self, context: Context) -> dict[TokenPath, Integers] | None:
        """The law of a cycle over a frozen topology under a layer rule, else None.

        `law[tokens] = (weights, scale)`: `tokens` and then v are emitted with probability `weights[v] / scale`.
        From the root down, layer by layer; nodes with the same tokens and the same shape below them are one.
        """
        draft, rule = self.decoder.draft, self.decoder.rule
        if not isinstance(draft, FrozenTree) or not isinstance(rule, LayerRule):
            return None
        target = self.rows.target
        ends: dict[TokenPath, Integers] = {}
        layer: dict[Shape, Nodes] = {draft.shape(self.model, context): {(): (1, 1)}}
        while layer:
            below: dict[Shape, Nodes] = {}
            for shape, nodes in layer.items():
                found = self._laws(draft, rule, [context + tokens for tokens in nodes], shape) if shape else {}
                for tokens, (reached, of) in self.limits.watch(nodes.items()):
                    if shape:
                        descend, stop, scale = found[context + tokens]
                        for under, accepted in descend:
                            _descend(below.setdefault(under, {}), tokens, accepted, reached, of * scale)
                    else:
                        stop, scale = target(context + tokens)
                    row = [reached * weight for weight in stop], of * scale
                    ends[tokens] = _row_plus(ends[tokens], row) if tokens in ends else row
            self.paths += len(layer.get(LEAF, ()))
            layer = below
        return ends

    def _laws(self, draft: FrozenTree, rule: LayerRule, contexts: Sequence[Context], shape: Shape) -> NodeLaws:
        """What verification does at nodes of one shape, at these contexts and others."""
        known = self._nodes.setdefault(shape, {})
        unknown = [here for here in contexts if here not in known]
        for here, found in zip(unknown, self._averages(draft, rule, unknown, len(shape)), strict=True):
            self.paths += found.paths
            into: dict[Shape, Sequence[int]] = {}
            for under, weights in zip(shape, found.descend, strict=True):
                into[under] = list(map(add, into[under], weights)) if under in into else weights
            known[here] = list(into.items()), found.stop, found.scale
        return known

    def _averages(self, draft: FrozenTree, rule: LayerRule, contexts: list[Context], count: int) -> Iterable[Average]:
        if rule.averages is not None and contexts:
            rows = self.rows
            integers = [(rows.target(here)[0], rows.draft(here)[0], rows.sampling_draft(here)[0]) for here in contexts]
            return rule.averages(draft.siblings, integers, count, self.limits)
        model = self.model
        return (
            average_by_enumeration(
                rule,
                draft.siblings,
                model.target(here),
                model.draft(here),
                model.sampling_draft(here),
                count,
                self.limits,
            )
            for here in contexts
        )

    def _enumerated(self, context: Context) -> Law[TokenPath]:
        outcomes: list[tuple[Tree, Rational]] = []
        paths = enumerate_paths(lambda chance: tuple(self.decoder.draft(chance, self.model, context)))
        for path in self.limits.watch(paths, every=16):
            outcomes.append((path.result, path.probability))
            self.paths += 1
        trees = self.limits.watch(collect(outcomes).items(), every=1)
        return verified(self.decoder, self.model, context, trees)


def _descend(nodes: Nodes, tokens: TokenPath, accepted: Sequence[int], reached: int, scale: int) -> None:
    """Add the children of one node to the nodes of one shape below."""
    for token, weight in enumerate(accepted):
        if weight:
            child = (*tokens, token)
            probability = reached * weight, scale
            nodes[child] = _plus(nodes[child], probability) if child in nodes else probability


def _plus(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    common = math.lcm(left[1], right[1])
    return left[0] * (common // left[1]) + right[0] * (common // right[1]), common


def _row_plus(left: Integers, right: Integers) -> Integers:
    common = math.lcm(left[1], right[1])
    first, second = common // left[1], common // right[1]
    return [first * one + second * other for one, other in zip(left[0], right[0], strict=True)], common


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
        started = [tokens for tokens in open_prefixes if len(tokens) == done]
        for tokens in laws.limits.watch(started, every=1):
            probability = open_prefixes.pop(tokens)
            cycles += probability
            for more, given in laws.at(context + tokens).law.items():
                end = (*tokens, *more)[:length]
                into = finished if len(end) == length else open_prefixes
                into[end] = into.get(end, ZERO) + probability * given
    return finished, cycles
