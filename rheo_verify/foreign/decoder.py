"""A whole decoding loop: ``generate(target, draft, prompt, n) -> n tokens``, checked on the joint law of the n tokens.

Rows depend on the context, so faults that need a second cycle, a second row of a batch, T != 1 or a cut are met.
"""

from __future__ import annotations

import inspect
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError, MisuseError, RheoVerifyError
from rheo_verify.foreign.answering import Answering, answering
from rheo_verify.foreign.arrays_in_out import Maker, Unreadable, read_tokens
from rheo_verify.foreign.cases import Case, by_position, random_case, rows_up_to
from rheo_verify.foreign.judging import Breach, Tally, findings, target_law
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.refusal import Refused
from rheo_verify.foreign.reports import CheckReport, Finding, threshold_for
from rheo_verify.foreign.shrinking import shrink
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.foreign.toy import ToyModel
from rheo_verify.models.model import Context
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.enumeration import Path, enumerate_paths
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import exact
from rheo_verify.probability.replay import replay


@dataclass(frozen=True)
class DecoderScope:
    """Small context-free cases on two tokens first, then `random` tables by context; `length` tokens are compared.

    `paths` bounds one case: a case with more is left out and counted in the report's scope. `seconds` as in `Scope`.
    """

    length: int = 3
    denominator: int = 3
    random: int = 20
    vocab: int = 3
    batch: int = 1
    seed: int = 0
    paths: int = 20_000
    seconds: float = 600.0

    @staticmethod
    def read(written: str, batch: int = 1, length: int | None = None) -> DecoderScope:
        """From ``random=40,vocab=3,…`` or ``quick``. Raises `InputError` RV106."""
        chosen: dict[str, Any] = {"batch": batch, "length": length or (2 if batch > 1 else 3)}
        types = {field.name: float if field.name == "seconds" else int for field in fields(DecoderScope)}
        for part in filter(None, ("random=6" if written == "quick" else written).split(",")):
            name, _, value = part.partition("=")
            if name not in types:
                raise InputError("RV106", f"a decoder's scope has no {name!r}; it has {', '.join(types)}")
            try:
                chosen[name] = types[name](value)
            except ValueError:
                raise InputError("RV106", f"scope: {name} cannot be {value!r}") from None
        return DecoderScope(**chosen)


@dataclass(frozen=True)
class DecoderSetting:
    """How the decoder is called: arrays, processing, batch, and the fixed first prompt token of each row."""

    maker: Maker
    processing: Processing
    length: int
    batch: int
    options: dict[str, Any]


def decoder_row(table: Any, depth: int, turn: int, vocab: int) -> Callable[[Context], Row]:
    """The row after a prompt token and some more; beyond the table's depth that of the first tokens; tokens turned."""

    def row(context: Context) -> Row:
        found: Row = table[tuple(context[1:])[:depth]] if len(context) > depth + 1 else table[tuple(context[1:])]
        return tuple(found[(token + turn) % vocab] for token in range(vocab))

    return row


