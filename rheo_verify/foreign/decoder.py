"""A whole decoding loop: ``generate(target, draft, prompt, n) -> n tokens``, checked on the joint law of the n tokens.

Rows depend on the context, so faults that need a second cycle, a second row of a batch, T != 1 or a cut are met.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.foreign.answering import Answering
from rheo_verify.foreign.arrays_in_out import Maker, Unreadable, read_tokens
from rheo_verify.foreign.cases import Case, by_position, random_case, rows_up_to
from rheo_verify.foreign.checking import Outcome, Way, check, guarded, settings_of
from rheo_verify.foreign.judging import Breach, target_law
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.scope import check_ranges, read_fields
from rheo_verify.foreign.signatures import accepted, check_call
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.foreign.toy import ToyModel
from rheo_verify.foreign.watching import Watch
from rheo_verify.models.model import Context
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import about, exact
from rheo_verify.words import count


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

    def __post_init__(self) -> None:
        check_ranges(self, _RANGES)
        if (sequences := self.vocab ** (self.length * self.batch)) > MOST_SEQUENCES:
            message = f"{self.vocab} tokens, {self.length} at a time in {count(self.batch, 'row')}, make"
            raise InputError("RV108", f"{message} {about(sequences)} sequences, too many (at most {MOST_SEQUENCES:,})")

    @staticmethod
    def names() -> tuple[str, ...]:
        """What a decoder's scope can set."""
        return tuple(field.name for field in fields(DecoderScope))

    @staticmethod
    def read(written: str, batch: int = 1, length: int | None = None, also: Collection[str] = ()) -> DecoderScope:
        """From ``random=40,vocab=3,…``, or quick, small, wide. Raises `InputError` RV106. `also` as in `Scope.read`."""
        chosen = read_fields(DecoderScope, _NAMED.get(written, written), also)
        batch = chosen.get("batch", batch)
        usual = 2 if batch > 1 else 3
        return DecoderScope(**{"batch": batch, "length": usual if length is None else length, **chosen})


MOST_SEQUENCES = 1_000_000
_RANGES = {
    "length": (2, 16),
    "denominator": (1, 12),
    "random": (0, 10**6),
    "vocab": (2, 100),
    "batch": (1, 8),
    "paths": (1, 10**9),
}
_NAMED = {"quick": "random=6", "small": "random=3,denominator=2", "wide": "random=60,denominator=4"}


@dataclass(frozen=True)
class DecoderSetting:
    """How the decoder is called: arrays, processing, batch, and the fixed first prompt token of each row."""

    maker: Maker
    processing: Processing
    length: int
    batch: int
    options: dict[str, Any]
    in_place: bool = False


def decoder_row(table: Any, depth: int, turn: int, vocab: int) -> Callable[[Context], Row]:
    """The row after a prompt token and some more; beyond the table's depth that of the first tokens; tokens turned."""

    def row(context: Context) -> Row:
        found: Row = table[tuple(context[1:])[:depth]] if len(context) > depth + 1 else table[tuple(context[1:])]
        return tuple(found[(token + turn) % vocab] for token in range(vocab))

    return row


