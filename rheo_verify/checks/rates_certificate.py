"""What somebody else needs to work the numbers of `acceptance` out again, without this project's code.

The rows that were used; for a layer its rates, with a plan and a cut of equal value for the optimum; for decoders their
tokens per cycle. `report/rates_certificate.py` writes it down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rheo_verify.checks.acceptance import candidate_sets, layer_at, layer_rates
from rheo_verify.checks.certificate import MOST_WORK, RULES, recording
from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.checks.optimal import Optimum
from rheo_verify.checks.per_cycle import Cycle, cycle, top_k_design
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import TokenPath
from rheo_verify.errors import InputError
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import Rational


@dataclass(frozen=True)
class LayerClaim:
    """The rates of one layer of `candidates` candidates, and why nothing accepts more than `rates.optimal`."""

    lead: int
    candidates: int
    rates: LayerRates
    optimum: Optimum


@dataclass(frozen=True)
class CycleClaim:
    """A decoder's tokens per cycle, and how many pruned trees it has. `design` is the tree: the paper's proxy."""

    rule: str
    design: TreeDesign
    tokens_per_cycle: Rational
    trees: int


@dataclass(frozen=True)
class RatesCertificate:
    """The rates of a layer (None: not asked for) and of cycles, with the rows that they rest on.

    `rows` are by table and by tokens after the starting context.
    """

    vocab: int
    rows: dict[str, dict[TokenPath, Row]]
    layer: LayerClaim | None
    cycles: tuple[CycleClaim, ...]


def rates_certificate(
    model: Model,
    context: Context,
    design: TreeDesign,
    cycles: Sequence[Cycle],
    optimum: Optimum | None = None,
) -> RatesCertificate:
    """The certificate of an answer of `acceptance`: a layer if its `optimum` is given, and the decoders in `cycles`.

    Decoders whose rule the checkers do not know by its steps (optimal-transport) are left out, and so is `best`. Raises
    `InputError` RV702 where it would be too large.
    """
    rows: dict[str, dict[TokenPath, Row]] = {}
    recorded = recording(model, context, rows)
    known = [row for row in cycles if row.rule in RULES]
    outcomes = 0 if optimum is None else len(optimum.plan.sets)
    work = sum(row.trees * design.budget for row in known) + outcomes * model.vocab
    if work > MOST_WORK:
        raise InputError("RV702", f"the certificate would be too large to recheck: {work:,} classes times budgets")
    layer = None if optimum is None else _layer(recorded, context, design, optimum)
    return RatesCertificate(model.vocab, rows, layer, tuple(_cycle(recorded, context, design, row) for row in known))


def _layer(model: Model, context: Context, design: TreeDesign, optimum: Optimum) -> LayerClaim:
    layer = layer_at(model, context, design.lead, design.pool)
    rates = layer_rates(layer)
    proved = optimum.verdict() is Verdict.VERIFIED and optimum.rate == rates.optimal
    if not proved or candidate_sets(layer) != optimum.plan.sets:
        raise AssertionError("the optimum is not the one of this layer")
    return LayerClaim(layer.lead, layer.candidates, rates, optimum)


def _cycle(model: Model, context: Context, design: TreeDesign, row: Cycle) -> CycleClaim:
    """Work tau out again on a model that records; refuses to certify what does not come out the same."""
    here = top_k_design(design, model.vocab) if row.lead is None else replace(design, lead=row.lead)
    again = cycle(model, context, here, row.rule)
    if (again.tokens_per_cycle, again.trees) != (row.tokens_per_cycle, row.trees):
        raise AssertionError("the answer came out differently when its rows were recorded")
    return CycleClaim(row.rule, here, row.tokens_per_cycle, row.trees)
