"""The paths of one case, question by question: what a counterexample looks like from inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.arrays_in_out import Maker
from rheo_verify.foreign.cases import Case
from rheo_verify.foreign.decoder import DecoderSetting, DecoderTrial
from rheo_verify.foreign.judging import Breach
from rheo_verify.foreign.refusal import user_line
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.foreign.verifier import VerifierTrial
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.enumeration import Path, enumerate_paths
from rheo_verify.probability.rationals import Rational, ratio, total

MOST_PATHS = 20_000


@dataclass(frozen=True)
class Question:
    """One random call: where it was asked, the probability of each answer, and the answer of this path."""

    place: str
    law: tuple[Rational, ...]
    answer: int


@dataclass(frozen=True)
class SeenPath:
    """One path: its questions, what was emitted (None if that could not be read), what it broke, its probability."""

    questions: tuple[Question, ...]
    emitted: tuple[int, ...] | None
    breaches: tuple[Breach, ...]
    probability: Rational
    choices: tuple[int, ...]


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


def verifier_paths(
    code: Callable[..., Any],
    case: Case,
    *,
    arrays: str = "torch",
    logits: bool = False,
    dtype: str = "float64",
    in_place: bool = False,
) -> tuple[SeenPath, ...]:
    """Every path of a verifier on one case (at most 20,000 of them), most probable first."""
    with answering(code) as door:
        run = VerifierTrial(door, Rebuilder(code), case, Maker(arrays, logits, dtype), in_place).run
        return _paths(run, case.drafts)


def decoder_paths(code: Callable[..., Any], case: Case, setting: DecoderSetting) -> tuple[SeenPath, ...]:
    """The same of a decoding loop; the code draws its own drafts."""
    with answering(code) as door:
        return _paths(DecoderTrial(door, Rebuilder(code), case, setting).run, 0)


def _seen(path: Path[Any]) -> SeenPath:
    questions, emitted, breaches = path.result
    return SeenPath(questions, emitted, breaches, path.probability, path.choices)


def _paths(run: Callable[[Chance], Any], drafts: int) -> tuple[SeenPath, ...]:
    def told(chance: Chance) -> Any:
        asked = _Asked(chance, drafts)
        emitted, breaches = run(asked)
        return tuple(asked.questions), emitted, breaches

    found = [_seen(path) for path in islice(enumerate_paths(told), MOST_PATHS)]
    return tuple(sorted(found, key=lambda path: (-path.probability, path.choices)))
