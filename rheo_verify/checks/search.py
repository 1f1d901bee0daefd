"""Exhaustive search: for which (p, q) on a grid does a statement about acceptance rates hold, and how often?

Exact: rates are quotients of int64 numbers that are proved to fit (`largest_number`), or of Python integers.
Resumable: a `Search` is a value, `steps` yields the next ones, and any of them can be stored and taken up again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import lcm, prod
from typing import Any

import numpy as np

from rheo_verify.checks.closed_forms import LayerRates, closed_forms
from rheo_verify.checks.instances import (
    Instance,
    Shape,
    Table,
    check_grid,
    compositions,
    descending,
    divisors,
    pairs_over,
    relabellings,
)
from rheo_verify.checks.rate_expressions import (
    COMPARE,
    Linear,
    Question,
    comparisons,
    holds,
    read_quantity,
    read_question,
)
from rheo_verify.checks.verdict import Verdict
from rheo_verify.probability.rationals import Rational, ratio

CHUNK = 8192
_LARGEST_INT64 = 2**63 - 1
_DEGREE = {"top_k": 1, "single_top1": 1, "single_sampled": 2, "upper_bound": 2, "optimal": 2, "rheo": 4, "rrsw": 4}
"""A rate's `whole`, and everything on the way to it, is at most D to this power (docs/explanation/acceptance.md)."""


@dataclass(frozen=True)
class Scope:
    """What is searched: all pairs with common denominator at most `denominator`, for each shape (n, m).

    `where` is the question; `largest` a quantity whose largest value is wanted among the pairs for which it holds.
    """

    where: str
    vocab: int
    denominator: int
    shapes: tuple[Shape, ...]
    largest: str | None = None


@dataclass(frozen=True)
class Tally:
    """Counts for one shape: pairs looked at and pairs found, up to relabelling, and as labelled pairs."""

    pairs: int = 0
    found: int = 0
    labelled: int = 0
    labelled_found: int = 0

    def plus(self, other: Tally) -> Tally:
        """The sum of two tallies."""
        return Tally(
            self.pairs + other.pairs,
            self.found + other.found,
            self.labelled + other.labelled,
            self.labelled_found + other.labelled_found,
        )


@dataclass(frozen=True)
class Search:
    """A search, begun or ended. `cursor`: the shape, the denominator and the pair over it that come next."""

    scope: Scope
    cursor: tuple[int, int, int] = (0, 1, 0)
    tallies: tuple[Tally, ...] = ()
    first: Instance | None = None
    best: Instance | None = None
    best_value: Rational | None = None
    seconds: float = 0.0

    def after(self, seconds: float) -> Search:
        """The same search, `seconds` long so far."""
        return replace(self, seconds=seconds)

    @property
    def ended(self) -> bool:
        """Whether the whole scope was searched."""
        return self.cursor[0] == len(self.scope.shapes)

    @property
    def total(self) -> Tally:
        """The counts over all shapes."""
        whole = Tally()
        for tally in self.tallies:
            whole = whole.plus(tally)
        return whole

    @property
    def verdict(self) -> Verdict:
        """Of "there is no such pair in scope": REFUTED by a pair, VERIFIED when all were looked at."""
        if self.first is not None:
            return Verdict.REFUTED
        return Verdict.VERIFIED if self.ended else Verdict.INCONCLUSIVE


def begin(scope: Scope) -> Search:
    """A search that has looked at nothing. Raises `InputError` RV106 (grid) or RV503 (expressions)."""
    check_grid(scope.vocab, scope.denominator)
    read_question(scope.where)
    if scope.largest is not None:
        read_quantity(scope.largest)
    return Search(scope, tallies=(Tally(),) * len(scope.shapes))


def search(begun: Search, *, seconds: float | None = None, progress: Callable[[Search], None] | None = None) -> Search:
    """Search until the scope or the time is used up; `progress` is called after every few thousand pairs."""
    started, before = time.monotonic(), begun.seconds
    for latest in steps(begun):
        begun = latest.after(before + time.monotonic() - started)
        if progress is not None:
            progress(begun)
        if seconds is not None and time.monotonic() - started >= seconds:
            break
    return begun


def steps(begun: Search) -> Iterator[Search]:
    """The search after each further chunk of pairs, in the order of `Instance.size`."""
    scope = begun.scope
    question = read_question(scope.where)
    quantity = None if scope.largest is None else read_quantity(scope.largest)
    shape_index, denominator, offset = begun.cursor
    while shape_index < len(scope.shapes):
        while denominator <= scope.denominator:
            for chunk, end, last in _chunks(scope.vocab, denominator, offset):
                begun = _look(begun, question, quantity, shape_index, chunk)
                begun = replace(begun, cursor=_cursor(scope, shape_index, denominator, end, last))
                yield begun
            denominator, offset = denominator + 1, 0
        shape_index, denominator = shape_index + 1, 1


def search_range(begun: Search, shape_index: int, denominator: int, low: int, high: int) -> Search:
    """The search with the pairs `low` to `high` over one denominator looked at, for one shape."""
    question = read_question(begun.scope.where)
    quantity = None if begun.scope.largest is None else read_quantity(begun.scope.largest)
    for chunk, end, last in _chunks(begun.scope.vocab, denominator, low, high):
        begun = _look(begun, question, quantity, shape_index, chunk)
        begun = replace(begun, cursor=_cursor(begun.scope, shape_index, denominator, end, last))
    return begun


