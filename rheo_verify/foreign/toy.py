"""The toy models that a foreign decoder is given in place of its language models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rheo_verify.foreign.arrays_in_out import Maker
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row


class ToyModel:
    """A language model over a table.

    ``model(context)`` is the row [V] after `context` (token ids: list, tuple, array or tensor).
    ``model.forward(tokens)`` is all rows at once, [T, V] for T >= 1 tokens: row t is the one after ``tokens[:t + 1]``.
    """

    def __init__(self, row: Callable[[Context], Row], maker: Maker, vocab: int) -> None:
        self.row, self.maker, self.vocab = row, maker, vocab
        self.heard: Callable[[Context], None] | None = None
        self._made: dict[Any, Any] = {}

    def __call__(self, context: Any) -> Any:
        """The next-token row after `context`: shape [V]."""
        return self._rows([_ids(context)], one=True)

    def forward(self, tokens: Any) -> Any:
        """The rows after every prefix of `tokens`: shape [T, V]."""
        ids = _ids(tokens)
        return self._rows([ids[: end + 1] for end in range(len(ids))], one=False)

    def _rows(self, contexts: list[Context], one: bool) -> Any:
        if self.heard is not None:
            self.heard(contexts[-1])
        key = (tuple(contexts), one)
        if key not in self._made:
            rows = [self.row(context) for context in contexts]
            self._made[key] = self.maker.rows(rows[0] if one else rows)
        return self.maker.copy(self._made[key])


def _ids(context: Any) -> Context:
    values: Sequence[Any] = context.tolist() if hasattr(context, "tolist") else context
    return tuple(int(value) for value in values)
