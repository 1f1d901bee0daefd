"""What a parallel drafter says: one row for each of the next D positions, out of one forward at the root.

On toy models row d is the exact marginal of the draft's d-th token, so it knows the context but not the tokens between.
"""

from __future__ import annotations

from functools import lru_cache

from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ONE, ZERO, Rational


@lru_cache(maxsize=256)
def parallel_rows(model: Model, context: Context, depth: int) -> tuple[Row, ...]:
    """`depth` rows; entry d-1 is the law of the d-th token after `context` under the draft q."""
    paths: dict[Context, Rational] = {(): ONE}
    rows: list[Row] = []
    for _ in range(depth):
        row = [ZERO] * model.vocab
        longer: dict[Context, Rational] = {}
        for path, probability in paths.items():
            for token, q in enumerate(model.draft(context + path)):
                if q:
                    row[token] = row[token] + probability * q
                    longer[(*path, token)] = probability * q
        rows.append(tuple(row))
        paths = longer
    return tuple(rows)
