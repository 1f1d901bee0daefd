"""What a check is: a function without arguments that returns the scope it exhausted in words, or raises `Refuted`."""

from __future__ import annotations


class Refuted(Exception):
    """The claim fails; the message is the counterexample."""


def require(holds: bool, counterexample: object) -> None:
    """Raise `Refuted` unless it holds."""
    if not holds:
        raise Refuted(str(counterexample))