class DecoderRun:
    """One decoder on one case."""

    def __init__(self, door: Answering, code: Rebuilder, case: Case, setting: DecoderSetting) -> None:
        self.door, self.code, self.case, self.setting = door, code, case, setting
        depth, vocab = case.drafts, case.vocab
        rows = [
            (decoder_row(case.target, depth, turn, vocab), decoder_row(case.draft, max(0, depth - 1), turn, vocab))
            for turn in range(setting.batch)
        ]
        self.rows = rows
        self.target = ToyModel(lambda c: rows[_batch_row(c, setting.batch)][0](c), setting.maker, vocab)
        self.draft = ToyModel(lambda c: rows[_batch_row(c, setting.batch)][1](c), setting.maker, vocab)

    def run(self, chance: Chance) -> tuple[tuple[int, ...] | None, tuple[Breach, ...]]:
        """One decoding: the n tokens, or the n tokens of each row of the batch one after another."""
        setting = self.setting
        prompts = [[turn] for turn in range(setting.batch)]
        given: Any = prompts if setting.batch > 1 else prompts[0]
        call = lambda: self.code.fresh()(self.target, self.draft, given, setting.length, **setting.options)  # noqa: E731
        try:
            returned = self.door.run(chance, call)
            if setting.batch > 1:
                whole: tuple[int, ...] = ()
                for row in range(setting.batch):
                    whole += self._cut(read_tokens(returned[row])[0])
                return whole, ()
            return self._cut(read_tokens(returned)[0]), ()
        except Unreadable as error:
            return None, (Breach("RV406", str(error)),)
        except RheoVerifyError as error:
            if isinstance(error, (Refused, MisuseError)) and error.code != "RV301":
                raise
            return None, (Breach("RV405", str(error)),)
        except Exception as error:  # the code under test may raise anything
            return None, (Breach("RV405", f"it raised {type(error).__name__}: {error}"),)

    def _cut(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        length = self.setting.length
        if len(tokens) < length:
            raise Unreadable(f"{len(tokens)} tokens were returned, {length} were asked for")
        wrong = [token for token in tokens[:length] if not 0 <= token < self.case.vocab]
        if wrong:
            raise Unreadable(f"token {wrong[0]} is not below the vocabulary size {self.case.vocab}")
        return tokens[:length]

    def judge(self, limit: int) -> tuple[list[Finding], int] | None:
        """The findings and the number of paths; None when there are more than `limit`."""
        tally, first = Tally(), None
        for path in enumerate_paths(self.run):
            tally.add(*path.result, path.probability, path.choices)
            first = first or path
            if tally.paths > limit:
                return None
        self._rerun(first)
        setting = self.setting
        expected: Law[tuple[int, ...]] = {(): exact(1)}
        for target, _ in self.rows:
            row = lambda c, target=target: setting.processing.apply(target((0, *c)))  # noqa: E731
            law = target_law(setting.length, row)
            expected = {(*a, *b): x * y for a, x in expected.items() for b, y in law.items()}
        threshold = threshold_for(self.door.dtypes)
        return findings(tally, expected, tally.law, threshold, self.case.text(), self.case.data()), tally.paths

    def _rerun(self, path: Path[Any] | None) -> None:
        if path is not None and replay(self.run, path.choices).result != path.result:
            raise MisuseError("RV404", "the same choices gave another result: there is randomness not answered here")


def _batch_row(context: Context, batch: int) -> int:
    return context[0] % batch if context and batch > 1 else 0


def decoder_cases(scope: DecoderScope) -> Iterator[Case]:
    """The cases of a scope, smallest first."""
    depth = scope.length - 1
    rows = rows_up_to(2, scope.denominator)
    pairs = [by_position([p] * (depth + 1), [q] * depth) for p, q in itertools.product(rows, repeat=2)]
    yield from sorted(pairs, key=Case.key)
    for index in range(scope.random):
        yield random_case(2 if index % 3 else scope.vocab, depth, scope.seed * 1_000_003 + index)


def check_decoder(
    code: Callable[..., Any],
    *,
    arrays: str = "torch",
    logits: bool = False,
    dtype: str = "float64",
    processing: Processing | None = None,
    scope: DecoderScope | None = None,
    name: str | None = None,
) -> CheckReport:
    """Decide whether a decoding loop is lossless over a scope.

    `code(target, draft, prompt, n)` is given two `ToyModel`s, a prompt of one token (or, with ``scope.batch > 1``, a
    list of such prompts) and returns n tokens (a list of n-token lists). The options set in `processing` are passed
    by name where the signature takes them; the target law is the processed one. Raises as `check_verifier` does.
    """
    scope, processing = scope or DecoderScope(), processing or Processing()
    if scope.length < 2:
        raise InputError("RV106", f"length {scope.length} must be at least 2: faults between cycles need it")
    setting = DecoderSetting(
        Maker(arrays, logits, dtype), processing, scope.length, scope.batch, accepted(code, processing.options())
    )
    started, done, paths, large, late = time.monotonic(), 0, 0, 0, False
    found: list[Finding] = []
    with answering(code) as door:
        rebuilder = Rebuilder(code)
        for case in decoder_cases(scope):
            if time.monotonic() - started > scope.seconds:
                late = True
                break
            if any(processing.ambiguous(row) for row in case.target.values()):
                continue
            judged = DecoderRun(door, rebuilder, case, setting).judge(scope.paths)
            if judged is None:
                large += 1
                continue
            done, paths = done + 1, paths + judged[1]
            if judged[0]:
                found = _shrink(door, rebuilder, setting, case, judged[0], scope.paths)
                break
        warnings = tuple((code_name, text) for text, code_name in door.warnings.items())
        threshold = threshold_for(door.dtypes)
    verdict = Verdict.REFUTED if found else Verdict.INCONCLUSIVE if late or not done else Verdict.VERIFIED
    return CheckReport(
        name or str(getattr(code, "__name__", type(code).__name__)),
        "decoder",
        verdict,
        _scope_text(scope, processing, done, large, late),
        done,
        paths,
        threshold,
        tuple(found),
        warnings,
        "longer outputs, other prompts and larger vocabularies; differences below the threshold; speed and acceptance",
    )


def accepted(code: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Those options that the signature of `code` takes."""
    target = code.__call__ if not inspect.isroutine(code) and not isinstance(code, type) else code  # type: ignore[operator]
    if isinstance(code, type):
        target = code.__call__
    parameters = inspect.signature(target).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return options
    return {name: value for name, value in options.items() if name in parameters}


def _scope_text(scope: DecoderScope, processing: Processing, done: int, large: int, late: bool) -> str:
    parts = [
        f"the joint law of {scope.length} tokens" + (f" in each of {scope.batch} rows" if scope.batch > 1 else ""),
        f"all context-free cases on 2 tokens with denominator <= {scope.denominator}",
        f"{scope.random} random tables by context (seed {scope.seed}, 2 or {scope.vocab} tokens)",
    ]
    parts += [f"{name} {value:g}" for name, value in processing.options().items()]
    parts += [f"{large} cases of more than {scope.paths} paths left out"] if large else []
    parts += [f"the time limit of {scope.seconds:g} s struck after {done} cases"] if late else []
    return "; ".join(parts)


def _shrink(
    door: Answering, code: Rebuilder, setting: DecoderSetting, case: Case, found: list[Finding], limit: int
) -> list[Finding]:
    wanted = found[0].code

    def fails(smaller: Case) -> list[Finding] | None:
        if smaller.drafts != case.drafts or any(setting.processing.ambiguous(row) for row in smaller.target.values()):
            return None
        try:
            judged = DecoderRun(door, code, smaller, setting).judge(limit)
        except RheoVerifyError:
            return None
        return judged[0] if judged and judged[0] and judged[0][0].code == wanted else None

    return shrink(case, found, fails, tries=80)
