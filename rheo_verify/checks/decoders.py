"""What the table of decoders says of one: verdict, total variation, acceptance, cost; exact, over several cycles."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from rheo_verify.checks.adapted_growth import AdaptedGrowth, adapted_growth
from rheo_verify.checks.cycle_law import CycleLaws, joint_law
from rheo_verify.checks.emission import Comparison, Emission, compare
from rheo_verify.checks.optimal import smallest_cut
from rheo_verify.checks.showing import html_of
from rheo_verify.checks.verdict import Verdict
from rheo_verify.decoders.decoder import Decoder
from rheo_verify.decoders.entry import Entry
from rheo_verify.drafting.frozen_tree import FrozenTree, frozen
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.shapes import chain, size
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.limits import Limits
from rheo_verify.models.integer_rows import IntegerRows
from rheo_verify.models.model import Context, Model, require_target
from rheo_verify.probability.rationals import Rational, about, exact
from rheo_verify.verification.lenient import lenient
from rheo_verify.verification.transport_rules import candidate_sets

Found = TypeVar("Found")

LEVELS = 2
LENGTH = 3
MOST_SEQUENCES = 1_000_000
MOST_LEVELS = 200
MOST_LENGTH = 1_000
MOST_NODES = 100_000
MOST_TOKENS_FOR_OPTIMUM = 12
FACTORS = tuple(map(exact, ("1", "5/4", "3/2", "2", "3", "1000000")))


@dataclass(frozen=True)
class Blame:
    """At the first reachable context whose cycle is lossy: how its drafting reveals, and what the rule cannot stand.

    `growth` is None where the drafting has too many outcomes to watch, or no time was left for it.
    """

    context: Context
    growth: AdaptedGrowth | None


@dataclass(frozen=True)
class Evaluation:
    """One row of the table, at one starting context.

    `comparison` is of the first `length` tokens over as many cycles as they take, `target_calls` the expected number
    of those cycles (one call of the target verifies one tree). `emission` is the first cycle's. `optimum` is the most
    that any rule can accept at the root, where the number of drafts there is fixed beforehand, else None. `paths` is
    the number of outcomes that had to be told apart, over all contexts. `blame` says who is to blame for a loss (None
    where no time was left to look).
    """

    entry: Entry
    decoder: Decoder
    model: Model
    context: Context
    levels: int
    length: int
    verdict: Verdict
    comparison: Comparison = field(repr=False)
    emission: Emission = field(repr=False)
    target_calls: Rational
    optimum: Rational | None
    blame: Blame | None
    paths: int
    seconds: float

    @property
    def total_variation(self) -> Rational:
        """Between the law of the first `length` tokens and the target's."""
        return self.comparison.total_variation

    @property
    def tokens_per_cycle(self) -> Rational:
        """The field's tau, in the first cycle."""
        return self.emission.tokens_per_cycle

    @property
    def accepted_by_depth(self) -> tuple[Rational, ...]:
        """Entry d-1: the probability that at least d drafted tokens are accepted, in the first cycle."""
        return self.emission.accepted_by_depth

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one. A lossy decoder may do no harm on some models."""
        return (self.verdict is Verdict.VERIFIED) == self.entry.lossless

    def _repr_html_(self) -> str | None:
        return html_of(self)


def evaluate(
    entry: Entry,
    model: Model,
    *,
    context: Context = (),
    levels: int = LEVELS,
    length: int = LENGTH,
    limits: Limits | None = None,
    rows: IntegerRows | None = None,
) -> Evaluation:
    """Evaluate one decoder exactly; `rows` may be shared among decoders on the same model.

    Raises `InputError` RV105 (no row), RV106, RV108 (too many sequences), and `LimitReached`.
    """
    for name, value, most in (("levels", levels, MOST_LEVELS), ("length", length, MOST_LENGTH)):
        if not 1 <= value <= most:
            raise InputError("RV106", f"{name} {value} must be from 1 to {most:,}")
    for tokens, what, flag in ((length, "to compare", "length"), (levels + 1, "to come out of one cycle", "levels")):
        if model.vocab ** min(tokens, 64) > MOST_SEQUENCES:
            message = f"{model.vocab}^{tokens} sequences are too many {what} (at most {MOST_SEQUENCES:,})"
            raise InputError("RV108", f"{message}; take a smaller vocabulary or --{flag}")
    require_target(model, context, length)
    begin = time.perf_counter()
    decoder = entry.make(levels)
    nodes = size(decoder.draft.shape(model, context)) if isinstance(decoder.draft, FrozenTree) else 0
    if nodes > MOST_NODES:
        message = f"{entry.name} would draft {about(nodes)} nodes, too many (at most {MOST_NODES:,})"
        raise InputError("RV108", f"{message}; take a smaller --levels")
    limits = limits or Limits()
    laws = CycleLaws(decoder, model, limits, rows)
    joint, calls = joint_law(laws, context, length)
    limits.covered = "every cycle was finished, their comparison with the target was not"
    comparison = compare(model.target, context, Emission(joint), limits)
    return Evaluation(
        entry=entry,
        decoder=decoder,
        model=model,
        context=context,
        levels=levels,
        length=length,
        verdict=Verdict.of(comparison.total_variation == 0),
        comparison=comparison,
        emission=laws.at(context),
        target_calls=calls,
        optimum=optimum_at_root(decoder, model, context),
        blame=_in_time(lambda: _blame(laws, context, length)) if comparison.total_variation else None,
        paths=laws.paths,
        seconds=time.perf_counter() - begin,
    )


def _in_time(further: Callable[[], Found]) -> Found | None:
    """What is asked further once the verdict is known: None where the time does not suffice for it."""
    try:
        return further()
    except LimitReached:
        return None


def _blame(laws: CycleLaws, context: Context, length: int) -> Blame | None:
    """None only if every cycle is lossless, and then so are several."""
    model = laws.model
    here = [context]
    for _ in range(length):
        for start in here:
            if compare(model.target, start, laws.at(start), laws.limits).total_variation:
                return Blame(start, watched(model, start, laws.decoder, laws.limits))
        here = [(*start, token) for start in here for token, p in enumerate(model.target(start)) if p]
    return None


def watched(model: Model, context: Context, decoder: Decoder, limits: Limits | None) -> AdaptedGrowth | None:
    """`adapted_growth`, or None where it would have too many outcomes to watch, or takes longer than there is time."""
    return _in_time(lambda: adapted_growth(model, context, decoder, limits))


@dataclass(frozen=True)
class Unfinished:
    """A row that a limit ended: INCONCLUSIVE. `covered` says what was finished."""

    entry: Entry
    why: str
    covered: str

    verdict = Verdict.INCONCLUSIVE


def evaluate_all(
    entries: Iterable[Entry],
    model: Model,
    *,
    context: Context = (),
    levels: int = LEVELS,
    length: int = LENGTH,
    limits: Limits | None = None,
) -> tuple[Evaluation | Unfinished, ...]:
    """The whole table, row by row; what comes after a limit is unfinished."""
    todo = tuple(entries)
    limits = limits or Limits()
    integers = IntegerRows(model)
    rows: list[Evaluation | Unfinished] = []
    for done, entry in enumerate(todo):
        if limits.progress is not None:
            limits.progress(entry.name, done, len(todo))
        rows.append(
            evaluate_in_time(entry, model, limits, context=context, levels=levels, length=length, rows=integers)
        )
    return tuple(rows)


def evaluate_in_time(
    entry: Entry,
    model: Model,
    limits: Limits,
    *,
    context: Context = (),
    levels: int = LEVELS,
    length: int = LENGTH,
    rows: IntegerRows | None = None,
) -> Evaluation | Unfinished:
    """`evaluate`, or how far it came."""
    limits.covered = "no cycle was finished"
    try:
        limits.check_time()
        return evaluate(entry, model, context=context, levels=levels, length=length, limits=limits, rows=rows)
    except LimitReached as limit:
        return Unfinished(entry, limit.message, limit.covered)


def optimum_at_root(decoder: Decoder, model: Model, context: Context) -> Rational | None:
    """The most that any lossless rule can accept of the drafts at the root (claim `optimal-acceptance`)."""
    draft = decoder.draft
    if not isinstance(draft, FrozenTree) or model.vocab > MOST_TOKENS_FOR_OPTIMUM:
        return None
    count = len(draft.shape(model, context))
    if not count:
        return None
    sets = candidate_sets(draft.siblings, model.draft(context), model.sampling_draft(context), count)
    return smallest_cut(model.target(context), sets)[0]


def total_variation_by_lenience(
    model: Model, *, context: Context = (), levels: int = LEVELS, length: int = LENGTH, limits: Limits | None = None
) -> tuple[tuple[Rational, Rational], ...]:
    """The lenient chain's total variation as a function of its factor, for as many factors as there is time for."""
    found = []
    for factor in FACTORS:
        decoder = Decoder("lenient", frozen(chain(levels), IID), lenient(factor))
        try:
            joint, _ = joint_law(CycleLaws(decoder, model, limits), context, length)
            found.append((factor, compare(model.target, context, Emission(joint), limits).total_variation))
        except LimitReached:
            break
    return tuple(found)
