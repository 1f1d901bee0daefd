"""Code that cannot be seen into, with its coins as inputs: ``f(target, draft, tokens, uniforms) -> emitted tokens``.

Such code (a compiled kernel, CUDA included) is a deterministic function of its uniforms. Its breakpoints along each
coin are found by scanning a grid and bisecting to the last float between neighbours that differ; the boxes between
breakpoints are then weighed exactly. Boxes are probed inside: a probe that differs adds the breakpoint it reveals.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from rheo_verify.errors import InputError, LimitReached, MisuseError
from rheo_verify.foreign.arrays_in_out import Maker, Unreadable, at_once, read_tokens
from rheo_verify.foreign.cases import Case, check_case
from rheo_verify.foreign.checking import Way, report, search, settings_of
from rheo_verify.foreign.forms import exact_float
from rheo_verify.foreign.interrupts import stop_if_pressed, watching
from rheo_verify.foreign.judging import Breach, Tally, extended, findings, row_of, target_law, verifier_breaches
from rheo_verify.foreign.memory import check_memory
from rheo_verify.foreign.raising import Judged
from rheo_verify.foreign.refusal import let_pass, raised
from rheo_verify.foreign.reports import THRESHOLDS, CheckReport
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.signatures import check_call
from rheo_verify.foreign.texts import both
from rheo_verify.foreign.verifier import cases_of
from rheo_verify.probability.rationals import ONE, Rational
from rheo_verify.words import count

Outcome = tuple[tuple[int, ...] | None, tuple[Breach, ...]]
Point = tuple[float, ...]
Function = Callable[[Point], Outcome]
Cell = tuple[tuple[float, float], ...]


@watching()
def check_coins(
    code: Callable[..., Any],
    *,
    arrays: str = "torch",
    dtype: str = "float64",
    scope: Scope | None = None,
    coins: int | None = None,
    grid: int = 32,
    name: str | None = None,
    case: Case | None = None,
    path: str | None = None,
) -> CheckReport:
    """Decide whether a verifier that is given its coins is lossless.

    `code(target, draft, tokens, uniforms)`: as `check_verifier`, with uniforms [`coins`] in [0, 1) (one per draft and
    one for the last token, unless `coins` says otherwise). Breakpoints closer together than 1/`grid`, with equal
    outputs on either side, may be missed: the report says so. `case` and `path` as in `check_verifier`.
    """
    check_call(code, "coins")
    if case is not None:
        check_case(case, "coins")
    scope = scope or Scope(vocab=2, denominator=3, drafts=1, random=6)
    maker = Maker(arrays, False, dtype)
    threshold = THRESHOLDS["float32" if dtype == "float32" else "float64"]
    until = time.monotonic() + scope.seconds

    def judged(case: Case, done: int | None) -> Judged:
        tally = Tally()
        count = coins if coins is not None else case.drafts + 1
        for tokens, weight in drafts_of(case):
            for point, outcome, volume in boxes(one_point(code, case, tokens, maker, until), count, grid):
                tally.add(*outcome, weight * volume, coins_path(tokens, point))
        row, length = row_of(case.target), case.drafts + 1
        law = extended(tally.law, length, row)
        return findings(tally, target_law(length, row), law, threshold, case.text(), case.data()), tally.paths

    others: dict[str, Any] = {"coins": coins} if coins is not None else {}
    others |= {"grid": grid} if grid != 32 else {}
    way = Way(
        "coins",
        lambda progress: scope.text(),
        f"outputs that change and change back within 1/{grid} of one coin; larger vocabularies and more drafts",
        scope.seconds,
        settings_of(arrays=arrays, dtype=dtype, **others),
        tries=100,
        case=case,
        path=path,
    )
    progress, found = search(way, cases_of(scope), judged)
    answer = report(way, code, progress, found, threshold, (), name)
    if case is not None and path is not None:
        answer = replace(answer, walk=walk_coins(code, case, path, maker, coins or case.drafts + 1))
    return answer


def coins_path(tokens: Sequence[int], point: Point) -> str:
    """The name of a path: the drafts, then the coins, ``1.0@0.25_0.5``."""
    return f"{'.'.join(map(str, tokens))}@{'_'.join(map(repr, point))}"


def walk_coins(code: Callable[..., Any], case: Case, path: str, maker: Maker, coins: int) -> str:
    """Runs in words: the drafts, the coins, what was emitted. Raises `InputError` RV109 on a path that is none."""
    return "\n".join(_walk(code, case, each, maker, coins) for each in path.split("/"))


def _walk(code: Callable[..., Any], case: Case, path: str, maker: Maker, coins: int) -> str:
    drafts, _, given = path.partition("@")
    try:
        tokens, point = tuple(map(int, drafts.split("."))), tuple(map(float, given.split("_")))
    except ValueError:
        raise InputError("RV109", f"a path of coins is written like 1.0@0.25_0.5, not {path!r}") from None
    if (len(tokens), len(point)) != (case.drafts, coins):
        has = f"{count(len(tokens), 'draft')} and {count(len(point), 'coin')}"
        raise InputError("RV109", f"the path {path} has {has}; this case has {case.drafts} and {coins}")
    for place, token in enumerate(tokens):
        row = case.draft[tokens[:place]]
        possible = [each for each, p in enumerate(row) if p]
        if token not in possible:
            shown = ", ".join(map(str, possible))
            raise InputError("RV109", f"draft {place + 1} of the path is {token}; possible are {shown}")
    if not all(0 <= coin < 1 for coin in point):
        raise InputError("RV109", f"the coins of the path {path} do not all lie in [0, 1)")
    outcome, breaches = one_point(code, case, tokens, maker)(point)
    lines = [f"path {path}"]
    for place, token in enumerate(tokens):
        row = case.draft[tokens[:place]]
        lines.append(
            f"  draft {place + 1} is token {token}, drawn from ({', '.join(map(both, row))}): {both(row[token])}"
        )
    lines += [f"  coin {place}     {coin!r}" for place, coin in enumerate(point, start=1)]
    lines.append(f"  emitted    {'nothing that can be read' if outcome is None else ' '.join(map(str, outcome))}")
    return "\n".join([*lines, *(f"  {breach.code}: {breach.message}" for breach in breaches)]) + "\n"


def boxes(function: Function, coins: int, grid: int) -> Iterator[tuple[Point, Outcome, Rational]]:
    """A partition of the unit cube into boxes on which `function` is constant: a point in each, value and volume."""
    return ((middle(cell), outcome, volume) for cell, outcome, volume in cells(function, coins, grid))


def cells(function: Function, coins: int, grid: int) -> Iterator[tuple[Cell, Outcome, Rational]]:
    """The same boxes, each with its interval of every coin."""
    cuts: list[list[float]] = [[] for _ in range(coins)]
    pending = [tuple(0.5 for _ in range(coins))]
    seen: set[Point] = set()
    while pending:
        start = pending.pop()
        if start in seen:
            continue
        seen.add(start)
        for axis in range(coins):
            for cut in breakpoints(_line(function, start, axis), grid):
                if cut not in cuts[axis]:
                    cuts[axis] = sorted([*cuts[axis], cut])
                    pending += [_with(start, axis, value) for value in _middles(cuts[axis])]
        if not pending:
            pending += [point for point, off in _disagreements(function, cuts) if off and point not in seen]
    for cell in itertools.product(*(_cells(each) for each in cuts)):
        volume = ONE
        for low, high in cell:
            volume = volume * (exact_float(high) - exact_float(low))
        yield cell, function(middle(cell)), volume


def middle(cell: Cell) -> Point:
    """The point in the middle of a box."""
    return tuple((low + high) / 2 for low, high in cell)


def breakpoints(line: Callable[[float], Outcome], grid: int) -> list[float]:
    """The first float of every new value along one coin."""
    found: list[float] = []
    points = [index / grid for index in range(grid)] + [math.nextafter(1.0, 0.0)]
    for low, high in itertools.pairwise(points):
        position, before, last = low, line(low), line(high)
        while before != last:
            left, right = position, high
            while math.nextafter(left, right) < right:
                middle = (left + right) / 2
                left, right = (middle, right) if line(middle) == before else (left, middle)
            found.append(right)
            position, before = right, line(right)
    return found


def _line(function: Function, start: Point, axis: int) -> Callable[[float], Outcome]:
    return lambda value: function(_with(start, axis, value))


def _with(point: Point, axis: int, value: float) -> Point:
    return (*point[:axis], value, *point[axis + 1 :])


def _cells(cuts: Sequence[float]) -> list[tuple[float, float]]:
    edges = [0.0, *(cut for cut in cuts if 0 < cut < 1), 1.0]
    return list(itertools.pairwise(edges))


def _middles(cuts: Sequence[float]) -> list[float]:
    return [(low + high) / 2 for low, high in _cells(cuts)]


def _disagreements(function: Function, cuts: list[list[float]]) -> Iterator[tuple[Point, bool]]:
    """Probes off the middle of every box, and whether they differ from the middle."""
    for cell in itertools.product(*(_cells(each) for each in cuts)):
        inside = function(middle(cell))
        for share in (0.07, 0.9):
            point = tuple(low + share * (high - low) for low, high in cell)
            yield point, function(point) != inside


def drafts_of(case: Case) -> Iterator[tuple[tuple[int, ...], Rational]]:
    """Every draft of a case with its probability."""
    for tokens in itertools.product(range(case.vocab), repeat=case.drafts):
        weight = ONE
        for place, token in enumerate(tokens):
            weight = weight * case.draft[tokens[:place]][token]
        if weight:
            yield tokens, weight


def one_point(
    code: Callable[..., Any], case: Case, tokens: tuple[int, ...], maker: Maker, until: float = math.inf
) -> Function:
    """The code on one case and drafts, each point once. Raises `LimitReached` RV201 after `until`, `MisuseError`."""
    target = maker.rows([case.target[tokens[:i]] for i in range(case.drafts + 1)])
    draft = maker.rows([case.draft[tokens[:i]] for i in range(case.drafts)])
    drafted = maker.tokens(tokens)
    memory: dict[Point, Outcome] = {}

    def function(point: Point) -> Outcome:
        if point in memory:
            return memory[point]
        if time.monotonic() > until:
            raise LimitReached("RV201", "the time limit was reached")
        check_memory()
        for _ in range(2 if len(memory).bit_count() < 2 else 1):  # again after 0, 1, 2, 4, 8, … points
            answer = _run(code, case, tokens, [maker.copy(x) for x in (target, draft, drafted)], maker, point)
            if memory.setdefault(point, answer) != answer:
                raise MisuseError("RV404", "the same coins gave another result: there is randomness besides them")
        return memory[point]

    return function


def _run(
    code: Callable[..., Any], case: Case, tokens: tuple[int, ...], given: list[Any], maker: Maker, point: Point
) -> Outcome:
    try:
        emitted, count = read_tokens(at_once(code(*given, maker.numbers(point))))
    except Unreadable as error:
        return None, (Breach("RV406", str(error)),)
    except BaseException as error:  # the code under test may raise anything
        let_pass(error)
        return None, (Breach("RV405", f"drafts {tokens}: {raised(error)}"),)
    stop_if_pressed()
    breaches = tuple(verifier_breaches(case, tokens, emitted, count))
    return (None if breaches and breaches[0].code == "RV406" else emitted), breaches
