"""What is to be done, cut into pieces."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

Data: TypeAlias = Any
"""What JSON can hold, and holds exactly: integers, strings, lists, objects with string keys; no floats."""


@dataclass(frozen=True)
class Job:
    """Independent pieces of one question.

    name: what kind of work it is. question: JSON data that say which question, fully: two jobs with the same name,
    question and piece have the same result. do: a function of `(shared, piece)` at the top level of a module, so that
    other processes can import it; it returns JSON data. shared: what every piece needs (picklable). pieces: JSON data.
    """

    name: str
    question: Data
    do: Callable[[Any, Data], Data]
    shared: Any
    pieces: Sequence[Data]

    def key(self, piece: Data) -> str:
        """The address of a piece's result: a digest of all that it depends on, the source of this project included."""
        return digest([self.name, _own_source(), self.question, piece])


@cache
def _own_source() -> str:
    folder = Path(__file__).parent.parent
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(folder.rglob("*.py")):
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


def digest(data: Data) -> str:
    """SHA-256 of the data in one canonical form, as 64 hexadecimal digits."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
