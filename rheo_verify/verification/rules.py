"""The layer rules by name."""

from __future__ import annotations

from rheo_verify.errors import InputError
from rheo_verify.verification import rheo, rrsw, topk
from rheo_verify.verification.layer import LayerRule

RULES = {module.__name__.rpartition(".")[2]: module for module in (rheo, rrsw, topk)}


def layer_rule(name: str) -> LayerRule:
    """The rule called `name`. Raises `InputError` RV106 with the names there are."""
    if name not in RULES:
        raise InputError("RV106", f"rule must be one of {', '.join(RULES)}, not {name!r}")
    rule = RULES[name]
    return LayerRule(name, rule.verify, rule.law, branches=getattr(rule, "branches", None))
