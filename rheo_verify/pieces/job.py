"""What is to be done, cut into pieces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
        """The address of a piece's result: a digest of all that it depends on, this version of the project included."""
        from rheo_verify import __version__

        return digest([self.name, __version__, self.question, piece])


def digest(data: Data) -> str:
    """SHA-256 of the data in one canonical form, as 64 hexadecimal digits."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
