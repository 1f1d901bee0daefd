"""The sampled check of a real pair: what the decoder emits, token by token, against the rows of the same forward pass.

Given the emitted tokens so far, and where cycles began, the next one must have the target's law. The bets know the
ranking of the draft at a context but never what was sampled: given the sampled token the law *is* another one.
Acceptance is tested by itself: each tested layer accepts with a probability that its own law states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheo_verify.checks.eprocess import EProcess
from rheo_verify.checks.tilts import Seen
from rheo_verify.checks.uniformity import Uniformity, transform
from rheo_verify.checks.verdict import Verdict
from rheo_verify.decoders.torch_decoding import Cycle, TorchDecoding, layers_of
from rheo_verify.drafting.tree import Node
from rheo_verify.probability.arrays import law_array
from rheo_verify.verification.layer import LayerRule


@dataclass
class Acceptance:
    """Accepted layers against the sum of their stated probabilities: a martingale."""

    layers: int = 0
    accepted: int = 0
    expected: float = 0.0
    variance: float = 0.0

    def see(self, probability: float, accepted: bool) -> None:
        """One layer in which drafts were tested."""
        self.layers += 1
        self.accepted += accepted
        self.expected += probability
        self.variance += probability * (1 - probability)

    @property
    def z(self) -> float:
        """The standardised difference."""
        return (self.accepted - self.expected) / math.sqrt(self.variance) if self.variance > 1e-12 else 0.0

    @property
    def p_value(self) -> float:
        """Two-sided, normal."""
        return math.erfc(abs(self.z) / math.sqrt(2))


@dataclass
class SampledCheck:
    """The state and the answer of a sampled check, fed cycle by cycle.

    `level` is the chance of a false alarm that all tests together may have: half to the e-process, a quarter to the
    transform, a quarter to acceptance.
    """

    level: float = 0.01
    seed: int = 0
    process: EProcess = field(default_factory=EProcess)
    by_target: Uniformity = field(default_factory=Uniformity)
    acceptance: Acceptance = field(default_factory=Acceptance)
    cycles: int = 0
    drafted_accepted: int = 0
    outside_residual: int | None = None

    def __post_init__(self) -> None:
        self._uniform = np.random.default_rng([self.seed, 0x7117])

    def see(self, cycle: Cycle, rule: LayerRule, pool: int) -> None:
        """Take in a cycle. `rule`: the sound rule whose acceptance is expected; `pool`: how many drafts are the top."""
        self.cycles += 1
        self.drafted_accepted += cycle.accepted
        for path, children, token in layers_of(cycle):
            seen = observation(cycle, path, children, token, pool)
            self.process.see(seen, (self.level / 2,))
            order = np.argsort(-seen.p, kind="stable")
            self.by_target.see(transform(seen.p, token, order, float(self._uniform.random())))
            if children:
                stated, residual = layer_law(rule, cycle.row(path), children)
                descended = len(path) + 1 < len(cycle.emitted)
                self.acceptance.see(stated, descended)
                if not descended and float(residual[token]) == 0 and self.outside_residual is None:
                    self.outside_residual = self.process.tokens

    @property
    def found_at(self) -> int | None:
        """After how many tokens it was certain, or the e-process reached its bound; None if neither.

        Certain: a token of probability 0 under the target, or, when all drafts were rejected, in the residual.
        """
        found = (self.process.impossible, self.outside_residual, self.process.found_at.get(self.level / 2))
        return min((it for it in found if it is not None), default=None)

    @property
    def verdict(self) -> Verdict:
        """REFUTED, or INCONCLUSIVE: samples never verify."""
        quarter = self.level / 4
        alarm = self.found_at is not None or self.by_target.p_value < quarter or self.acceptance.p_value < quarter
        return Verdict.REFUTED if alarm else Verdict.INCONCLUSIVE

    @property
    def tokens_per_cycle(self) -> float:
        """tau: emitted tokens a cycle."""
        return self.process.tokens / max(1, self.cycles)


def observation(cycle: Cycle, path: tuple[int, ...], children: list[Node], token: int, pool: int) -> Seen:
    """What is known before a token comes out, from a cycle's rows."""
    p = cycle.row(path).double().cpu().numpy()
    drafts = cycle.drafts(path)
    if drafts is None:
        return Seen(p, token, leaf=not children)
    ranking, sampling = drafts
    return Seen(p, token, ranking.tokens[:pool], sampling.dense(), not children)


def layer_law(rule: LayerRule, target: Any, children: list[Node]) -> tuple[float, Any]:
    """The probability that one of these children is accepted, and the weights [V] of what comes out if none is."""
    laws = [None if node.law is None else law_array(node.law, target) for node in children]
    accept, residual = rule.law(target, np.array([node.token for node in children]), laws)
    accepted, rejected = float(accept.sum()), float(residual.sum())
    return accepted / (accepted + rejected), residual


def watch(
    decoding: TorchDecoding, check: SampledCheck, rule: LayerRule, tokens: int, *, stop_early: bool = False
) -> Iterator[Cycle]:
    """Decode and check; yields each cycle. `rule` is the sound rule, which `decoding.rule` claims to be."""
    for cycle in decoding.run(tokens):
        check.see(cycle, rule, decoding.design.pool)
        yield cycle
        if stop_early and check.found_at is not None:
            return
