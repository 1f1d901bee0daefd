"""The fast exact law of a cycle, against its slow twin: every path of drafting and verification, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from rheo_verify.checks.cycle_law import CycleLaws, joint_law
from rheo_verify.decoders.decoder import decode
from rheo_verify.decoders.registry import REGISTRY
from rheo_verify.models.model import Model
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.enumeration import law_of
from rheo_verify.probability.sampling import SampleChance

from .instances import models

NAMES = list(REGISTRY)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(model=models(most_tokens=2))
def test_a_cycle_is_the_law_of_its_program(name: str, model: Model) -> None:
    decoder = REGISTRY[name].make(2)
    assert CycleLaws(decoder, model).at((1,)).law == law_of(lambda chance: decoder.cycle(chance, model, (1,)))


@pytest.mark.parametrize(
    "name", ["speculative-sampling", "rrs-without-replacement", "loopspec", "block-verification", "tsubame", "spechub"]
)
def test_a_cycle_over_three_tokens(name: str) -> None:
    model = random_model(3, 5, zeros=2, independent_sampling=True)
    decoder = REGISTRY[name].make(2)
    assert CycleLaws(decoder, model).at(()).law == law_of(lambda chance: decoder.cycle(chance, model, ()))


@pytest.mark.parametrize("name", ["speculative-sampling", "specinfer", "block-verification", "lenient", "eagle-2"])
def test_several_cycles_are_the_law_of_decode(name: str) -> None:
    model = random_model(2, 3)
    decoder = REGISTRY[name].make(1)
    joint, _ = joint_law(CycleLaws(decoder, model), (), 3)
    assert joint == law_of(lambda chance: decode(chance, decoder, model, (), 3))


@pytest.mark.parametrize("name", NAMES)
def test_it_also_runs(name: str) -> None:
    model = random_model(4, 0)
    tokens = decode(SampleChance(1), REGISTRY[name].make(2), model, (), 7)
    assert len(tokens) == 7
    assert all(0 <= token < 4 for token in tokens)
