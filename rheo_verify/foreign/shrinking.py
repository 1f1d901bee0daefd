"""Make a failing case smaller, step by step, in the order of `cases.Case.key`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from rheo_verify.foreign.cases import Case, by_position, rows_up_to
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row

Evidence = TypeVar("Evidence")


def shrink(case: Case, evidence: Evidence, fails: Callable[[Case], Evidence | None], tries: int = 600) -> Evidence:
    """The evidence of a smallest case found: no single step below makes it smaller. At most `tries` cases are run."""
    left, moved = tries, True
    while moved and left > 0:
        moved = False
        for smaller in steps(case):
            if smaller.key() >= case.key():
                continue
            left -= 1
            now = fails(smaller)
            if now is not None:
                case, evidence, moved = smaller, now, True
                break
            if left <= 0:
                break
    return evidence


def steps(case: Case) -> Iterator[Case]:
    """Smaller neighbours: fewer drafts, rows by position, simpler single rows."""
    if case.drafts > 1:
        for token in range(case.vocab):
            yield _below(case, token)
        contexts = [c for c in case.target if len(c) < case.drafts]
        yield Case(
            case.vocab,
            case.drafts - 1,
            {c: case.target[c] for c in contexts},
            {c: case.draft[c] for c in contexts if len(c) < case.drafts - 1},
        )
    if not case.by_position():
        for path in itertools.product(range(case.vocab), repeat=case.drafts):
            yield by_position(
                [case.target[path[:i]] for i in range(case.drafts + 1)],
                [case.draft[path[:i]] for i in range(case.drafts)],
            )
    simple = rows_up_to(case.vocab, 3 if case.vocab < 4 else 2)
    if case.by_position():
        for depth, row in itertools.product(range(case.drafts + 1), simple):
            yield replace(case, target=_level(case.target, depth, row))
            if depth < case.drafts:
                yield replace(case, draft=_level(case.draft, depth, row))
        return
    for context, row in itertools.product(case.target, simple):
        yield replace(case, target={**case.target, context: row})
        if context in case.draft:
            yield replace(case, draft={**case.draft, context: row})


def _level(table: object, depth: int, row: Row) -> dict[Context, Row]:
    return {c: row if len(c) == depth else old for c, old in table.items()}  # type: ignore[attr-defined]


def _below(case: Case, token: int) -> Case:
    def cut(table: object) -> dict[Context, Row]:
        return {c[1:]: row for c, row in table.items() if c[:1] == (token,)}  # type: ignore[attr-defined]

    return Case(case.vocab, case.drafts - 1, cut(case.target), cut(case.draft))
