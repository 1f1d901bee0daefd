"""Hypothesis profiles: `default` is repeatable and quick, `thorough` (HYPOTHESIS_PROFILE=thorough) searches longer."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("default", deadline=None, max_examples=60, derandomize=True, suppress_health_check=_QUIET)
settings.register_profile("thorough", deadline=None, max_examples=1000, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True)
def width_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is wrapped for the same width wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "100")
