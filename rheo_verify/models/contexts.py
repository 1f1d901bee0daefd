"""Rows at real contexts: one pass of target and head over a text gives a pair of rows at every position of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_verify.models.eagle3_head import causal_mask, features_to_hidden, head_forward, head_logits, rotation_at
from rheo_verify.models.llama import TargetState
from rheo_verify.models.pair import Pair
from rheo_verify.models.rows import DraftRows, RowSettings, draft_rows, target_rows

Tensor = Any


def logits_along(pair: Pair, tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Target logits [n-2, V] and draft logits [n-2, V'] for tokens 2…n-1 of a text of n, each given what is before."""
    import torch

    logits, features = TargetState.new(pair.target).prefill(tokens[:-1])
    device, count = pair.head.to_target.device, len(tokens) - 2
    with torch.no_grad():
        hidden, _ = head_forward(
            pair.head,
            torch.tensor(list(tokens[1:-1]), device=device),
            features_to_hidden(pair.head, features[:-1].to(device, pair.head.weights["fc.weight"].dtype)),
            rotation_at(pair.head, 0, count),
            None,
            causal_mask(count, 0, device),
        )
        return logits[1:], head_logits(pair.head, hidden)


def rows_along(pair: Pair, tokens: Sequence[int], settings: RowSettings) -> tuple[Tensor, DraftRows]:
    """The same as rows: p [n-2, V] and the cut draft rows."""
    target, draft = logits_along(pair, tokens)
    return target_rows(target, settings), draft_rows(draft, pair.head.to_target, settings)
