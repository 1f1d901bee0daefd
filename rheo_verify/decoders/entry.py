"""An entry of the table: a decoder under its published name, what is known of it, and where it is from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rheo_verify.decoders.decoder import Decoder


@dataclass(frozen=True)
class Entry:
    """`make(levels)` gives the decoder with trees of that depth.

    `lossless` is what is expected of it; `description` says what it is, `source` where it is published (title and
    section), `exactness` what about it is exact or was left open.
    """

    name: str
    make: Callable[[int], Decoder]
    lossless: bool
    description: str
    source: str
    exactness: str
