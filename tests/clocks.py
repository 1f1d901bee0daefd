"""A clock for tests of time limits: how often it is looked at decides, and not how fast the machine is."""

from __future__ import annotations

import pytest


class Clock:
    """A clock that goes on by a second each time it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return float(self.looks)


def ticking(patch: pytest.MonkeyPatch) -> Clock:
    """Limits, and the flag --time-limit, read one such clock: N seconds are N looks."""
    clock = Clock()
    for module in ("rheo_verify.limits", "rheo_verify.cli.settings"):
        patch.setattr(f"{module}.time", clock)
    return clock
