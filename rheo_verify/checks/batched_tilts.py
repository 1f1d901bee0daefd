"""Many emitted tokens at once: the factor of each tilt at each token, and where each token lies in its row.

The fast path of `Tilt.row`, which is the definition: a bet needs the tilted row at one token only, so what is formed
here is masses, for all rows of one length together. A row's numbers do not depend on which rows are beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rheo_verify.checks.tilts import LARGEST, TILTS, TOP_P, Seen, Tilt

Array = np.ndarray[Any, Any]


class Measured(NamedTuple):
    """For n emitted tokens. probability [n]: p(x). ratios [n, tilts]: p'(x)/p(x), at most `LARGEST`; 1 without a row.

    below, total [n]: the mass of what is likelier (ties by place) than x, and of the whole row.
    """

    probability: Array
    ratios: Array
    below: Array
    total: Array


def measured(batch: Sequence[Seen]) -> Measured:
    """The numbers of a batch, row by row."""
    count = len(batch)
    found = Measured(np.zeros(count), np.ones((count, len(TILTS))), np.zeros(count), np.ones(count))
    lengths: dict[int, list[int]] = defaultdict(list)
    for place, seen in enumerate(batch):
        lengths[len(seen.p)].append(place)
    for places in lengths.values():
        for whole, part in zip(found, _of_one_length([batch[place] for place in places]), strict=True):
            whole[places] = part
    return found


def _of_one_length(batch: list[Seen]) -> Measured:
    rows, p = np.arange(len(batch)), np.stack([seen.p for seen in batch])
    emitted = np.array([seen.emitted for seen in batch])
    at = p[rows, emitted]
    order = np.argsort(-p, axis=1, kind="stable")
    falling = np.take_along_axis(p, order, 1)
    upto = np.cumsum(falling, 1)
    place = np.argmax(order == emitted[:, None], 1)
    below = upto[rows, place] - falling[rows, place]

    ratios = np.ones((len(batch), len(TILTS)))
    columns = {tilt.name: column for column, tilt in enumerate(TILTS)}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for tilt in TILTS:
            if tilt.power is not None:
                powers = _power(p, tilt.power)
                ratios[:, columns[tilt.name]] = powers[rows, emitted] / powers.sum(1) / at
        kept = (upto - falling < TOP_P).sum(1)
        ratios[:, columns[f"cut to top-p {TOP_P}"]] = np.where(place < kept, 1 / upto[rows, kept - 1], 0)
        for drafts, inside, outside in (
            (None, "drafted tokens too often", "drafted tokens too seldom"),
            (1, "best draft too often", "best draft too seldom"),
        ):
            chosen = _chosen(batch, p.shape, drafts)
            known, hit = chosen.any(1), chosen[rows, emitted]
            for name, mass, counts in (
                (inside, np.where(chosen, p, 0).sum(1), hit),
                (outside, np.where(chosen, 0, p).sum(1), ~hit),
            ):
                ratios[:, columns[name]] = np.where(known & (mass > 0), np.where(counts, 1 / mass, 0), 1)
    for number, seen in enumerate(batch):
        if seen.draft is not None:
            ratios[number, columns["drawn from the draft"]] = _by_row(TILTS[columns["drawn from the draft"]], seen)
    ratios[at <= 0] = 1
    return Measured(at, np.minimum(ratios, LARGEST), below, upto[:, -1])


def _by_row(tilt: Tilt, seen: Seen) -> float:
    row = tilt.row(seen)
    return 1.0 if row is None or seen.p[seen.emitted] <= 0 else float(row[seen.emitted]) / float(seen.p[seen.emitted])


def _power(p: Array, power: float) -> Array:
    known = {2.0: np.square, 0.5: np.sqrt}
    return np.asarray(known[power](p) if power in known else np.power(p, power))


def _chosen(batch: list[Seen], shape: tuple[int, ...], count: int | None) -> Array:
    """Bool [n, tokens]: the first `count` drafted tokens of each row (None: all)."""
    drafted = [seen.drafted[:count] if seen.drafted else () for seen in batch]
    found = np.zeros(shape, dtype=bool)
    rows = np.repeat(np.arange(len(batch)), [len(it) for it in drafted])
    found[rows, np.fromiter((token for it in drafted for token in it), np.int64, len(rows))] = True
    return found
