"""K-SEQ: k i.i.d. drafts tested in order, each against the target divided by rho.

Sun et al. 2023, "SpecTr: Fast Speculative Decoding via Optimal Transport", section 4 (algorithm 2; its gamma is rho
here). With beta = sum min(p/rho, q) and P = 1 - (1 - beta)^k: accept a draft x with min(1, p(x)/(rho q(x)));
when all are rejected, draw from norm(p - min(p/rho, q) P/beta). Exactly lossless for every rho in [rho*, k] with
P <= rho beta from rho* on; rho* may be irrational, so the upper end of a rational bracket is taken. At its lower end
the residual turns negative: no rule at all, and lossy once clipped at zero (`end="lower"`, a planted fault).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from rheo_verify.probability.arrays import Array, join, mass, minimum, pick, positive_part
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ONE, Rational, total
from rheo_verify.verification.layer import Laws, LayerRule, Outcome

HALVINGS = 16
End = Literal["upper", "lower"]


@lru_cache(maxsize=256)
def bracket(target: Row, draft: Row, count: int, halvings: int = HALVINGS) -> tuple[Rational, Rational]:
    """Rationals around rho*, the smallest rho >= 1 with P(rho) <= rho beta(rho), at most (k - 1)/2^halvings apart.

    Both ends are 1 when that is allowed itself.
    """
    low, high = ONE, ONE * count
    if _allowed(target, draft, count, low):
        return low, low
    for _ in range(halvings):
        middle = (low + high) / 2
        if _allowed(target, draft, count, middle):
            high = middle
        else:
            low = middle
    return low, high


def _allowed(target: Row, draft: Row, count: int, rho: Rational) -> bool:
    beta = total(min(p / rho, q) for p, q in zip(target, draft, strict=True))
    return bool(1 - (1 - beta) ** count <= rho * beta)


def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws, end: End = "upper") -> Outcome:
    """The drafts in order against p / (rho q)."""
    if not len(candidates):
        return Outcome(chance.choose(target), None)
    draft, count = laws[0], len(candidates)
    rho = bracket(tuple(target), tuple(draft), count)[end == "upper"]
    for index, token in enumerate(candidates):
        wanted = target[token] / rho
        if chance.flip(min(wanted, draft[token]), positive_part(draft[token] - wanted)):
            return Outcome(token, index)
    return Outcome(chance.choose(_residual(target, draft, count, rho)), None)


def _residual(target: Array, draft: Array, count: int, rho: Any) -> Array:
    common = minimum(target / rho, draft)
    beta = common.sum()
    accepted = 1 - (1 - beta) ** count
    return positive_part(target - common * (accepted / beta if beta else count))


def law(target: Array, candidates: Array, laws: Laws, end: End = "upper") -> tuple[Array, Array]:
    """Probabilities of "draft i accepted", and the residual times that of "all rejected". One context at a time."""
    if not candidates.shape[-1]:
        return pick(target, candidates), target
    draft, count = laws[0], candidates.shape[-1]
    rho = bracket(tuple(target), tuple(draft), count)[end == "upper"]
    accepted = pick(minimum(target / rho, draft), candidates) / pick(draft, candidates)
    alive, accepts = mass(target), []
    for index in range(count):
        chance_here = accepted[..., index : index + 1]
        accepts.append(alive * chance_here)
        alive = alive * (1 - chance_here)
    residual = _residual(target, draft, count, rho)
    whole = mass(residual)
    whole = whole + (whole == 0)
    return join(accepts), residual * (alive / whole)


RULE = LayerRule("spectr", verify, law)
LOWER_END = LayerRule(
    "spectr-lower-end",
    lambda chance, target, candidates, laws: verify(chance, target, candidates, laws, "lower"),
    lambda target, candidates, laws: law(target, candidates, laws, "lower"),
)
