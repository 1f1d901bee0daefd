"""An EAGLE-3 head along a context that grows, and over a tree of drafted tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rheo_verify.models.eagle3_head import (
    Eagle3Head,
    KeyValues,
    causal_mask,
    features_to_hidden,
    head_forward,
    head_logits,
    rotation_at,
)

Tensor = Any


@dataclass
class HeadState:
    """Keys and values of the verified prefix; logits and hidden state of its last pair; and the tree of this cycle.

    The tree's keys and values are dropped when the next verified tokens arrive, the prefix's stay (EAGLE-3).
    """

    head: Eagle3Head
    prefix: KeyValues | None = None
    logits: Tensor = None
    hidden: Tensor = None
    _tree: KeyValues | None = None
    _seen: Tensor = None
    _states: Tensor = None
    _depth: int = 0

    def extend(self, features: Tensor, tokens: Sequence[int]) -> None:
        """Take in verified pairs: target features [n, 3 H] of n positions, and the token that follows each."""
        import torch

        device = self.head.to_target.device
        past = 0 if self.prefix is None else len(self.prefix)
        with torch.no_grad():
            hidden, self.prefix = head_forward(
                self.head,
                torch.tensor(list(tokens), device=device),
                features_to_hidden(self.head, features.to(device, self.head.weights["fc.weight"].dtype)),
                rotation_at(self.head, past, len(tokens)),
                self.prefix,
                causal_mask(len(tokens), past, device),
            )
            self.hidden, self.logits = hidden[-1], head_logits(self.head, hidden[-1:])[0]

    def root(self) -> Tensor:
        """Begin a tree at the context: draft logits [1, V'] there."""
        import torch

        self._tree, self._depth = None, 0
        self._seen = torch.zeros(1, 0, dtype=torch.bool, device=self.hidden.device)
        self._states = self.hidden[None]
        return self.logits[None]

    def step(self, tokens: Tensor, parents: Tensor) -> Tensor:
        """Draft logits [n, V'] after n drafted tokens, one depth below the last step; `parents` [n]: its rows."""
        import torch

        assert self.prefix is not None
        count, past = len(tokens), len(self.prefix)
        with torch.no_grad():
            own = torch.eye(count, dtype=torch.bool, device=tokens.device)
            self._seen = torch.cat((self._seen[parents], own), 1)
            self._depth += 1
            self._states, seen = head_forward(
                self.head,
                tokens,
                self._states[parents],
                rotation_at(self.head, past - 1 + self._depth, 1),
                self.prefix if self._tree is None else self.prefix.joined(self._tree),
                torch.nn.functional.pad(self._seen, (past, 0), value=True),
            )
            self._tree = KeyValues(seen.keys[:, past:], seen.values[:, past:])
            return head_logits(self.head, self._states)
