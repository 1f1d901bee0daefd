"""Two drafts without replacement under recursive rejection, at many contexts at once, in machine integers.

The same as `average_by_rejection`, branch-free over a leading axis of contexts. A context whose numbers could pass 63
bits is left to that: all of them are at most the scale of the answer, which is worked out first in Python's integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from rheo_verify.verification.average import Average

Weights: TypeAlias = Sequence[Sequence[int]]
"""Integer weights [n, V], not normalised; a row is not all zero."""

MOST_TOKENS = 512
LARGEST = 2**63
CELLS = 2**18


def averages_of_pairs(targets: Weights, samplings: Weights) -> Iterator[Average | None]:
    """One average a context, from the rows p and q-hat there; None where it might not fit."""
    vocab = len(targets[0])
    if vocab > MOST_TOKENS:
        yield from [None] * len(targets)
        return
    step = max(CELLS // vocab**2, 1)
    for start in range(0, len(targets), step):
        yield from _in_machine_integers(targets[start : start + step], samplings[start : start + step])


def _in_machine_integers(targets: Weights, samplings: Weights) -> list[Average | None]:
    """The first draft x is drawn from q, the second from q without x.

    What the rejected x leaves of p is the same for every x, and zero at x; so the second accepts min(q mass, left rest)
    at each token, `rest` being the weights without x.
    """
    found: list[Average | None] = [None] * len(targets)
    masses = [(sum(p), sum(q)) for p, q in zip(targets, samplings, strict=True)]
    small = [place for place, (p, q) in enumerate(masses) if p * q < 2**31]
    if not small:
        return found
    p, q = (np.array([rows[place] for place in small], dtype=np.int64) for rows in (targets, samplings))
    whole_p, whole_q = np.array([masses[place] for place in small], dtype=np.int64).T[..., None]
    over = q * whole_p - p * whole_q
    rejected = np.maximum(over, 0)
    left = rejected - over
    weight = left.sum(axis=1)  # of what is rejected, and of what that leaves
    left //= np.maximum(np.gcd.reduce(left, axis=1), 1)[:, None]
    mass = left.sum(axis=1)
    rest = np.where(rejected > 0, whole_q - q, 0)
    rests = np.maximum(rest, 1)
    ends: list[tuple[int, int]] = []  # the common multiple of the rests, and the scale after a rejection
    for number, (row, w, m) in enumerate(zip(rests.tolist(), weight.tolist(), mass.tolist(), strict=True)):
        common = math.lcm(*row)
        end = max(w * common * m, 1)
        fits = math.prod(masses[small[number]]) * end < LARGEST
        ends.append((common, end) if fits else (0, 0))
    common, end = np.array(ends, dtype=np.int64).T[..., None]
    drawn = np.where(rest > 0, rejected * (common // rests), 0)
    accepted = np.minimum((q * mass[:, None])[:, None, :], left[:, None, :] * rests[:, :, None])
    second = (drawn[:, :, None] * accepted).sum(axis=1)
    stop = (left * weight[:, None] * common - second) * weight[:, None]
    first = (q * whole_p - rejected) * end
    second *= weight[:, None]
    drafts = (q > 0).sum(axis=1)
    paths = drafts + np.where(weight > 0, (rejected > 0).sum(axis=1) * np.maximum(drafts - 1, 1) - 1, 0)
    answers = zip(small, first.tolist(), second.tolist(), stop.tolist(), ends, paths.tolist(), strict=True)
    for place, accepts, seconds, stops, (_, after), ways in answers:
        if after:
            found[place] = Average([accepts, seconds], stops, math.prod(masses[place]) * after, ways)
    return found
