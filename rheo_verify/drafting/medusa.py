"""Medusa's candidates: head d's top tokens at depth d under every node, a static tree (Cai et al. 2024, section 2.2).

The heads see the context at the root only, as `parallel_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from rheo_verify.drafting.parallel_rows import parallel_rows
from rheo_verify.drafting.tree import Node
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import ranking
from rheo_verify.probability.rationals import ONE


@dataclass(frozen=True)
class MedusaHeads:
    """A way of drafting: `widths[d-1]` top tokens of head d under every node at depth d - 1."""

    widths: tuple[int, ...]

    def __call__(self, chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        """The nodes, layer by layer."""
        rows = parallel_rows(model, context, len(self.widths))
        heads = [ranking(row)[:width] for row, width in zip(rows, self.widths, strict=True)]
        for depth in range(1, len(heads) + 1):
            for slots in product(*(range(1, len(head) + 1) for head in heads[:depth])):
                tokens = tuple(head[slot - 1] for head, slot in zip(heads, slots, strict=False))
                yield Node(slots, tokens, "lead", ONE)
