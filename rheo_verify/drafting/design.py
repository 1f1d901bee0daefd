"""A tree design: the parameters of RheoSampling's dynamic tree, the paper's and the broken ones beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from rheo_verify.errors import InputError
from rheo_verify.probability.rationals import ZERO, Rational, exact, text

Proxy: TypeAlias = Literal["rheo", "raw"] | Rational
Ties: TypeAlias = Literal["position", "token"]

RANGES = {
    "lead": ("m", 0, 10**6),
    "pool": ("K", 1, 10**6),
    "beam": ("W", 1, 10**6),
    "depth": ("D", 1, 200),
    "budget": ("R", 1, 10**5),
}
"""The symbol of each size, and the least and the most it may be."""


@dataclass(frozen=True)
class TreeDesign:
    """How the dynamic tree is grown and pruned (SPEC 1.1, 1.2).

    lead: m, tokens chosen before the sampled one. pool: K, candidates of an expanded context. beam: W, contexts
    expanded at each depth. depth: D. budget: R, nodes kept. proxy: the sampled slot's factor, `rheo` (the paper's),
    `raw` (its own q, broken) or a constant (ad hoc, broken). epsilon: added to q(x1) when m = 0. ties: by `position`
    (slots) or by `token` (broken). verification: which q-tilde verification uses, that of the `sampling` draft, or of
    the `ranking` draft (broken when they differ). Raises `InputError` RV106 when a value is out of range.
    """

    lead: int = 1
    pool: int = 3
    beam: int = 3
    depth: int = 3
    budget: int = 6
    proxy: Proxy = "rheo"
    epsilon: Rational = ZERO
    ties: Ties = "position"
    verification: Literal["sampling", "ranking"] = "sampling"

    def __post_init__(self) -> None:
        for name, (symbol, least, most) in RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise InputError("RV106", f"{name} {symbol} must be an integer from {least} to {most:,}, not {value!r}")
        for name in ("proxy", "epsilon"):
            if not isinstance(getattr(self, name), str):
                exact(getattr(self, name), name)
        if not isinstance(self.proxy, str) and self.proxy < 0:
            raise InputError("RV106", f"proxy {text(self.proxy)} must not be negative")
        if isinstance(self.proxy, str) and self.proxy not in ("rheo", "raw"):
            raise InputError("RV106", f"proxy must be rheo, raw or a rational, not {self.proxy!r}")
        if self.epsilon < 0:
            raise InputError("RV106", f"epsilon {text(self.epsilon)} must not be negative")
        if self.ties not in ("position", "token"):
            raise InputError("RV106", f"ties must be position or token, not {self.ties!r}")
        if self.verification not in ("sampling", "ranking"):
            raise InputError("RV106", f"verification must be sampling or ranking, not {self.verification!r}")

    def check_vocab(self, vocab: int) -> None:
        """Raises `InputError` RV106 when more lead tokens are asked for than there are."""
        if self.lead > vocab:
            raise InputError("RV106", f"m = {self.lead} lead tokens, but the vocabulary has only {vocab}")
