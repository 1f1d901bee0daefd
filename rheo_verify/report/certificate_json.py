"""A certificate as JSON; `proofs/check_certificate.py` rechecks it with the standard library alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rheo_verify.checks.certificate import Certificate
from rheo_verify.drafting.tree import TokenPath
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import text

SCHEMA = {"schema": "rheo_verify/certificate", "version": 1}


def to_data(certificate: Certificate) -> dict[str, Any]:
    """Plain data; rationals are strings, token paths are ids with blanks between them, as in model files."""
    design = certificate.design
    return {
        **SCHEMA,
        "vocab": certificate.vocab,
        "design": {
            "lead": design.lead,
            "pool": design.pool,
            "beam": design.beam,
            "depth": design.depth,
            "budget": design.budget,
            "proxy": design.proxy if isinstance(design.proxy, str) else text(design.proxy),
            "epsilon": text(design.epsilon),
            "ties": design.ties,
            "verification": design.verification,
        },
        "rule": certificate.rule,
        "growth": certificate.growth,
        "verdict": str(certificate.verdict),
        "total_variation": text(certificate.total_variation),
        "budgets": [text(distance) for distance in certificate.budgets],
        "tokens_per_cycle": text(certificate.tokens_per_cycle),
        "rows": rows_data(certificate.rows),
        "classes": [
            {
                "probability": text(probability),
                "nodes": [[list(node.slots), list(node.tokens), node.kind] for node in tree],
            }
            for tree, probability in certificate.classes.items()
        ],
        "emitted": {path(tokens): text(p) for tokens, p in sorted(certificate.emitted.items())},
    }


def to_json(certificate: Certificate) -> str:
    """One JSON object, one line for each row, class and emitted sequence."""
    parts = []
    for key, value in to_data(certificate).items():
        if key == "rows":
            parts.append(f' "rows": {tables(value)}')
        else:
            parts.append(f' "{key}": ' + (lines(value, 2) if key in ("classes", "emitted") else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def rows_data(rows: Mapping[str, Mapping[TokenPath, Row]]) -> dict[str, dict[str, list[str]]]:
    """Rows by table and by tokens after the starting context, as in model files."""
    return {
        name: {path(tokens): [text(p) for p in row] for tokens, row in sorted(table.items())}
        for name, table in rows.items()
    }


def tables(rows: Mapping[str, Any]) -> str:
    """`rows_data`, one line for each row."""
    return "{\n" + ",\n".join(f'  "{name}": {lines(table, 3)}' for name, table in rows.items()) + "\n }"


def path(tokens: TokenPath) -> str:
    """Token ids with blanks between them."""
    return " ".join(map(str, tokens))


def lines(value: Any, indent: int) -> str:
    """A list or an object as JSON, one line for each entry."""
    if not value:
        return json.dumps(value)
    blank = " " * indent
    if isinstance(value, dict):
        body = ",\n".join(f"{blank}{json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items())
        return "{\n" + body + "\n" + blank[1:] + "}"
    return "[\n" + ",\n".join(blank + json.dumps(entry) for entry in value) + "\n" + blank[1:] + "]"