class DecoderTrial:
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
        self._runs = self._with_prompt = 0

    def run(self, chance: Chance) -> Outcome:
        """One decoding: the n tokens, or the n tokens of each row of the batch one after another."""
        setting = self.setting
        self._runs += 1
        prompts = [[turn] for turn in range(setting.batch)]
        given: Any = prompts if setting.batch > 1 else prompts[0]
        for name, model in (("target", self.target), ("draft", self.draft)):
            model.heard = chance.asked(name) if isinstance(chance, Watch) else None

        def read(returned: Any) -> Outcome:
            batch = setting.batch > 1
            parts = [returned[row] for row in range(setting.batch)] if batch else [returned]
            rows = [read_tokens(part)[0] for part in parts]
            whole = tuple(token for row in rows for token in self._cut(row))
            self._with_prompt += all(
                len(row) == len(prompt) + setting.length and list(row[: len(prompt)]) == prompt
                for row, prompt in zip(rows, prompts, strict=True)
            )
            changed = not setting.in_place and given != ([[turn] for turn in range(setting.batch)] if batch else [0])
            return whole, (Breach("RV410", f"the prompt was changed in place: it is {given}"),) if changed else ()

        call = lambda: self.code.fresh()(self.target, self.draft, given, setting.length, **setting.options)  # noqa: E731
        return guarded(self.door, chance, call, read)

    def _cut(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        length = self.setting.length
        if len(tokens) < length:
            raise Unreadable(f"{count(len(tokens), 'token')} returned, {length} asked for")
        wrong = [token for token in tokens[:length] if not 0 <= token < self.case.vocab]
        if wrong:
            raise Unreadable(f"token {wrong[0]} is not below the vocabulary size {self.case.vocab}")
        return tokens[:length]

    def misread(self) -> str:
        """What every run so far returned amiss; a single one may begin with the prompt's token by chance."""
        return "it returns the prompt, too; return the new tokens alone" if self._runs == self._with_prompt else ""

    def expected(self) -> Law[tuple[int, ...]]:
        """The joint law of the n tokens of every row of the batch."""
        setting = self.setting
        whole: Law[tuple[int, ...]] = {(): exact(1)}
        for target, _ in self.rows:
            row = lambda c, target=target: setting.processing.apply(target((0, *c)))  # noqa: E731
            law = target_law(setting.length, row)
            whole = {(*a, *b): x * y for a, x in whole.items() for b, y in law.items()}
        return whole

    def compared(self, law: Law[tuple[int, ...]]) -> Law[tuple[int, ...]]:
        """The law as it is."""
        return law

    def text(self) -> str:
        """The case in words."""
        return self.case.text()

    def data(self) -> dict[str, Any]:
        """The case as plain data."""
        return self.case.data()

    def target_at(self, context: Context) -> Row:
        """See `watching.Watched`; empty in a batch, where nothing says which row a draw is for."""
        return self.setting.processing.apply(self.target.row(context)) if self.setting.batch == 1 else ()

    def drafts_at(self, context: Context) -> list[tuple[str, Row]]:
        """See `watching.Watched`."""
        shown = "(" + ", ".join(map(str, context)) + ")"
        raw = self.draft.row(context)
        options = self.setting.processing.options()
        named = [(f"the {'unprocessed ' if options else ''}draft row after {shown}", raw)]
        if options:
            named += [(f"the processed draft row after {shown}", self.setting.processing.apply(raw))]
        for end in range(1, len(context)):
            earlier = "(" + ", ".join(map(str, context[:end])) + ")"
            named.append((f"the draft row after {earlier}", self.draft.row(context[:end])))
        return named


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
    in_place: bool = False,
    name: str | None = None,
    case: Case | None = None,
    path: str | None = None,
) -> CheckReport:
    """Decide whether a decoding loop is lossless over a scope.

    `code(target, draft, prompt, n)` is given two `ToyModel`s, a prompt of one token (or, with ``scope.batch > 1``, a
    list of such prompts) and returns n tokens (a list of n-token lists). The options set in `processing` are passed
    by name where the signature takes them; the target law is the processed one. `in_place` allows it to write into
    the prompt. `case`, `path` and what is raised: as in `check_verifier`.
    """
    scope, processing = scope or DecoderScope(), processing or Processing()
    options = accepted(code, processing.options())
    check_call(code, "decoder", options)
    setting = DecoderSetting(Maker(arrays, logits, dtype), processing, scope.length, scope.batch, options, in_place)
    usual = {"length": DecoderScope.read("", scope.batch).length, "batch": 1}
    asked = {"length": scope.length, "batch": scope.batch}
    way = Way(
        "decoder",
        lambda progress: _scope_text(scope, processing, progress.large),
        "longer outputs, other prompts and larger vocabularies; differences below the threshold; speed and acceptance",
        scope.seconds,
        settings_of(arrays=arrays, logits=logits, dtype=dtype, in_place=in_place, **processing.options())
        | {option: value for option, value in asked.items() if value != usual[option]},
        lambda each: any(processing.ambiguous(row) for row in each.target.values()),
        paths=scope.paths,
        tries=80,
        same_depth=True,
        case=case,
        path=path,
        misread=DecoderTrial.misread,
    )
    trial = lambda door, built, each: DecoderTrial(door, built, each, setting)  # noqa: E731
    return check(way, code, trial, decoder_cases(scope), name)


def _scope_text(scope: DecoderScope, processing: Processing, large: int) -> str:
    sizes = "2 tokens" if scope.vocab == 2 else f"2 or {scope.vocab} tokens"
    parts = [
        f"the joint law of {count(scope.length, 'token')}"
        + (f" in each of {scope.batch} rows" if scope.batch > 1 else ""),
        f"all context-free cases on 2 tokens with denominator <= {scope.denominator}",
        f"{count(scope.random, 'random table')} by context (seed {scope.seed}, {sizes})",
    ]
    parts += [f"{name} {value:g}" for name, value in processing.options().items()]
    parts += [f"{count(large, 'case')} of more than {count(scope.paths, 'path')} left out"] if large else []
    return "; ".join(parts)
