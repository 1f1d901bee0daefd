"""What a decoder emits in a cycle: its law, its length, and its distance from the target's (SPEC 1.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rheo_verify.checks.layers import LayerLaws, reach
from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, NextToken
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law, push_forward
from rheo_verify.probability.rationals import ONE, ZERO, Rational, total


@dataclass(frozen=True)
class Emission:
    """The law of the tokens that come out before decoding stops or starts its next cycle."""

    law: Law[TokenPath]

    @property
    def tokens_per_cycle(self) -> Rational:
        """The expected number of emitted tokens, the field's tau."""
        return total(len(tokens) * probability for tokens, probability in self.law.items())

    @property
    def lengths(self) -> Law[int]:
        """The law of the number of emitted tokens."""
        return dict(sorted(push_forward(self.law, len).items()))

    def first_token(self, vocab: int) -> Row:
        """The law of the first token that comes out [V]."""
        row = [ZERO] * vocab
        for tokens, probability in self.law.items():
            row[tokens[0]] = row[tokens[0]] + probability
        return tuple(row)

    @property
    def accepted_by_depth(self) -> tuple[Rational, ...]:
        """Entry d-1: the probability that at least d drafted tokens are accepted."""
        longest = max(self.lengths)
        return tuple(
            total(probability for length, probability in self.lengths.items() if length > depth)
            for depth in range(1, longest)
        )


def cycle_emission(laws: LayerLaws, classes: Iterable[tuple[Tree, Rational]]) -> Emission:
    """The law of what one cycle emits, given the law of the pruned tree."""
    layers: dict[int, tuple[TokenPath, Row, Rational]] = {}
    for tree, probability in classes:
        for tokens, reached, law, _ in reach(laws, tree):
            _, _, weight = layers.get(id(law), (tokens, law.residual, ZERO))
            layers[id(law)] = (tokens, law.residual, weight + probability * reached)
    return emission_of_layers(layers.values())


def emission_of_layers(layers: Iterable[tuple[TokenPath, Row, Rational]]) -> Emission:
    """What is emitted, from layers: tokens to the node, residual there, probability of that layer being reached."""
    emitted: Law[TokenPath] = {}
    for tokens, residual, weight in layers:
        for token, probability in enumerate(residual):
            if probability:
                end = (*tokens, token)
                emitted[end] = emitted.get(end, ZERO) + weight * probability
    return Emission(emitted)


@dataclass(frozen=True)
class Difference:
    """A sequence whose probability is wrong: that the output starts so, expected under the target, and found."""

    tokens: TokenPath
    expected: Rational
    found: Rational


@dataclass(frozen=True)
class Comparison:
    """How far an emission, extended by draws from the target, is from the target; largest differences first."""

    total_variation: Rational
    differences: tuple[Difference, ...]


def compare(target: NextToken, context: Context, emission: Emission, limits: Limits | None = None) -> Comparison:
    """Compare, on all sequences at least as long as the longest emission, without listing them.

    Beyond a sequence that no emission passes through, both laws continue with the target's rows; so only the
    sequences next to emissions need a look, and their differences are all there are. Raises `LimitReached` RV201.
    """
    limits = limits or Limits()
    inner = {tokens[:length] for tokens in emission.law for length in range(len(tokens))}
    differences: list[Difference] = []
    stack: list[tuple[TokenPath, Rational, Rational]] = [((), ONE, ZERO)]
    while stack:
        limits.check_time()
        tokens, expected, found = stack.pop()
        for token, probability in enumerate(target(context + tokens)):
            end = (*tokens, token)
            wanted = expected * probability
            have = found * probability + emission.law.get(end, ZERO)
            if end in inner:
                stack.append((end, wanted, have))
            elif wanted != have:
                differences.append(Difference(end, wanted, have))
    differences.sort(key=lambda it: (-abs(it.expected - it.found), len(it.tokens), it.tokens))
    return Comparison(total(abs(it.expected - it.found) for it in differences) / 2, tuple(differences))
