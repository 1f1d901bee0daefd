"""Faults planted on purpose, to show that the sampled check finds them: each as a rule around a sound one."""

from __future__ import annotations

from collections.abc import Sequence

from rheo_verify.errors import InputError
from rheo_verify.probability.arrays import Array, mass
from rheo_verify.probability.chance import Chance
from rheo_verify.verification.layer import Laws, LayerRule, Outcome

FAULTS = ("residual-from-p", "bonus-at-temperature-1")


def check_fault(name: str) -> None:
    """Raises `InputError` RV106 unless `name` is one of `FAULTS`."""
    if name not in FAULTS:
        raise InputError("RV106", f"fault must be one of {', '.join(FAULTS)}, not {name!r}")


def planted(rule: LayerRule, fault: str, temperature: float) -> LayerRule:
    """The rule with a fault. residual-from-p: when all are rejected the token comes from p, not from the residual.

    bonus-at-temperature-1: where no drafted token is tested, the token is drawn at temperature 1. Raises
    `InputError` RV106.
    """
    check_fault(fault)

    def law(target: Array, candidates: Array, laws: Laws) -> tuple[Array, Array]:
        accept, residual = rule.law(target, candidates, laws)
        if fault == "bonus-at-temperature-1":
            return accept, residual if len(laws) else target**temperature
        return accept, target * mass(residual)

    def verify(chance: Chance, target: Array, candidates: Sequence[int], laws: Laws) -> Outcome:
        raise NotImplementedError("a planted fault has a law only: use in_one_draw")

    return LayerRule(f"{rule.name}, {fault}", verify, law)
