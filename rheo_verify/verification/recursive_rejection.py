"""Recursive rejection: any number of sampled candidates, each tested against the law it was drawn from.

With replacement: Miao et al. 2024, "SpecInfer", section 4.3. Without: Jeon et al. 2024, "Recursive Speculative
Decoding"; Yang et al. 2024, "Multi-Candidate Speculative Decoding"; EAGLE and Sequoia. One candidate: Leviathan et al.
2023, Chen et al. 2023. A candidate chosen without chance is tested as a point mass.

r <- p. Candidate x, drawn from q_i: accept it with probability min(1, r(x)/q_i(x)), else r <- norm((r - q_i)+). When
all are rejected, draw from r. The steps are those of `rrsw`, which already takes any number of sampled candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from rheo_verify.drafting.siblings import Siblings
from rheo_verify.limits import Limits
from rheo_verify.probability.arrays import Array, join, mass, minimum, pick, positive_part, zero_at
from rheo_verify.verification import rrsw
from rheo_verify.verification.average import Average, Rows, average_by_rejection
from rheo_verify.verification.layer import Laws, LayerRule
from rheo_verify.verification.pairs import averages_of_pairs

verify = rrsw.verify


def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
    """All weights times the product of the tests' masses (1 where nothing is left) and the last residual's mass."""
    remaining = target
    accepts: list[Array] = []
    rejects: list[Array] = []
    for index, q in enumerate(laws):
        token = candidates[..., index : index + 1]
        if q is None:
            accepts.append(pick(remaining, token))
            remaining = zero_at(remaining, token)
            rejects.append(mass(remaining))
        else:
            scaled = mass(remaining) * q
            accepts.append(minimum(pick(remaining, token), pick(scaled, token)))
            rejects.append(positive_part(pick(scaled, token) - pick(remaining, token)))
            remaining = positive_part(remaining - scaled)
    after = mass(remaining)
    after = after + (after == 0)
    for index in reversed(range(len(accepts))):
        tested = accepts[index] + rejects[index]
        accepts[index] = accepts[index] * after
        after = after * (tested + (tested == 0))
    for rejected in reversed(rejects):
        remaining = remaining * rejected
    for index in range(1, len(accepts)):
        for rejected in rejects[:index]:
            accepts[index] = accepts[index] * rejected
    return join([pick(target, candidates[..., :0]), *accepts]), remaining


def averages(siblings: Siblings, rows: Sequence[Rows], count: int, limits: Limits) -> Iterator[Average]:
    """The law averaged over `count` siblings not yet drawn, at many contexts. Raises `LimitReached` RV201."""
    quick: Iterable[Average | None] = repeat(None, len(rows))
    if count == 2 and siblings.removes:
        quick = averages_of_pairs([target for target, _, _ in rows], [sampling for _, _, sampling in rows])
    for found, row in zip(limits.watch(quick, every=1), rows, strict=True):
        yield average_by_rejection(siblings, *row, count, limits) if found is None else found


RULE = LayerRule("recursive-rejection", verify, law, averages)
