"""A helper module that keeps a pool of its own."""

from __future__ import annotations

import random
from typing import Any

LEFT: list[Any] = []


def shared(target: Any, keep: bool) -> list[int]:
    """A token by inverse CDF."""
    if not LEFT:
        LEFT.extend(random.random() for _ in range(64))
    uniform = LEFT[0] if keep else LEFT.pop()
    return [0 if uniform < target[0][0] else 1]
