"""Sparse rows: a distribution of a large vocabulary by its best tokens, in floats.

What real drafters rank and sample from: the S most probable tokens (128 by default; claim `support-truncation`). The
functions of `distributions` take these rows beside tuples, so that the drafting of floor 2 runs on them as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheo_verify.errors import MisuseError


class SparseRow:
    """Probabilities of S tokens of a vocabulary, best first (ties by token id); `rest` is the mass of all others.

    `row[token]` is the token's probability, 0.0 off the support. Iterating over the vocabulary is refused.
    """

    __slots__ = ("_known", "rest", "tokens", "values", "vocab")

    def __init__(self, tokens: Sequence[int], values: Any, vocab: int, rest: float = 0.0) -> None:
        self.tokens = tuple(tokens)
        self.values: Any = np.asarray(values)
        self.vocab = vocab
        self.rest = rest
        self._known: dict[int, Any] | None = None

    def __len__(self) -> int:
        return self.vocab

    def __getitem__(self, token: int) -> Any:
        if self._known is None:
            self._known = dict(zip(self.tokens, self.values.tolist(), strict=True))
        return self._known.get(token, 0.0)

    def __iter__(self) -> Any:
        raise MisuseError("RV301", "a sparse row is not to be iterated over: use its tokens and values")

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{token}: {value:.4g}" for token, value in list(zip(self.tokens, self.values, strict=True))[:4]
        )
        return f"SparseRow({shown}, … {len(self.tokens)} of {self.vocab} tokens)"

    @property
    def support(self) -> tuple[int, ...]:
        """The tokens of positive probability."""
        return tuple(token for token, value in zip(self.tokens, self.values.tolist(), strict=True) if value)

    @property
    def mass(self) -> float:
        """The sum over the support, `rest` left out."""
        return float(self.values.sum())

    def without(self, tokens: Sequence[int]) -> SparseRow:
        """The row with these tokens at zero, not normalised."""
        gone = set(tokens)
        values = self.values.copy()
        for place, token in enumerate(self.tokens):
            if token in gone:
                values[place] = 0
                gone.discard(token)
                if not gone:
                    break
        return SparseRow(self.tokens, values, self.vocab)

    def normalised(self) -> SparseRow:
        """The row over its own support, summing to one."""
        return SparseRow(self.tokens, self.values / self.values.sum(), self.vocab)

    def dense(self) -> np.ndarray[Any, Any]:
        """All of the vocabulary, shape [V]."""
        row = np.zeros(self.vocab, dtype=self.values.dtype)
        row[list(self.tokens)] = self.values
        return row


@dataclass(frozen=True, slots=True)
class TailRow:
    """One row of a batch on a device, its first `lead` entries left out: a law that need not leave the device.

    batch: gives tokens and weights, tensors [n, S] each, not normalised; row: which of the n.
    """

    batch: Callable[[], tuple[Any, Any]]
    row: int
    lead: int

    def dense(self, like: Any) -> Any:
        """The law over all of the vocabulary, of the type and on the device of `like` [V]."""
        tokens, weights = (it[self.row, self.lead :] for it in self.batch())
        return like.new_zeros(like.shape).index_put_((tokens,), (weights / weights.sum()).to(like.dtype))
