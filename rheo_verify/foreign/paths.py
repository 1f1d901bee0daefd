"""The paths of one case, question by question: what a counterexample looks like from inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.arrays_in_out import Maker
from rheo_verify.foreign.cases import Case
from rheo_verify.foreign.checking import Trial
from rheo_verify.foreign.coins import cells, coins_path, drafts_of, middle, one_point
from rheo_verify.foreign.decoder import DecoderScope, DecoderSetting, DecoderTrial
from rheo_verify.foreign.forms import exact_float
from rheo_verify.foreign.judging import Breach, extended, row_of, target_law
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.refusal import user_line
from rheo_verify.foreign.sampler import SamplerTrial
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.second_call import SecondCall
from rheo_verify.foreign.signatures import accepted
from rheo_verify.foreign.state import Standing, rebuilding
from rheo_verify.foreign.verifier import VerifierTrial
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import Rational, ratio, total
from rheo_verify.probability.replay import choices_text

MOST_PATHS = 20_000


@dataclass(frozen=True)
class Question:
    """One random call: where it was asked, the probability of each answer, and the answer of this path.

    `said`: the answer in words, where it is no choice: the interval that a coin lies in, whose probability is law[0].
    """

    place: str
    law: tuple[Rational, ...]
    answer: int
    said: str = ""


@dataclass(frozen=True)
class SeenPath:
    """One path: its questions, what was emitted (None if that could not be read), what it broke, its probability.

    `name`: as replay strings have it.
    """

    questions: tuple[Question, ...]
    emitted: tuple[int, ...] | None
    breaches: tuple[Breach, ...]
    probability: Rational
    name: str


@dataclass(frozen=True)
class SeenCase:
    """A case from inside: its paths, most probable first, and the law of the output as it should be and as it is.

    Where there are more than `MOST_PATHS` paths, those are the first ones and `found` is theirs alone (`whole` False).
    """

    paths: tuple[SeenPath, ...]
    expected: Law[tuple[int, ...]]
    found: Law[tuple[int, ...]]
    whole: bool = True


class _Asked:
    """A `Chance` that remembers what it was asked."""

    def __init__(self, chance: Chance, drafts: int) -> None:
        self.chance, self.drafts = chance, drafts
        self.questions: list[Question] = []

    def choose(self, weights: Sequence[Any]) -> int:
        answer = self.chance.choose(weights)
        whole = total(ratio(weight, 1) for weight in weights)
        number = len(self.questions)
        place = f"draft {number + 1}" if number < self.drafts else user_line()
        self.questions.append(Question(place, tuple(ratio(weight, 1) / whole for weight in weights), answer))
        return answer

    def flip(self, yes: Any, no: Any) -> bool:
        return self.choose((yes, no)) == 0


def seen(
    code: Callable[..., Any],
    way: str,
    case: Case,
    *,
    arrays: str = "torch",
    dtype: str = "float64",
    logits: bool | None = None,
    in_place: bool = False,
    processing: Processing | None = None,
    scope: DecoderScope | Scope | None = None,
    coins: int | None = None,
    grid: int = 32,
    after: Sequence[int] | None = None,
) -> SeenCase:
    """One case of a verifier, sampler, decoder or coins with every path. Options: those of the check of this way in.

    after: the path of a call before, which the case is looked at after (not for coins).
    """
    maker = Maker(arrays, way == "sampler" if logits is None else logits, dtype)
    processing = processing or Processing()
    if way == "coins":
        return _coins(code, case, maker, case.drafts + 1 if coins is None else coins, grid)
    options = accepted(code, processing.options())
    with answering(code) as door, rebuilding(code) as rebuilder:
        built = rebuilder if after is None else Standing(rebuilder)
        trial: Trial
        if way == "verifier":
            trial = VerifierTrial(door, built, case, maker, in_place)
        elif way == "sampler":
            trial = SamplerTrial(door, built, case, maker, processing, options)
        else:
            shape = scope if isinstance(scope, DecoderScope) else DecoderScope()
            setting = DecoderSetting(maker, processing, shape.length, shape.batch, options, in_place)
            trial = DecoderTrial(door, built, case, setting)
        if after is not None and isinstance(built, Standing):
            trial = SecondCall(trial, built, after)
        return _seen(trial, case.drafts if way == "verifier" else 0)


def _seen(trial: Trial, drafts: int) -> SeenCase:
    def told(chance: Chance) -> Any:
        asked = _Asked(chance, drafts)
        emitted, breaches = trial.run(asked)
        return tuple(asked.questions), emitted, breaches

    every = enumerate_paths(told)
    found = []
    for it in islice(every, MOST_PATHS):
        questions, emitted, breaches = it.result
        found.append(SeenPath(questions, emitted, breaches, it.probability, choices_text(it.choices)))
    return _ordered(found, trial.expected(), trial.compared, next(every, None) is None)


def _coins(code: Callable[..., Any], case: Case, maker: Maker, coins: int, grid: int) -> SeenCase:
    """A path is a box of the coins in which the output is one."""
    found = []
    for tokens, weight in drafts_of(case):
        asked = [Question(f"draft {i + 1}", case.draft[tokens[:i]], token) for i, token in enumerate(tokens)]
        for cell, (emitted, breaches), volume in cells(one_point(code, case, tokens, maker), coins, grid):
            sides = [
                Question(f"coin {k}", (exact_float(high) - exact_float(low),), 0, f"in [{low:.6g}, {high:.6g})")
                for k, (low, high) in enumerate(cell, 1)
            ]
            name = coins_path(tokens, middle(cell))
            found.append(SeenPath((*asked, *sides), emitted, breaches, weight * volume, name))
    row, length = row_of(case.target), case.drafts + 1
    kept = sorted(found, key=lambda it: -it.probability)[:MOST_PATHS]
    return _ordered(kept, target_law(length, row), lambda law: extended(law, length, row), len(kept) == len(found))


def _ordered(
    paths: Sequence[SeenPath],
    expected: Law[tuple[int, ...]],
    compared: Callable[[Law[tuple[int, ...]]], Law[tuple[int, ...]]],
    whole: bool,
) -> SeenCase:
    law = collect((path.emitted, path.probability) for path in paths if path.emitted is not None)
    return SeenCase(tuple(sorted(paths, key=lambda it: -it.probability)), expected, compared(law), whole)
