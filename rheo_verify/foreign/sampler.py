"""One draw: is it the law it claims? ``sampler(logits) -> token`` under temperature, top-k, top-p and min-p."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rheo_verify.foreign.answering import Answering
from rheo_verify.foreign.arrays_in_out import Maker, Unreadable, read_tokens
from rheo_verify.foreign.cases import Case, by_position, rows_up_to
from rheo_verify.foreign.checking import Outcome, Way, check, guarded, settings_of
from rheo_verify.foreign.judging import Breach
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.signatures import accepted, check_call
from rheo_verify.foreign.spreading import Progress
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.models.model import Context
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import text
from rheo_verify.words import between, count


class SamplerTrial:
    """One sampler on one row, which is a case without drafts."""

    def __init__(
        self,
        door: Answering,
        code: Rebuilder,
        case: Case,
        maker: Maker,
        processing: Processing,
        options: dict[str, Any],
    ) -> None:
        self.door, self.code, self.case, self.maker = door, code, case, maker
        self.row, self.processing, self.options = case.target[()], processing, options
        self.original = maker.rows(self.row)

    def run(self, chance: Chance) -> Outcome:
        """One draw."""
        given = self.maker.copy(self.original)

        def read(returned: Any) -> Outcome:
            token = _one(returned)
            if not 0 <= token < len(self.row):
                raise Unreadable(f"token {token} is not below the vocabulary size {len(self.row)}")
            changed = not self.maker.same(given, self.original)
            return (token,), (Breach("RV410", "the row was changed in place"),) if changed else ()

        return guarded(self.door, chance, lambda: self.code.fresh()(given, **self.options), read)

    def expected(self) -> Law[tuple[int, ...]]:
        """The processed row."""
        return {(token,): p for token, p in enumerate(self.processing.apply(self.row)) if p}

    def compared(self, law: Law[tuple[int, ...]]) -> Law[tuple[int, ...]]:
        """The law as it is."""
        return law

    def text(self) -> str:
        """The row in words."""
        return f"row ({', '.join(self.data()['row'])})"

    def data(self) -> dict[str, Any]:
        """The row as plain data."""
        return {"row": [text(p) for p in self.row]}

    def target_at(self, context: Context) -> Row:
        """See `watching.Watched`."""
        return self.processing.apply(self.row)

    def drafts_at(self, context: Context) -> list[tuple[str, Row]]:
        """See `watching.Watched`."""
        return []


def sampler_rows(scope: Scope) -> Iterator[Row]:
    """All rows of up to `scope.vocab` tokens and the denominator, simplest first; then random ones."""
    for vocab in range(2, scope.vocab + 1):
        yield from rows_up_to(vocab, scope.denominator + 3)
    for index in range(scope.random):
        model = random_model(3 + index % 4, scope.seed * 1_000_003 + index, zeros=(0, 4)[index % 2])
        yield model.target(())


def check_sampler(
    code: Callable[..., Any],
    *,
    arrays: str = "torch",
    logits: bool = True,
    dtype: str = "float64",
    processing: Processing | None = None,
    scope: Scope | None = None,
    name: str | None = None,
    case: Case | None = None,
    path: str | None = None,
) -> CheckReport:
    """Decide whether a sampler has the law it claims.

    `code(logits)` is given one row [V] (logits, or probabilities with ``logits=False``) and the options of `processing`
    that its signature takes, and returns one token id. Rows on which a cut is a matter of rounding are left out.
    `case` has no drafts; it and `path` as in `check_verifier`. Raises as `check_verifier` does.
    """
    scope, processing = scope or Scope(), processing or Processing()
    maker, options = Maker(arrays, logits, dtype), accepted(code, processing.options())
    check_call(code, "sampler", options)

    def covered(progress: Progress) -> str:
        words = [
            f"all rows of {between(2, scope.vocab, 'token')} with common denominator <= {scope.denominator + 3}",
            f"{count(scope.random, 'random row')} of 3 to 6 tokens (seed {scope.seed})",
            *(f"{option} {value:g}" for option, value in processing.options().items()),
        ]
        words += (
            [f"{count(progress.skipped, 'row')} left out on which a cut is a matter of rounding"]
            if progress.skipped
            else []
        )
        return "; ".join(words)

    way = Way(
        "sampler",
        covered,
        "larger vocabularies; rows on which a cut is a matter of rounding; differences below the threshold",
        scope.seconds,
        settings_of(arrays=arrays, logits=logits, dtype=dtype, usual_logits=True, **processing.options()),
        lambda each: processing.ambiguous(each.target[()]),
        case=case,
        path=path,
    )
    cases = (by_position([row], []) for row in sampler_rows(scope))
    return check(
        way, code, lambda door, built, each: SamplerTrial(door, built, each, maker, processing, options), cases, name
    )


def _one(returned: Any) -> int:
    if isinstance(returned, int) or (hasattr(returned, "item") and getattr(returned, "ndim", 0) == 0):
        return read_tokens([returned])[0][0]
    tokens, _ = read_tokens(returned)
    if len(tokens) != 1:
        raise Unreadable(f"{count(len(tokens), 'token')} returned, one asked for")
    return tokens[0]
