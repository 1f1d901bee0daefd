"""Every lossless decoder, on random models: the law of the first three tokens over several cycles is the target's."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from rheo_verify.checks.adapted_growth import adapted_growth
from rheo_verify.checks.cycle_law import CycleLaws, joint_law
from rheo_verify.checks.emission import Emission, compare
from rheo_verify.checks.verdict import Verdict
from rheo_verify.decoders.registry import REGISTRY
from rheo_verify.models.model import Model

from .instances import models

LOSSLESS = [entry.name for entry in REGISTRY.values() if entry.lossless]
LOSSY = [entry.name for entry in REGISTRY.values() if not entry.lossless]
SLOW = settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", LOSSLESS)
@SLOW
@given(model=models())
def test_several_cycles_have_the_targets_law(name: str, model: Model) -> None:
    laws = CycleLaws(REGISTRY[name].make(2), model)
    joint, calls = joint_law(laws, (), 3)
    assert compare(model.target, (), Emission(joint)).differences == ()
    assert sum(joint.values()) == 1
    assert 1 <= calls <= 3


@pytest.mark.parametrize("name", [name for name in LOSSLESS if name != "delayed-expansion"])
@settings(SLOW, max_examples=3)
@given(model=models(most_tokens=2))
def test_three_levels_deep(name: str, model: Model) -> None:
    laws = CycleLaws(REGISTRY[name].make(3), model)
    assert compare(model.target, (), laws.at(())).total_variation == 0


@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
@settings(SLOW, max_examples=6)
@given(model=models())
def test_adapted_growth_is_a_proof(name: str, model: Model) -> None:
    """Where every step is one that the rule stands, the cycle is lossless; the lossless decoders all pass."""
    decoder = REGISTRY[name].make(2)
    growth = adapted_growth(model, (), decoder)
    if growth.verdict is Verdict.VERIFIED:
        assert compare(model.target, (), CycleLaws(decoder, model).at(())).total_variation == 0
    else:
        assert name in LOSSY
        assert growth.culprit in ("slot", "rule")
