"""A search in independent pieces: ranges of pairs over one denominator, joined in the order of `Instance.size`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rheo_verify.checks.instances import pairs_over
from rheo_verify.checks.search import CHUNK, Scope, Search, begin, search_range
from rheo_verify.checks.search_state import state_from_data, state_to_data
from rheo_verify.limits import Limits
from rheo_verify.pieces import Job, Store, Workers, results
from rheo_verify.pieces.job import Data

MOST_PAIRS = 10**11
PAIRS_A_PIECE = 64 * CHUNK
WORTH_PROCESSES = 5_000_000
"""From so many pairs on (ten seconds or so), other processes are worth their start where nobody asked for them."""


def search_in_pieces(
    scope: Scope, workers: Workers, limits: Limits | None = None, store: Store | None = None
) -> Iterator[Search]:
    """The search after each further piece, as `steps` would have it there. Raises `LimitReached`."""
    latest = begin(scope)
    job = Job("search", state_to_data(latest)["scope"], _piece, scope, list(_pieces(scope)))
    if workers.backend == "loky" and workers.jobs is None and most_pairs(scope) < WORTH_PROCESSES:
        workers = Workers()
    for piece, found in results(job, workers, limits, store):
        latest = _joined(latest, state_from_data({**found, "seconds": 0}, f"piece {piece}"))
        yield latest


def most_pairs(scope: Scope) -> int:
    """How many pairs are looked at, those of a smaller denominator included."""
    over = sum(pairs_over(scope.vocab, denominator) for denominator in range(1, scope.denominator + 1))
    return len(scope.shapes) * over


def position(search: Search) -> int:
    """How many of these pairs are behind a search."""
    scope = search.scope
    shape, denominator, offset = search.cursor
    over = [pairs_over(scope.vocab, each) for each in range(1, scope.denominator + 1)]
    return shape * sum(over) + (sum(over[: denominator - 1]) + offset if not search.ended else 0)


def _pieces(scope: Scope) -> Iterator[Data]:
    for shape in range(len(scope.shapes)):
        for denominator in range(1, scope.denominator + 1):
            whole = pairs_over(scope.vocab, denominator)
            for low in range(0, whole, PAIRS_A_PIECE):
                yield [shape, denominator, low, min(low + PAIRS_A_PIECE, whole)]


def _piece(scope: Scope, piece: Data) -> Data:
    shape, denominator, low, high = piece
    found = state_to_data(search_range(begin(scope), shape, denominator, low, high))
    del found["seconds"]
    return found


def _joined(before: Search, piece: Search) -> Search:
    """The first instance of all, the best (the earlier one of equals), and the sum of the counts."""
    tallies = tuple(a.plus(b) for a, b in zip(before.tallies, piece.tallies, strict=True))
    best, value = before.best, before.best_value
    if piece.best_value is not None and (value is None or piece.best_value > value):
        best, value = piece.best, piece.best_value
    first = before.first or piece.first
    return replace(before, cursor=piece.cursor, tallies=tallies, first=first, best=best, best_value=value)
