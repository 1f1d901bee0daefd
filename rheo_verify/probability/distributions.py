"""Distributions over a vocabulary, as tuples of rationals: row[v] is the probability of token v.

What drafting needs of a row (`ranking`, `without`, `normalise`, `has_mass`, `support`, `tail_mass`, `draw`) is also
defined for the sparse float rows of real models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from rheo_verify.errors import InputError, MisuseError
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.rationals import ONE, ZERO, Rational, exact, text, total
from rheo_verify.probability.sparse import SparseRow

Row: TypeAlias = tuple[Rational, ...]
"""One distribution: a probability per token, summing to one."""


def distribution(weights: Sequence[Any], where: str = "row") -> Row:
    """Read a distribution from integers (weights, normalised) or strings and rationals (probabilities, summing to 1).

    A row of integers alone is a row of weights, ``[5, 3, 2]``; otherwise the entries must sum to one, so that a slip
    of the pen in ``["1/2", "1/3", "1/5"]`` is found and not normalised away. Raises `InputError` RV101, RV102.
    """
    values = [exact(weight, f"{where}[{index}]") for index, weight in enumerate(weights)]
    for index, value in enumerate(values):
        if value < 0:
            raise InputError("RV102", f"{where}[{index}]: {text(value)} is negative")
    mass = total(values)
    if mass == 0:
        raise InputError("RV102", f"{where}: all weights are zero")
    if mass != 1 and not all(isinstance(weight, int) for weight in weights):
        raise InputError("RV102", f"{where}: the probabilities sum to {text(mass)}, not 1")
    return tuple(value / mass for value in values)


def normalise(weights: Any) -> Row:
    """`norm(f) = f / sum f`. Raises `MisuseError` RV301 when there is no mass."""
    if isinstance(weights, SparseRow) and weights.mass > 0:
        return weights.normalised()  # type: ignore[return-value]
    mass = weights.mass if isinstance(weights, SparseRow) else total(weights)
    if mass == 0:
        raise MisuseError("RV301", "cannot normalise weights that are all zero")
    return tuple(weight / mass for weight in weights)


def has_mass(row: Any) -> bool:
    """Whether any token has a positive weight."""
    return row.mass > 0 if isinstance(row, SparseRow) else any(row)


def support(row: Any) -> tuple[int, ...]:
    """The tokens of positive weight."""
    if isinstance(row, SparseRow):
        return row.support
    return tuple(token for token, mass in enumerate(row) if mass)


def tail_mass(row: Any, order: Sequence[int], first: int) -> Any:
    """The mass of all but the `first` best tokens, as a sum of the tail; of a sparse row's rest, too."""
    if isinstance(row, SparseRow):
        return float(row.values[first:].sum()) + row.rest
    return total(row[token] for token in order[first:])


def draw(chance: Chance, law: Any) -> int:
    """One token from a law."""
    return law.tokens[chance.choose(law.values)] if isinstance(law, SparseRow) else chance.choose(law)


def ranking(row: Any) -> tuple[int, ...]:
    """All tokens by decreasing probability, ties by token id (SPEC 1.1, step 1); of a sparse row, its support."""
    if isinstance(row, SparseRow):
        return row.tokens
    return tuple(sorted(range(len(row)), key=lambda token: (-row[token], token)))


def residual(target: Sequence[Rational], draft: Sequence[Rational]) -> tuple[Rational, ...]:
    """`(p - q)+`, unnormalised: all zero exactly when p = q."""
    return tuple(max(p - q, ZERO) for p, q in zip(target, draft, strict=True))


def truncate(row: Sequence[Rational], support: int) -> Row:
    """Keep the `support` most probable tokens (ties by token id) and renormalise (claim `support-truncation`)."""
    kept = set(ranking(row)[:support])
    return normalise([value if token in kept else ZERO for token, value in enumerate(row)])


def temper(row: Sequence[Rational], inverse_temperature: int) -> Row:
    """The row at temperature 1/k: `norm(q^k)`, exact for integer k >= 1."""
    if inverse_temperature < 1:
        raise InputError("RV106", f"inverse temperature {inverse_temperature} must be an integer of at least 1")
    return normalise([value**inverse_temperature for value in row])


def without(row: Any, tokens: Sequence[int]) -> tuple[Rational, ...]:
    """The row with `tokens` set to zero, unnormalised."""
    if isinstance(row, SparseRow):
        return row.without(tokens)  # type: ignore[return-value]
    gone = set(tokens)
    return tuple(ZERO if token in gone else value for token, value in enumerate(row))


def one_hot(token: int, vocab: int) -> Row:
    """All mass on one token."""
    return tuple(ONE if index == token else ZERO for index in range(vocab))


def total_variation(left: Sequence[Rational], right: Sequence[Rational]) -> Rational:
    """`TV(a, b) = 1/2 sum |a - b|`, between 0 and 1 for distributions."""
    return total(abs(a - b) for a, b in zip(left, right, strict=True)) / 2
