"""The smallest way in: ``verifier(target, draft, tokens) -> emitted tokens``, checked on all small cases.

The drafts are drawn here, exactly, from the draft rows; the verifier's own random calls are answered. What it emits,
extended by draws from the target, must have the target's law (SPEC 1.4).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError, MisuseError, RheoVerifyError
from rheo_verify.foreign.answering import Answering, answering
from rheo_verify.foreign.arrays_in_out import Maker, Unreadable, read_tokens
from rheo_verify.foreign.cases import Case, every_case, random_case
from rheo_verify.foreign.judging import Breach, Tally, extended, findings, row_of, target_law, verifier_breaches
from rheo_verify.foreign.refusal import Refused, user_line
from rheo_verify.foreign.reports import CheckReport, Finding, threshold_for
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.replay import ReplayChance, replay

Outcome = tuple[tuple[int, ...] | None, tuple[Breach, ...]]
_RERUN = 25


class VerifierCase:
    """One verifier on one case: `run(chance)` is one run, with drafts of its own."""

    def __init__(self, door: Answering, code: Rebuilder, case: Case, maker: Maker, in_place: bool = False) -> None:
        self.door, self.code, self.case, self.maker, self.in_place = door, code, case, maker, in_place
        self.inputs: dict[tuple[int, ...], tuple[Any, Any, Any]] = {}

    def run(self, chance: Chance) -> Outcome:
        """Draft, verify, and read what was emitted."""
        case = self.case
        tokens: tuple[int, ...] = ()
        for _ in range(case.drafts):
            tokens = (*tokens, chance.choose(case.draft[tokens]))
        originals = self._inputs(tokens)
        given = [self.maker.copy(array) for array in originals]
        try:
            returned = self.door.run(chance, lambda: self.code.fresh()(*given))
            emitted, count = read_tokens(returned)
        except Unreadable as error:
            return None, (Breach("RV406", str(error)),)
        except RheoVerifyError as error:
            if isinstance(error, (Refused, MisuseError)) and error.code != "RV301":
                raise
            return None, (Breach("RV405", f"drafts {tokens}: {error}"),)
        except Exception as error:  # the code under test may raise anything
            return None, (Breach("RV405", f"drafts {tokens}: it raised {type(error).__name__}: {error}"),)
        breaches = verifier_breaches(case, tokens, emitted, count)
        if not self.in_place:
            for name, now, before in zip(("target", "draft", "tokens"), given, originals, strict=True):
                if not self.maker.same(now, before):
                    breaches.append(Breach("RV410", f"{name} was changed in place (drafts {tokens})"))
        return (None if breaches and breaches[0].code == "RV406" else emitted), tuple(breaches)

    def _inputs(self, tokens: tuple[int, ...]) -> tuple[Any, Any, Any]:
        found = self.inputs.get(tokens)
        if found is None:
            case = self.case
            target = self.maker.rows([case.target[tokens[:i]] for i in range(case.drafts + 1)])
            draft = self.maker.rows([case.draft[tokens[:i]] for i in range(case.drafts)])
            found = self.inputs[tokens] = (target, draft, self.maker.tokens(tokens))
        return found


def judge(run: VerifierCase, rerun: bool) -> tuple[list[Finding], int]:
    """Enumerate one case: its findings, and how many paths it has. `rerun` runs one path a second time."""
    case, tally, last = run.case, Tally(), None
    for path in enumerate_paths(run.run):
        tally.add(*path.result, path.probability, path.choices)
        last = path
    if rerun and last is not None and replay(run.run, last.choices).result != last.result:
        raise MisuseError(
            "RV404", "the same choices gave another result: there is randomness that is not answered here"
        )
    row = row_of(case.target)
    length = case.drafts + 1
    found = extended(tally.law, length, row)
    threshold = threshold_for(run.door.dtypes)
    return findings(tally, target_law(length, row), found, threshold, case.text(), case.data()), tally.paths


def cases_of(scope: Scope) -> Iterator[Case]:
    """All cases of a scope: the exhaustive ones in order, then the random ones."""
    yield from every_case(2, 1, scope.denominator)
    if scope.drafts > 1:
        yield from every_case(2, 2, 2)
    for vocab in range(3, scope.vocab + 1):
        yield from every_case(vocab, 1, scope.denominator)
    for index in range(scope.random):
        vocabs, drafts = scope.random_vocab - 1, scope.drafts
        few = index % 8 == 7
        yield random_case(
            2 + (index // 8) % vocabs if few else scope.random_vocab,
            1 + index % drafts if few else min(drafts, 2 + (index % 5 == 4)),
            scope.seed * 1_000_003 + index,
        )


def check_verifier(
    code: Callable[..., Any],
    *,
    arrays: str = "torch",
    logits: bool = False,
    dtype: str = "float64",
    scope: Scope | None = None,
    in_place: bool = False,
    name: str | None = None,
    case: Case | None = None,
) -> CheckReport:
    """Decide whether a verifier is lossless over a scope.

    `code(target, draft, tokens)` is given target rows [n + 1, V], draft rows [n, V] and drafted tokens [n] (`arrays`:
    torch, numpy or list; probabilities, or their logarithms with `logits`) and returns the accepted prefix and one
    more token, optionally with the accepted count. A class is instantiated anew for each path. `in_place` allows it to
    write into its arguments. `case` runs that one alone. Stops at the first case that fails, in the order of `cases`.
    Raises `Refused` RV402, RV403 where a random value has no exact answer, `MisuseError` RV404 where it escapes.
    """
    scope = scope or Scope()
    maker = Maker(arrays, logits, dtype)
    started, done, paths, late = time.monotonic(), 0, 0, False
    found: list[Finding] = []
    with answering(code) as door:
        rebuilder = Rebuilder(code)
        for each in cases_of(scope) if case is None else [case]:
            if time.monotonic() - started > scope.seconds:
                late = True
                break
            case_findings, count = judge(VerifierCase(door, rebuilder, each, maker, in_place), rerun=done % _RERUN == 0)
            done, paths = done + 1, paths + count
            if case_findings:
                found = case_findings
                if case is None:
                    found = shrink_verifier(door, rebuilder, maker, in_place, each, case_findings)
                break
        warnings = tuple((code_name, text) for text, code_name in door.warnings.items())
        threshold = threshold_for(door.dtypes)
    verdict = Verdict.REFUTED if found else Verdict.INCONCLUSIVE if late else Verdict.VERIFIED
    covered = (scope.text() if case is None else "this one case") + (
        f"; the time limit of {scope.seconds:g} s struck after {done} cases" if late else ""
    )
    return CheckReport(
        name or str(getattr(code, "__name__", type(code).__name__)),
        "verifier",
        verdict,
        covered,
        done,
        paths,
        threshold,
        tuple(found),
        warnings,
        "larger vocabularies and more drafts than stated; differences below the threshold; speed and acceptance",
    )


def shrink_verifier(
    door: Answering, code: Rebuilder, maker: Maker, in_place: bool, case: Case, found: list[Finding]
) -> list[Finding]:
    """Make a failing case smaller while it fails with the same first code."""
    from rheo_verify.foreign.shrinking import shrink

    code_wanted = found[0].code

    def fails(smaller: Case) -> list[Finding] | None:
        try:
            now, _ = judge(VerifierCase(door, code, smaller, maker, in_place), rerun=False)
        except (RheoVerifyError, InputError):
            return None
        return now if now and now[0].code == code_wanted else None

    return shrink(case, found, fails)


def one_path(
    code: Callable[..., Any],
    case: Case,
    choices: Sequence[int],
    *,
    arrays: str,
    logits: bool = False,
    dtype: str = "float64",
) -> str:
    """One path of a verifier on one case, question by question. Raises `InputError` RV109 where it does not fit."""
    told: list[str] = []

    class Told(ReplayChance):
        def choose(self, weights: Sequence[Any]) -> int:
            index = super().choose(weights)
            mass = sum(weights)
            shown = ", ".join(f"{float(weight / mass):.6g}" for weight in weights)
            place = f"draft {len(told) + 1}" if len(told) < case.drafts else user_line()
            told.append(f"  {place}: {index} of ({shown})")
            return index

    with answering(code) as door:
        chance = Told(choices)
        outcome, breaches = VerifierCase(door, Rebuilder(code), case, Maker(arrays, logits, dtype)).run(chance)
    if chance.position != len(chance.choices):
        raise InputError("RV109", f"the path has {len(choices)} choices, but only {chance.position} were asked")
    lines = [case.text(), *told, f"emitted: {outcome}", f"probability of this path: {float(chance.probability):.9g}"]
    return "\n".join([*lines, *(f"{breach.code}: {breach.message}" for breach in breaches)]) + "\n"
