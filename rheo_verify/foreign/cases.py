"""The instances a verifier is run on: small tables of target and draft rows, in one documented total order.

The order: vocabulary, then drafts, then the largest denominator, then the sum of denominators, then the number of
different rows, then the rows themselves, read context by context (target before draft), lexicographically.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.models.model import Context
from rheo_verify.models.random_tables import random_model
from rheo_verify.models.table_file import parse_json
from rheo_verify.probability.distributions import Row, one_hot
from rheo_verify.probability.rationals import ratio, text
from rheo_verify.words import count

MOST_CONTEXTS = 100_000
"""Of the longest length, in a case that is read."""


@dataclass(frozen=True, eq=False)
class Case:
    """Target rows at all contexts of up to `drafts` tokens, draft rows at those with fewer."""

    vocab: int
    drafts: int
    target: Mapping[Context, Row]
    draft: Mapping[Context, Row]

    def key(self) -> Any:
        """Smaller means simpler: the module's order."""
        rows = [*self.target.values(), *self.draft.values()]
        sizes = [_denominator(row) for row in rows]
        ordered = [(c, self.target[c], self.draft.get(c, ())) for c in sorted(self.target, key=lambda c: (len(c), c))]
        return (self.vocab, self.drafts, max(sizes), sum(sizes), len(set(rows)), ordered)

    def by_position(self) -> bool:
        """Whether rows depend on the position alone."""
        return all(
            len({rows[c] for c in rows if len(c) == depth}) <= 1
            for rows in (self.target, self.draft)
            for depth in range(self.drafts + 1)
        )

    def data(self) -> dict[str, Any]:
        """The case as plain data: rationals are strings; a list by position, or a table by context."""
        if self.by_position():
            first = (0,) * self.drafts
            return {
                "target": [_strings(self.target[first[:i]]) for i in range(self.drafts + 1)],
                "draft": [_strings(self.draft[first[:i]]) for i in range(self.drafts)],
            }
        return {
            "target": {_context(c): _strings(row) for c, row in self.target.items()},
            "draft": {_context(c): _strings(row) for c, row in self.draft.items()},
        }

    def text(self) -> str:
        """The case on a few lines."""
        data = self.data()
        lines = []
        for name in ("target", "draft"):
            rows = data[name].items() if isinstance(data[name], dict) else enumerate(data[name])
            place = "after" if isinstance(data[name], dict) else "position"
            lines += [f"{name:6} {place} {where}: ({', '.join(row)})" for where, row in rows]
        return "\n".join(lines)


def read_case(data: Mapping[str, Any]) -> Case:
    """The inverse of `Case.data`; a sampler's ``row`` is a case without drafts. Raises `InputError` RV101, 102, 104."""
    if not isinstance(data, Mapping) or set(data) not in ({"row"}, {"target", "draft"}):
        has = ", ".join(map(str, data)) or "nothing" if isinstance(data, Mapping) else "no such object"
        raise InputError(
            "RV104", f'a case is an object with "target" and "draft", of a sampler with "row"; this has {has}'
        )
    if "row" in data:
        return by_position([_row(data["row"], "row")], [])
    target, draft = data["target"], data["draft"]
    if isinstance(target, Mapping) and isinstance(draft, Mapping):
        tables = [
            {_read_context(c): _row(r, f'{name}["{c}"]') for c, r in rows.items()}
            for name, rows in (("target", target), ("draft", draft))
        ]
        if () not in tables[0]:
            raise InputError("RV104", 'the target has no row at the start, named ""')
        return _whole(Case(len(tables[0][()]), max(map(len, tables[0])), tables[0], tables[1]))
    if not isinstance(target, list) or not isinstance(draft, list):
        raise InputError("RV104", "target and draft are both lists of rows, by position, or both objects, by context")
    if len(target) != len(draft) + 1:
        raise InputError(
            "RV104",
            f"{count(len(target), 'target row')} and {count(len(draft), 'draft row')}; one more target row is needed",
        )
    rows = [
        [_row(row, f"{name}[{place}]") for place, row in enumerate(given)]
        for name, given in (("target", target), ("draft", draft))
    ]
    _few(len(rows[0][0]), len(rows[1]))
    for name, given in zip(("target", "draft"), rows, strict=True):
        for place, row in enumerate(given):
            if len(row) != len(rows[0][0]):
                raise InputError(
                    "RV104", f"{name}[{place}] has {count(len(row), 'token')}, target[0] has {len(rows[0][0])}"
                )
    return by_position(rows[0], rows[1])


def _row(row: Any, where: str) -> Row:
    from rheo_verify.probability.distributions import distribution

    if not isinstance(row, (list, tuple)) or not row:
        raise InputError("RV104", f'{where} is not a list of probabilities like ["1/2", "1/2"]')
    return distribution(row, where)


def _few(vocab: int, drafts: int) -> None:
    if vocab**drafts > MOST_CONTEXTS:
        raise InputError(
            "RV104", f"{count(drafts, 'draft')} on {count(vocab, 'token')} are more than {MOST_CONTEXTS:,} contexts"
        )


