"""Level 1: every instance in a stated finite scope, through the exact engine."""

from __future__ import annotations

CHECKER = "engine"
