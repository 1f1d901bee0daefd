"""A model's rows as integers over a common denominator, each converted once: what hot loops work on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from rheo_verify.models.model import Context, Model, NextToken
from rheo_verify.probability.rationals import over_common_denominator

Integers: TypeAlias = tuple[list[int], int]
"""Weights by token, and their sum: the probability of token v is `weights[v] / scale`."""


class IntegerRows:
    """The rows of `model` in integers, remembered: P, Q and q-hat at a context."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.target = _in_integers(model.target)
        self.draft = _in_integers(model.draft)
        self.sampling_draft = _in_integers(model.sampling_draft)


def _in_integers(rows: NextToken) -> Callable[[Context], Integers]:
    return cache(lambda context: over_common_denominator(rows(context)))
