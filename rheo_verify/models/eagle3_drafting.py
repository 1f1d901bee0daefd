"""An EAGLE-3 head along a context that grows, and over a tree of drafted tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rheo_verify.models.eagle3_head import (
    Eagle3Head,
    KeyValues,
    causal_mask,
    features_to_hidden,
    head_forward,
    head_logits,
)

Tensor = Any
Path = tuple[int, ...]


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
    _seen: dict[Path, list[int]] = field(default_factory=dict)
    _states: dict[Path, Tensor] = field(default_factory=dict)

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
                torch.arange(past, past + len(tokens), device=device),
                self.prefix,
                causal_mask(len(tokens), past, device),
            )
            self.hidden, self.logits = hidden[-1], head_logits(self.head, hidden[-1:])[0]
        self._tree, self._seen, self._states = None, {(): []}, {(): self.hidden}

    def expand(self, paths: Sequence[Path]) -> Tensor:
        """Draft logits [n, V'] after each path of drafted tokens. All have one depth; their parents came before."""
        import torch

        if list(paths) == [()]:
            return self.logits[None]
        assert self.prefix is not None
        device, past = self.head.to_target.device, len(self.prefix)
        known = 0 if self._tree is None else len(self._tree)
        mask = torch.zeros(len(paths), past + known + len(paths), dtype=torch.bool)
        mask[:, :past] = True
        for row, path in enumerate(paths):
            self._seen[path] = [*self._seen[path[:-1]], known + row]
            mask[row, [past + place for place in self._seen[path]]] = True
        with torch.no_grad():
            hidden, seen = head_forward(
                self.head,
                torch.tensor([path[-1] for path in paths], device=device),
                torch.stack([self._states[path[:-1]] for path in paths]),
                torch.full((len(paths),), past - 1 + len(paths[0]), device=device),
                self.prefix if self._tree is None else self.prefix.joined(self._tree),
                mask.to(device),
            )
            self._tree = KeyValues(seen.keys[:, past:], seen.values[:, past:])
            self._states.update(zip(paths, hidden, strict=True))
            return head_logits(self.head, hidden)
