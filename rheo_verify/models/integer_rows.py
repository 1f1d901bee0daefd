"""A model's rows as integers over a common denominator, each converted once: what hot loops work on."""

from __future__ import annotations

from typing import TypeAlias

from rheo_verify.models.model import Context, Model, NextToken
from rheo_verify.probability.rationals import over_common_denominator

Integers: TypeAlias = tuple[list[int], int]
"""Weights by token, and their sum: the probability of token v is `weights[v] / scale`."""


class IntegerRows:
    """The rows of `model` in integers, remembered."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._target: dict[Context, Integers] = {}
        self._draft: dict[Context, Integers] = {}
        self._sampling: dict[Context, Integers] = {}

    def target(self, context: Context) -> Integers:
        """P at a context."""
        return _remembered(self._target, self.model.target, context)

    def draft(self, context: Context) -> Integers:
        """Q at a context."""
        return _remembered(self._draft, self.model.draft, context)

    def sampling_draft(self, context: Context) -> Integers:
        """q-hat at a context."""
        return _remembered(self._sampling, self.model.sampling_draft, context)


def _remembered(known: dict[Context, Integers], rows: NextToken, context: Context) -> Integers:
    found = known.get(context)
    if found is None:
        found = known[context] = over_common_denominator(rows(context))
    return found
