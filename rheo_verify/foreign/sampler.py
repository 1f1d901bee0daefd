"""One draw: is it the law it claims? ``sampler(logits) -> token`` under temperature, top-k, top-p and min-p."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import MisuseError, RheoVerifyError
from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.arrays_in_out import Maker, Unreadable, read_tokens
from rheo_verify.foreign.decoder import accepted
from rheo_verify.foreign.judging import Breach, Tally, findings
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.refusal import Refused
from rheo_verify.foreign.reports import CheckReport, Finding, threshold_for
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import text
from rheo_verify.probability.replay import replay

from rheo_verify.foreign.cases import rows_up_to  # isort: skip


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
) -> CheckReport:
    """Decide whether a sampler has the law it claims.

    `code(logits)` is given one row [V] (logits, or probabilities with ``logits=False``) and the options of `processing`
    that its signature takes, and returns one token id. Rows on which a cut is a matter of rounding are left out.
    Raises as `check_verifier` does.
    """
    scope, processing = scope or Scope(), processing or Processing()
    maker, options = Maker(arrays, logits, dtype), accepted(code, processing.options())
    started, done, paths, skipped, late = time.monotonic(), 0, 0, 0, False
    found: list[Finding] = []
    with answering(code) as door:
        rebuilder = Rebuilder(code)
        for row in sampler_rows(scope):
            if processing.ambiguous(row):
                skipped += 1
                continue
            if time.monotonic() - started > scope.seconds:
                late = True
                break
            original = maker.rows(row)

            def run(chance: Chance, original: Any = original, row: Row = row) -> Any:
                given = maker.copy(original)
                try:
                    returned = door.run(chance, lambda: rebuilder.fresh()(given, **options))
                    token = _one(returned)
                except Unreadable as error:
                    return None, (Breach("RV406", str(error)),)
                except RheoVerifyError as error:
                    if isinstance(error, (Refused, MisuseError)) and error.code != "RV301":
                        raise
                    return None, (Breach("RV405", str(error)),)
                except Exception as error:  # the code under test may raise anything
                    return None, (Breach("RV405", f"it raised {type(error).__name__}: {error}"),)
                if not 0 <= token < len(row):
                    return None, (Breach("RV406", f"token {token} is not below the vocabulary size {len(row)}"),)
                changed = not maker.same(given, original)
                return (token,), (Breach("RV410", "the row was changed in place"),) if changed else ()

            tally, last = Tally(), None
            for path in enumerate_paths(run):
                outcome, breaches = path.result
                tally.add(outcome, breaches, path.probability, path.choices)
                last = path
            if last is not None and done % 10 == 0 and replay(run, last.choices).result != last.result:
                raise MisuseError(
                    "RV404", "the same choices gave another result: there is randomness not answered here"
                )
            done, paths = done + 1, paths + tally.paths
            expected: Law[tuple[int, ...]] = {(token,): p for token, p in enumerate(processing.apply(row)) if p}
            data = {"row": [text(p) for p in row]}
            case = f"row ({', '.join(data['row'])})"
            found = findings(tally, expected, tally.law, threshold_for(door.dtypes), case, data)
            if found:
                break
        warnings = tuple((code_name, remark) for remark, code_name in door.warnings.items())
        threshold = threshold_for(door.dtypes)
    verdict = Verdict.REFUTED if found else Verdict.INCONCLUSIVE if late or not done else Verdict.VERIFIED
    words = [
        f"all rows of 2 to {scope.vocab} tokens with common denominator <= {scope.denominator + 3}",
        f"{scope.random} random rows of 3 to 6 tokens (seed {scope.seed})",
        *(f"{option} {value:g}" for option, value in processing.options().items()),
        *([f"{skipped} rows left out on which a cut is a matter of rounding"] if skipped else []),
        *([f"the time limit of {scope.seconds:g} s struck after {done} rows"] if late else []),
    ]
    return CheckReport(
        name or str(getattr(code, "__name__", type(code).__name__)),
        "sampler",
        verdict,
        "; ".join(words),
        done,
        paths,
        threshold,
        tuple(found),
        warnings,
        "larger vocabularies; rows on which a cut is a matter of rounding; differences below the threshold",
    )


def _one(returned: Any) -> int:
    if isinstance(returned, int) or (hasattr(returned, "item") and getattr(returned, "ndim", 0) == 0):
        return read_tokens([returned])[0][0]
    tokens, _ = read_tokens(returned)
    if len(tokens) != 1:
        raise Unreadable(f"{len(tokens)} tokens were returned, one was asked for")
    return tokens[0]
