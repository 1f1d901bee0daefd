"""The smallest way in: ``verifier(target, draft, tokens) -> emitted tokens``, checked on all small cases.

The drafts are drawn here, exactly, from the draft rows; the verifier's own random calls are answered. What it emits,
extended by draws from the target, must have the target's law (SPEC 1.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rheo_verify.foreign.answering import Answering
from rheo_verify.foreign.arrays_in_out import Maker, read_tokens
from rheo_verify.foreign.cases import Case, every_case, random_case
from rheo_verify.foreign.checking import Outcome, Way, check, guarded, settings_of
from rheo_verify.foreign.judging import Breach, extended, row_of, target_law, verifier_breaches
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.signatures import check_call
from rheo_verify.foreign.state import Rebuilder
from rheo_verify.models.model import Context
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.laws import Law

_INPUTS = ("target", "draft", "tokens")


class VerifierTrial:
    """One verifier on one case: `run(chance)` is one run, with drafts of its own."""

    def __init__(self, door: Answering, code: Rebuilder, case: Case, maker: Maker, in_place: bool = False) -> None:
        self.door, self.code, self.case, self.maker, self.in_place = door, code, case, maker, in_place
        self.inputs: dict[tuple[int, ...], tuple[tuple[Any, Callable[[], Any]], ...]] = {}

    def run(self, chance: Chance) -> Outcome:
        """Draft, verify, and read what was emitted."""
        case = self.case
        tokens: tuple[int, ...] = ()
        for _ in range(case.drafts):
            tokens = (*tokens, chance.choose(case.draft[tokens]))
        originals = self._inputs(tokens)
        given = [copied() for _, copied in originals]

        def read(returned: Any) -> Outcome:
            emitted, count = read_tokens(returned)
            breaches = verifier_breaches(case, tokens, emitted, count)
            if not self.in_place:
                same = self.maker.same
                for place, now in enumerate(given):
                    if not same(now, originals[place][0]):
                        breaches.append(Breach("RV410", f"{_INPUTS[place]} was changed in place (drafts {tokens})"))
            return (None if breaches and breaches[0].code == "RV406" else emitted), tuple(breaches)

        return guarded(self.door, chance, lambda: self.code.fresh()(*given), read, f"drafts {tokens}: ")

    def _inputs(self, tokens: tuple[int, ...]) -> tuple[tuple[Any, Callable[[], Any]], ...]:
        """Target, draft and tokens, each with what copies it."""
        found = self.inputs.get(tokens)
        if found is None:
            case = self.case
            target = self.maker.rows([case.target[tokens[:i]] for i in range(case.drafts + 1)])
            draft = self.maker.rows([case.draft[tokens[:i]] for i in range(case.drafts)])
            arrays = (target, draft, self.maker.tokens(tokens))
            found = self.inputs[tokens] = tuple((array, self.maker.copier(array)) for array in arrays)
        return found

    def expected(self) -> Law[tuple[int, ...]]:
        """The target's law of n + 1 tokens."""
        return target_law(self.case.drafts + 1, row_of(self.case.target))

    def compared(self, law: Law[tuple[int, ...]]) -> Law[tuple[int, ...]]:
        """What was emitted, extended by draws from the target."""
        return extended(law, self.case.drafts + 1, row_of(self.case.target))

    def text(self) -> str:
        """The case in words."""
        return self.case.text()

    def data(self) -> dict[str, Any]:
        """The case as plain data."""
        return self.case.data()

    def target_at(self, context: Context) -> Row:
        """See `watching.Watched`."""
        return self.case.target[context]

    def drafts_at(self, context: Context) -> list[tuple[str, Row]]:
        """See `watching.Watched`."""
        return [(f"the draft row after ({', '.join(map(str, c))})", row) for c, row in self.case.draft.items()]


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
    path: str | None = None,
) -> CheckReport:
    """Decide whether a verifier is lossless over a scope.

    `code(target, draft, tokens)` is given target rows [n + 1, V], draft rows [n, V] and drafted tokens [n] (`arrays`:
    torch, numpy or list; probabilities, or their logarithms with `logits`) and returns the accepted prefix and one
    more token, optionally with the accepted count. A class is instantiated anew for each path. `in_place` allows it to
    write into its arguments. Stops at the first case that fails, in the order of `cases`; `case` runs that one alone,
    and walks through its path `path`, e.g. ``1.0``.
    Raises `Refused` RV402, RV403 where a random value has no exact answer, `MisuseError` RV404 where it escapes.
    """
    check_call(code, "verifier")
    scope = scope or Scope()
    maker = Maker(arrays, logits, dtype)
    way = Way(
        "verifier",
        lambda progress: scope.text(),
        "larger vocabularies and more drafts than stated; differences below the threshold; speed and acceptance",
        scope.seconds,
        settings_of(arrays=arrays, logits=logits, dtype=dtype, in_place=in_place),
        case=case,
        path=path,
    )
    return check(
        way, code, lambda door, built, each: VerifierTrial(door, built, each, maker, in_place), cases_of(scope), name
    )
