"""The certificate of `acceptance`, as JSON (`proofs/check_acceptance.py` rechecks it) and as a Rocq file (`coqc`).

The Rocq file is `certificate.v` and `certificate_rates.v`, the same in every such certificate, then the rows and the
claims as data, and one theorem for each claim, proved by `vm_compute`; nothing is assumed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from rheo_verify.checks.rates_certificate import CycleClaim, LayerClaim, RatesCertificate
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.probability.rationals import text
from rheo_verify.report import certificate_rocq as rocq
from rheo_verify.report.certificate_json import lines, rows_data, tables

SCHEMA = {"schema": "rheo_verify/acceptance-certificate", "version": 1}


def to_data(certificate: RatesCertificate) -> dict[str, Any]:
    """Plain data; rationals are strings, token paths are ids with blanks between them, as in model files."""
    return {
        **SCHEMA,
        "vocab": certificate.vocab,
        "rows": rows_data(certificate.rows),
        "layer": None if certificate.layer is None else _layer_data(certificate.layer),
        "cycles": [
            {
                "rule": cycle.rule,
                "design": _design_data(cycle.design),
                "trees": cycle.trees,
                "tokens_per_cycle": text(cycle.tokens_per_cycle),
            }
            for cycle in certificate.cycles
        ],
    }


def to_json(certificate: RatesCertificate) -> str:
    """One JSON object, one line for each row and decoder."""
    parts = []
    for key, value in to_data(certificate).items():
        shown = tables(value) if key == "rows" else lines(value, 2) if key == "cycles" else json.dumps(value)
        parts.append(f' "{key}": {shown}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _design_data(design: TreeDesign) -> dict[str, int]:
    return {name: getattr(design, name) for name in ("lead", "pool", "beam", "depth", "budget")}


def _layer_data(layer: LayerClaim) -> dict[str, Any]:
    plan = layer.optimum.plan
    return {
        "lead": layer.lead,
        "candidates": layer.candidates,
        "rates": {name: text(value) for name, value in layer.rates._asdict().items()},
        "plan": [
            {
                "set": sorted(chosen),
                "probability": text(probability),
                "flow": {str(token): text(sent) for token, sent in sorted(plan.flow[chosen].items()) if sent},
            }
            for chosen, probability in plan.sets.items()
        ],
        "cut": sorted(layer.optimum.cut),
    }


def to_rocq(certificate: RatesCertificate) -> str:
    """The text of the file."""
    heading = (
        "(* A certificate of rheo_verify: what `acceptance` answered. It needs nothing but coqc:\n"
        "   it compiles only if every number under Claims is what the rows give. *)"
    )
    return "\n".join([heading, prelude(), body(certificate)])


def prelude() -> str:
    """The decoder over `Q` and its rates, the same in every certificate of this kind."""
    return rocq.prelude() + (files("rheo_verify.report") / "certificate_rates.v").read_text(encoding="utf-8")


def body(certificate: RatesCertificate) -> str:
    """Rows, claims and theorems, for after the prelude."""
    statements: list[tuple[str, str, str]] = [rocq.rows_are_distributions(certificate.vocab)]
    parts = ["(* Claims *)", rocq.rows_text(certificate.rows)]
    jobs = "target_rows draft_rows sampling_draft_rows"
    parts.append(
        f"Definition decoder (r : rule_name) (lead pool beam depth budget : nat) : job :=\n"
        f"  Job {certificate.vocab} lead pool beam depth budget (paper 0) false false r {jobs}."
    )
    if certificate.layer is not None:
        parts.append(_plan(certificate.layer))
        statements += _layer_statements(certificate.layer)
    known: dict[str, str] = {}
    for cycle in certificate.cycles:
        tree = " ".join(str(value) for value in _design_data(cycle.design).values())
        if tree not in known:
            known[tree] = f"trees_{len(known)}"
            parts.append(f"Definition {known[tree]} : class_law := Eval vm_compute in lazy (decoder rheo {tree}).")
            statements.append((f"{known[tree]}_are_computed", f"lazy (decoder rheo {tree})", known[tree]))
        statements.append(_cycle_statement(cycle, tree, known[tree], len(statements)))
    return "\n".join([*parts, rocq.theorems(statements)])


def _plan(layer: LayerClaim) -> str:
    plan = layer.optimum.plan
    entries: Iterable[str] = (
        f"({rocq.path(sorted(chosen))}, {rocq.rational(probability)}, "
        f"{_flow({token: sent for token, sent in sorted(plan.flow[chosen].items()) if sent})})"
        for chosen, probability in plan.sets.items()
    )
    return (
        f"Definition claimed_plan : list (list nat * Q * list (nat * Q)) :=\n{rocq.entries(entries)}.\n"
        f"Definition claimed_cut : list nat := {rocq.path(sorted(layer.optimum.cut))}."
    )


def _flow(sent: dict[int, Any]) -> str:
    return "[" + "; ".join(f"({token}%nat, {rocq.rational(value)})" for token, value in sent.items()) + "]"


def _layer_statements(layer: LayerClaim) -> list[tuple[str, str, str]]:
    here, rates = f"{layer.lead} {layer.candidates} 1 1 {layer.candidates}", layer.rates
    every = layer.candidates
    jobs = {
        "rheo": f"rheo {here}",
        "rrsw": f"rrsw {here}",
        "top_k": f"topk {every} {every} 1 1 {every}",
        "single_sampled": "rheo 0 1 1 1 1",
        "single_top1": "topk 1 1 1 1 1",
    }
    found = [
        (f"{name}_as_claimed", f"layer_rate (decoder {job})", f"Some {rocq.rational(getattr(rates, name))}")
        for name, job in jobs.items()
    ]
    job = f"(decoder rheo {here})"
    return [
        *found,
        ("upper_bound_as_claimed", f"bound {job}", f"Some {rocq.rational(rates.upper_bound)}"),
        ("plan_serves_the_candidate_sets", f"is_the_law_of_sets {job} claimed_plan", "true"),
        ("plan_is_feasible", f"is_feasible {job} claimed_plan", "true"),
        ("plan_accepts", "accepted_by claimed_plan", rocq.rational(rates.optimal)),
        ("no_rule_accepts_more", f"cut_value {job} claimed_plan claimed_cut", f"Some {rocq.rational(rates.optimal)}"),
    ]


def _cycle_statement(cycle: CycleClaim, tree: str, classes: str, number: int) -> tuple[str, str, str]:
    tau = rocq.rational(cycle.tokens_per_cycle)
    job = f"(decoder {cycle.rule} {tree})"
    name = f"tokens_per_cycle_{number}_{cycle.rule}_m_{cycle.design.lead}"
    return name, f"answer {job} {classes}", f"(lazy_is_valid {job}, {cycle.trees}%nat, 1 # 1, {tau})"
