"""Random toy models, a pure function of (seed, context): equal on every machine and under every NumPy.

Each weight is taken from SHA-256 of ``"seed/role/context"``, so rows exist at every context, however deep.
"""

from __future__ import annotations

import hashlib

from rheo_verify.errors import InputError
from rheo_verify.models.model import Context, Model, NextToken, cached, from_functions
from rheo_verify.probability.distributions import Row, distribution

LARGEST_VOCAB = 100_000


def random_model(
    vocab: int,
    seed: int,
    *,
    largest: int = 9,
    zeros: int = 0,
    independent_sampling: bool = False,
    with_context: bool = True,
) -> Model:
    """A model with integer weights from 1 to `largest`, normalised.

    `zeros` makes about that many in 16 weights zero (never all); `independent_sampling` gives q-hat rows of its own;
    `with_context=False` uses the root rows everywhere. Raises `InputError` RV106 on a vocabulary out of range.
    """
    if not 1 <= vocab <= LARGEST_VOCAB:
        raise InputError("RV106", f"vocab {vocab} must be between 1 and {LARGEST_VOCAB}")
    if not (1 <= largest <= 4096 and 0 <= zeros <= 16):
        raise InputError("RV106", f"largest {largest} must be in 1…4096 and zeros {zeros} in 0…16")

    def rows(role: str) -> NextToken:
        def row(context: Context) -> Row:
            place = " ".join(map(str, context)) if with_context else ""
            return _random_row(f"{seed}/{role}/{place}", vocab, largest, zeros)

        return cached(row)

    sampling = rows("sampling_draft") if independent_sampling else None
    return from_functions(vocab, rows("target"), rows("draft"), sampling, source=f"random tables, seed {seed}")


def _random_row(key: str, vocab: int, largest: int, zeros: int) -> Row:
    stream = b"".join(hashlib.sha256(f"{key}/{block}".encode()).digest() for block in range((4 * vocab + 31) // 32))
    weights = []
    for token in range(vocab):
        size, chance = (int.from_bytes(stream[4 * token + half : 4 * token + half + 2], "big") for half in (0, 2))
        weights.append(0 if chance % 16 < zeros else 1 + size % largest)
    if not any(weights):
        weights[stream[0] % vocab] = 1
    return distribution(weights, key)