def _cursor(scope: Scope, shape_index: int, denominator: int, end: int, last: bool) -> tuple[int, int, int]:
    """What comes after the pair `end` over a denominator, the last one over it or not."""
    if not last:
        return shape_index, denominator, end
    return (shape_index + 1, 1, 0) if denominator == scope.denominator else (shape_index, denominator + 1, 0)


@dataclass(frozen=True)
class _Chunk:
    denominator: int
    draft: Table
    target: Table
    labels: Table


def _chunks(vocab: int, denominator: int, offset: int, until: int | None = None) -> Iterator[tuple[_Chunk, int, bool]]:
    """Pairs whose least common denominator is this one, with the offset behind them and whether that is the end."""
    drafts, targets = descending(denominator, vocab), compositions(denominator, vocab)
    labels = np.array([relabellings(row) for row in drafts], dtype=np.int64)
    draft_divisor, target_divisor = divisors(drafts), divisors(targets)
    whole = pairs_over(vocab, denominator)
    until = whole if until is None else until
    while offset < until:
        end = min(offset + CHUNK, until)
        i, j = np.divmod(np.arange(offset, end), len(targets))
        new = np.gcd(draft_divisor[i], target_divisor[j]) == 1
        i, j = i[new], j[new]
        yield _Chunk(denominator, drafts[i], targets[j], labels[i]), end, end == whole
        offset = end


def _look(begun: Search, question: Question, quantity: Linear | None, shape_index: int, chunk: _Chunk) -> Search:
    candidates, lead = begun.scope.shapes[shape_index]
    forms = _forms(question, quantity, chunk, lead, candidates)
    found = holds(question, lambda one: COMPARE[one.sign](_scaled(one.difference, forms)[0]))
    hits = np.flatnonzero(np.asarray(found, dtype=bool))
    tally = Tally(len(chunk.labels), len(hits), int(chunk.labels.sum()), int(chunk.labels[hits].sum()))
    tallies = list(begun.tallies)
    tallies[shape_index] = tallies[shape_index].plus(tally)
    begun = replace(begun, tallies=tuple(tallies))

    def instance(index: int) -> Instance:
        rows = (tuple(map(int, table[index])) for table in (chunk.draft, chunk.target))
        return Instance(candidates, lead, chunk.denominator, *rows)

    if not len(hits):
        return begun
    if begun.first is None:
        begun = replace(begun, first=instance(hits[0]))
    return begun if quantity is None else _keep_best(begun, quantity, forms, hits, instance)


def _keep_best(
    begun: Search, quantity: Linear, forms: LayerRates, hits: Any, instance: Callable[[int], Instance]
) -> Search:
    """Floats point out who may be the largest (they are good to 1e-12); exact values decide."""
    above, below = (np.broadcast_to(part, (len(forms.top_k.whole),))[hits] for part in _scaled(quantity, forms))
    near = above.astype(float) / below.astype(float)
    best = begun.best_value
    limit = max(near.max(), -np.inf if best is None else float(best)) - 1e-9
    for index in np.flatnonzero(near >= limit):
        value = ratio(int(above[index]), int(below[index]))
        if best is None or value > best:
            best = value
            begun = replace(begun, best=instance(hits[index]), best_value=value)
    return begun


def _forms(question: Question, quantity: Linear | None, chunk: _Chunk, lead: int, candidates: int) -> LayerRates:
    fits = largest_number(question, quantity, chunk.denominator) <= _LARGEST_INT64
    kind: Any = np.int64 if fits else object
    return closed_forms(chunk.target.astype(kind), chunk.draft.astype(kind), lead, candidates)


def largest_number(question: Question, quantity: Linear | None, denominator: int) -> int:
    """A bound on every integer that comes up when the question is decided over this denominator.

    A rate's parts are at most D^degree; a linear sum brings them to the product of the wholes that occur in it, times
    the sum of its coefficients.
    """
    sums = [one.difference for one in comparisons(question)] + ([] if quantity is None else [quantity])
    largest = denominator**4
    for found in sums:
        coefficients, scale = _integers(found)
        wholes = prod(denominator ** _DEGREE[name] for name in found.coefficients)
        largest = max(largest, (sum(map(abs, coefficients.values())) + abs(int(found.constant * scale))) * wholes)
        largest = max(largest, scale * wholes)
    return largest


def _integers(found: Linear) -> tuple[dict[str, int], int]:
    scale = lcm(int(found.constant.denominator), *(int(c.denominator) for c in found.coefficients.values()))
    return {name: int(c * scale) for name, c in found.coefficients.items()}, scale


def _scaled(found: Linear, forms: LayerRates) -> tuple[Any, Any]:
    """The sum as a quotient of integers, numerators [B] over a positive denominator [B]."""
    coefficients, scale = _integers(found)
    parts = [getattr(forms, name) for name in coefficients]
    wholes = [part.whole[..., 0] for part in parts]
    everything = prod(wholes, start=1)
    summed = int(found.constant * scale) * everything
    for index, (part, coefficient) in enumerate(zip(parts, coefficients.values(), strict=True)):
        others = prod((whole for place, whole in enumerate(wholes) if place != index), start=coefficient)
        summed = summed + part.accepted[..., 0] * others
    return summed, scale * everything
