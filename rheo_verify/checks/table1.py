"""The paper's Table 1 (claim `table-1`), computed from its model."""

from __future__ import annotations

from dataclasses import dataclass

from rheo_verify.checks.enumeration import Enumeration, enumerate_design
from rheo_verify.drafting.design import Proxy, TreeDesign
from rheo_verify.drafting.pool import Candidate, pool_at
from rheo_verify.models.model import Model
from rheo_verify.models.shipped import find_model
from rheo_verify.models.table_file import load_model
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import Rational, ratio
from rheo_verify.verification.rules import layer_rule


@dataclass(frozen=True)
class Ranking:
    """One line: what Y is, its q-tilde, the pool by rank, and how many of its first candidates survive."""

    sampled: int
    probability: Rational
    ranked: tuple[Candidate, ...]
    kept: int


@dataclass(frozen=True)
class ProxyRow:
    """One proxy: its lines, the law of Y given that its slot survives, and the answer of the enumeration."""

    proxy: str
    factor: Rational
    model: Model
    rankings: tuple[Ranking, ...]
    given_survival: Law[int]
    result: Enumeration


def table1() -> tuple[ProxyRow, ...]:
    """The rows of Table 1: the paper's proxy and the ad-hoc proxy 1/4, with R = 2."""
    model = load_model(find_model("table-1"))
    return _row(model, "rheo", "rheo"), _row(model, "ad hoc", ratio(1, 4))


def _row(model: Model, name: str, proxy: Proxy) -> ProxyRow:
    design = TreeDesign(lead=1, pool=3, depth=1, budget=2, proxy=proxy)
    pool = pool_at(model, (), design)
    law = pool.sampling_law or ()
    rankings = []
    for token in pool.outcomes:
        ranked = sorted(pool.candidates(token), key=lambda candidate: (-candidate.factor, candidate.slot))
        rankings.append(Ranking(token, law[token], tuple(ranked), design.budget))
    survivors = {
        it.sampled: it.probability for it in rankings if any(c.kind == "sampled" for c in it.ranked[: it.kept])
    }
    whole = sum(survivors.values())
    given = {token: probability / whole for token, probability in survivors.items()}
    result = enumerate_design(model, design, layer_rule("rheo"))
    return ProxyRow(name, pool.proxy(pool.outcomes[0]), model, tuple(rankings), given, result)