def _whole(case: Case) -> Case:
    """The case, if its rows are of one length and none is missing, and none too many."""
    _few(case.vocab, case.drafts)
    for name, rows, depth in (("target", case.target, case.drafts), ("draft", case.draft, case.drafts - 1)):
        contexts = [c for length in range(depth + 1) for c in itertools.product(range(case.vocab), repeat=length)]
        missing = [c for c in contexts if c not in rows]
        if missing:
            raise InputError("RV104", f"the {name} has no row after ({_context(missing[0])})")
        known = set(contexts)
        for context, row in rows.items():
            if context not in known:
                raise InputError("RV104", f"the {name} has a row after ({_context(context)}), which cannot come up")
            if len(row) != case.vocab:
                raise InputError("RV104", f"the {name} row after ({_context(context)}) has {count(len(row), 'token')}")
    return case


def check_case(case: Case, way: str) -> None:
    """Raises `InputError` RV104 unless a case is one for this way in."""
    if (way == "sampler") is not (case.drafts == 0):
        needs = 'one row, {"row": ["1/2", "1/2"]}' if way == "sampler" else "target rows and at least one draft row"
        raise InputError("RV104", f"a case of a {way} has {needs}")


def parse_case(written: str | bytes, source: str = "the case") -> Case:
    """A case from JSON. Raises `InputError` RV104, RV101, RV102."""
    content = written.encode(errors="surrogatepass") if isinstance(written, str) else written
    return read_case(parse_json(content, source, "RV104"))


def by_position(target: list[Row], draft: list[Row]) -> Case:
    """A case whose rows depend on the position alone: target rows [n + 1], draft rows [n]."""
    vocab, drafts = len(target[0]), len(draft)
    contexts = [c for depth in range(drafts + 1) for c in itertools.product(range(vocab), repeat=depth)]
    return Case(
        vocab, drafts, {c: target[len(c)] for c in contexts}, {c: draft[len(c)] for c in contexts if len(c) < drafts}
    )


def rows_up_to(vocab: int, denominator: int) -> list[Row]:
    """All distributions on `vocab` tokens with a common denominator of at most `denominator`, simplest first.

    >>> len(rows_up_to(3, 6))
    55
    """
    found: dict[Row, None] = {}
    for size in range(1, denominator + 1):
        for weights in itertools.product(range(size + 1), repeat=vocab - 1):
            if sum(weights) <= size:
                row = tuple(ratio(weight, size) for weight in (*weights, size - sum(weights)))
                found.setdefault(row)
    return list(found)


def uneven_row(vocab: int) -> Row:
    """The fixed bonus row: weights 1, 2, …, V."""
    return tuple(ratio(weight, vocab * (vocab + 1) // 2) for weight in range(1, vocab + 1))


def every_case(vocab: int, drafts: int, denominator: int) -> Iterator[Case]:
    """All cases by position, in order; with one draft the bonus row is `uneven_row`, else it varies too."""
    rows = rows_up_to(vocab, denominator)
    bonus = [uneven_row(vocab)] if drafts == 1 else rows
    slots = itertools.product(rows, repeat=2 * drafts)
    cases = [by_position([*choice[:drafts], last], list(choice[drafts:])) for choice in slots for last in bonus]
    return iter(sorted(cases, key=Case.key))


_KINDS = (
    {"largest": 9},
    {"largest": 9, "zeros": 5},
    {"largest": 2, "zeros": 2},
    {"largest": 5},
    {"largest": 9, "zeros": 12},
)


def random_case(vocab: int, drafts: int, seed: int) -> Case:
    """A case with rows by context: in turn plain ones, zeros, ties, p = q, one-hot, nearly one-hot."""
    kind: dict[str, Any] = _KINDS[seed % len(_KINDS)]
    model = random_model(vocab, seed, **kind)
    contexts = [c for depth in range(drafts + 1) for c in itertools.product(range(vocab), repeat=depth)]
    target = {c: model.target(c) for c in contexts}
    draft = {c: model.draft(c) for c in contexts if len(c) < drafts}
    if seed % 7 == 3:
        draft[()] = target[()]
    if seed % 11 == 5:
        draft[()] = one_hot(seed % vocab, vocab)
    if seed % 13 == 6:
        target[()] = one_hot(seed % vocab, vocab)
    if seed % 17 == 8:
        target[()], draft[()] = _nearly_one_hot(seed % vocab, vocab), one_hot(seed % vocab, vocab)
    return Case(vocab, drafts, target, draft)


def _nearly_one_hot(token: int, vocab: int) -> Row:
    """All but one part in 4,096 on one token: where shortcuts and floors are taken."""
    weights = [4096 - (vocab - 1) if index == token else 1 for index in range(vocab)]
    return tuple(ratio(weight, 4096) for weight in weights)


def _denominator(row: Row) -> int:
    return math.lcm(*(int(value.denominator) for value in row))


def _strings(row: Row) -> list[str]:
    return [text(value) for value in row]


def _context(context: Context) -> str:
    return " ".join(map(str, context))


def _read_context(written: Any) -> Context:
    parts = str(written).split()
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        raise InputError("RV104", f'a context is written like "0 1", not {json.dumps(str(written))}')
    return tuple(map(int, parts))
