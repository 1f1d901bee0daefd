"""Greedy decoding against the target's own: the same tokens, except where the forward pass itself cannot tell.

The decoder's rows come from a forward over a tree, the target's own from one token at a time. Both round. What rounding
does is measured without the tree: on the same contexts the target also runs the whole text in one pass, and the largest
difference of a logit between those two forwards is the rounding. Two logits in two forwards can differ by it, so where
the two best are closer than four times the rounding, either may win: a near-tie, which is reported. A token that
differs where there is no near-tie is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.decoders.torch_decoding import TorchDecoding
from rheo_verify.limits import Progress
from rheo_verify.models.llama import TargetState
from rheo_verify.models.rows import first_best

Tensor = Any
ROUNDINGS = 256
"""Of the largest logit: more than sums of a forward lose in their own number format."""


@dataclass(frozen=True)
class Close:
    """A position (counted from the first emitted token) where the two best logits are near, or the tokens differ.

    gap: between the target's own two best logits. emitted, own: what the decoder and the target took.
    """

    position: int
    gap: float
    emitted: int
    own: int

    @property
    def differs(self) -> bool:
        """Whether the decoder took another token than the target would have."""
        return self.emitted != self.own


@dataclass(frozen=True)
class GreedyCheck:
    """rounding: of the target's own forwards; tree_rounding: of the tree's against them; found: see `Close`.

    explained: how much of it the number format can explain. Beyond that something else differs between the forwards.
    """

    tokens: int
    rounding: float
    tree_rounding: float
    found: tuple[Close, ...]
    explained: float

    @property
    def bound(self) -> float:
        """The gap below which two logits are a near-tie."""
        return 4 * self.rounding

    @property
    def near_ties(self) -> tuple[Close, ...]:
        """Where the forward's rounding can decide."""
        return tuple(it for it in self.found if it.gap <= self.bound)

    @property
    def faults(self) -> tuple[Close, ...]:
        """Where a token differs and rounding is no excuse."""
        return tuple(it for it in self.found if it.gap > self.bound)

    @property
    def verdict(self) -> Verdict:
        """VERIFIED for these tokens, or REFUTED; INCONCLUSIVE where the target differs from itself beyond rounding."""
        if self.rounding > self.explained:
            return Verdict.worst([Verdict.INCONCLUSIVE, Verdict.of(not self.faults)])
        return Verdict.of(not self.faults)


def greedy_check(live: TorchDecoding, tokens: int, progress: Progress | None = None) -> GreedyCheck:
    """Run `live` (started, at temperature 0) for `tokens` tokens, and the target by itself along what came out."""
    import torch

    begin, seen = len(live.context), []
    for cycle in live.run(tokens):
        seen += [cycle.logits[cycle.place(cycle.emitted[:length])] for length in range(len(cycle.emitted))]
        if progress is not None:
            progress("greedy tokens", min(len(seen), tokens), tokens)
    text = live.context[: begin + tokens]
    tree, own = torch.stack(seen[:tokens]), _one_at_a_time(live, text, begin, progress)
    whole = TargetState.new(live.pair.target).prefill(text[:-1])[0][begin - 1 :]
    best = own.topk(2, dim=-1).values
    gaps = (best[:, 0] - best[:, 1]).tolist()
    rounding = float((own - whole).abs().max())
    found = [
        Close(position, gap, emitted, mine)
        for position, (gap, emitted, mine) in enumerate(zip(gaps, text[begin:], first_best(own).tolist(), strict=True))
        if gap <= 4 * rounding or emitted != mine
    ]
    explained = ROUNDINGS * torch.finfo(own.dtype).eps * float(own.abs().max())
    return GreedyCheck(tokens, rounding, float((tree - own).abs().max()), tuple(found), explained)


def _one_at_a_time(live: TorchDecoding, text: Sequence[int], begin: int, progress: Progress | None) -> Tensor:
    """The target's logits [n, V] for tokens begin, begin + 1, … of a text, by ordinary incremental decoding."""
    import torch

    state = TargetState.new(live.pair.target)
    rows = [state.prefill(text[:begin])[0][-1]]
    for token in text[begin:-1]:
        if progress is not None:
            progress("greedy tokens of the target itself", len(rows), len(text) - begin)
        rows.append(state.prefill([token])[0][0])
    return torch.stack(rows)
