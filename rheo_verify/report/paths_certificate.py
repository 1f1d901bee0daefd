"""The certificate of `check`, as JSON (`proofs/check_paths.py` rechecks it) and as a Rocq file (`coqc`).

The Rocq file is `certificate_paths.v`, the same in every such certificate, then rows, paths and claims as data, and one
theorem for each claim, proved by `vm_compute`; nothing is assumed.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.evidence import PathRecord
from rheo_verify.foreign.paths_certificate import CODES, CaseClaim, PathsCertificate
from rheo_verify.probability.rationals import text
from rheo_verify.report import certificate_rocq as rocq
from rheo_verify.report.certificate_json import lines, rows_data

SCHEMA = {"schema": "rheo_verify/paths-certificate", "version": 2}


def to_data(certificate: PathsCertificate) -> dict[str, Any]:
    """Plain data; rationals are strings; a path is its probability, its drafts, what it emitted, and what it broke."""
    return {
        **SCHEMA,
        "name": certificate.name,
        "way": certificate.way,
        "verdict": str(certificate.verdict),
        "scope": certificate.scope,
        "cases_in_all": certificate.cases_in_all,
        "cases": [_case_data(case) for case in certificate.cases],
    }


def _case_data(case: CaseClaim) -> dict[str, Any]:
    return {
        "given": case.given,
        "vocab": case.vocab,
        "length": case.length,
        "drafts": case.drafts,
        **rows_data({"target": case.target, "draft": case.draft}),
        "total_variation": text(case.total_variation),
        "threshold": text(case.threshold),
        "findings": {code: text(probability) for code, probability in case.findings.items()},
        "paths": [
            [
                text(path.probability),
                list(path.choices[: case.drafts]),
                None if path.emitted is None else list(path.emitted),
                list(path.faults),
            ]
            for path in case.paths
        ],
    }


def to_json(certificate: PathsCertificate) -> str:
    """One JSON object, one line for each row and path."""
    parts = []
    for key, value in to_data(certificate).items():
        if key == "cases":
            parts.append(' "cases": [\n' + ",\n".join(map(_case_json, value)) + "\n ]")
        else:
            parts.append(f' "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _case_json(case: dict[str, Any]) -> str:
    many = ("target", "draft", "paths")
    return (
        "  {\n"
        + ",\n".join(
            f'   "{key}": {lines(value, 4) if key in many else json.dumps(value)}' for key, value in case.items()
        )
        + "\n  }"
    )


def to_rocq(certificate: PathsCertificate) -> str:
    """The text of the file."""
    heading = (
        f"(* A certificate of rheo_verify: {certificate.verdict} for a {certificate.way}. It needs nothing but coqc:\n"
        "   it compiles only if every number under Claims is what paths and rows give. It takes the paths as given.\n"
        f"   It speaks{certificate.stated()}. *)"
    )
    return "\n".join([heading, prelude(), body(certificate)])


def prelude() -> str:
    """What paths and rows add up to, the same in every certificate of this kind."""
    return (files("rheo_verify.report") / "certificate_paths.v").read_text(encoding="utf-8")


def body(it: PathsCertificate) -> str:
    """Cases, claims and theorems, for after the prelude."""
    cases = rocq.entries(map(_case, it.cases))
    thresholds = sorted({rocq.rational(case.threshold) for case in it.cases})
    assert len(thresholds) == 1
    found = f"map (findings {thresholds[0]}) cases"
    claimed = "([" + "; ".join(_findings(case) for case in it.cases) + "] : list (list (nat * Q)))"
    verifier = str(it.way == "verifier").lower()
    distances = "; ".join(f"(1 # 1, true, {rocq.rational(case.total_variation)})" for case in it.cases)
    statements = [
        ("rows_are_distributions", "forallb rows_hold cases", "true"),
        ("paths_are_all_and_of_the_drafts", "forallb paths_hold cases", "true"),
        ("contracts_as_claimed", f"forallb (contracts_hold {verifier}) cases", "true"),
        ("total_variation_as_claimed", "map compared cases", f"[{distances}]"),
        ("findings_as_claimed", found, claimed),
        ("threshold", f"existsb (Qeq_bool {thresholds[0]}) thresholds", "true"),
        ("verdict", f"is_refuted ({found})", str(it.verdict is Verdict.REFUTED).lower()),
        ("coverage_as_claimed", "coverage_of cases cases_in_all", f"Coverage {len(it.cases)} {it.cases_in_all}"),
        ("coverage_is_possible", "(Z.of_nat (length cases) <=? cases_in_all)%Z", "true"),
    ]
    data = f"(* Claims *)\nDefinition cases : list case :=\n{cases}.\n"
    data += f"Definition cases_in_all : Z := {it.cases_in_all}%Z.\n"
    return data + rocq.theorems(statements) + "Compute coverage_of cases cases_in_all.\n"


def _case(case: CaseClaim) -> str:
    paths = rocq.entries(_path(path, case.drafts) for path in case.paths)
    sizes = f"{case.vocab} {case.length} {case.drafts}"
    return f"Case {sizes} {rocq.table(case.target)} {rocq.table(case.draft)}\n{paths}"


def _path(path: PathRecord, drafts: int) -> str:
    emitted = "None" if path.emitted is None else f"(Some {rocq.path(path.emitted)})"
    faults = rocq.path([int(code[2:]) for code in path.faults])
    return f"Path {rocq.rational(path.probability)} {rocq.path(path.choices[:drafts])} {emitted} {faults}"


def _findings(case: CaseClaim) -> str:
    found = [(code, case.findings[code]) for code in ("RV401", *CODES) if code in case.findings]
    return "[" + "; ".join(f"({code[2:]}%nat, {rocq.rational(probability)})" for code, probability in found) + "]"
