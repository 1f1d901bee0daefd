"""Questions about acceptance rates, written down: ``rrsw > rheo``, ``optimal - rheo >= 1/3 and not rrsw < topk``.

Grammar (parsed here, never evaluated as Python)::

    question   := all ("or" all)*            sum    := term (("+" | "-") term)*
    all        := one ("and" one)*           term   := factor ("*" factor | "/" factor)*
    one        := "not" one | comparison | "(" question ")"
    comparison := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)+
    factor     := "-" factor | number | rate | "(" sum ")"

Rates enter linearly (a rate times a number): so a question about integers stays within known bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.errors import InputError
from rheo_verify.probability.rationals import ONE, ZERO, Rational, exact, total

NAMES = {
    "rheo": "rheo",
    "rrsw": "rrsw",
    "topk": "top_k",
    "top_k": "top_k",
    "optimal": "optimal",
    "bound": "upper_bound",
    "upper_bound": "upper_bound",
    "single": "single_sampled",
    "top1": "single_top1",
}
COMPARE: dict[str, Callable[[Any], Any]] = {
    "<": lambda difference: difference < 0,
    "<=": lambda difference: difference <= 0,
    ">": lambda difference: difference > 0,
    ">=": lambda difference: difference >= 0,
    "==": lambda difference: difference == 0,
    "!=": lambda difference: difference != 0,
}
LONGEST = 500
DEEPEST = 30
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign><=|>=|==|!=|[-+*/()<>]))", re.ASCII
)
_WORDS = ("and", "or", "not")


@dataclass(frozen=True)
class Linear:
    """`constant + sum of coefficient * rate`; the rates by their names in `LayerRates`."""

    coefficients: Mapping[str, Rational]
    constant: Rational = ZERO

    def plus(self, other: Linear, times: Rational = ONE) -> Linear:
        """`self + times * other`."""
        names = {**self.coefficients, **other.coefficients}
        merged = {n: self.coefficients.get(n, ZERO) + times * other.coefficients.get(n, ZERO) for n in names}
        return Linear({n: c for n, c in merged.items() if c}, self.constant + times * other.constant)

    def value(self, rates: LayerRates) -> Rational:
        """The value for one layer's rates."""
        return total(c * getattr(rates, name) for name, c in self.coefficients.items()) + self.constant


@dataclass(frozen=True)
class Comparison:
    """`difference` against zero, by a sign of `COMPARE`."""

    difference: Linear
    sign: str


@dataclass(frozen=True)
class Combination:
    """`and`, `or` of several questions, `not` of one."""

    word: str
    parts: tuple[Question, ...]


Question: TypeAlias = Comparison | Combination


def holds(question: Question, decide: Callable[[Comparison], Any]) -> Any:
    """The answer to a question, given an answer (a bool, or an array of them) to each comparison in it."""
    if isinstance(question, Comparison):
        return decide(question)
    answers = [holds(part, decide) for part in question.parts]
    if question.word == "not":
        return answers[0] ^ True
    found = answers[0]
    for answer in answers[1:]:
        found = found & answer if question.word == "and" else found | answer
    return found


def holds_for(question: Question, rates: LayerRates) -> bool:
    """The answer for one layer's rational rates."""
    return bool(holds(question, lambda one: bool(COMPARE[one.sign](one.difference.value(rates)))))


def comparisons(question: Question) -> list[Comparison]:
    """All comparisons of a question."""
    if isinstance(question, Comparison):
        return [question]
    return [one for part in question.parts for one in comparisons(part)]


def read_question(written: str) -> Question:
    """Read a question. Raises `InputError` RV503, naming the place.

    >>> holds_for(read_question("rheo < 1/2 or 2*rheo == 1"), LayerRates(*[exact("1/2")] * 7))
    True
    """
    parser = _Parser(written)
    question = parser.question(0)
    parser.end()
    return question


def read_quantity(written: str) -> Linear:
    """Read a sum such as ``optimal - rheo``. Raises `InputError` RV503."""
    parser = _Parser(written)
    found = parser.sum(0)
    parser.end()
    return found


class _Parser:
    def __init__(self, written: str) -> None:
        if len(written) > LONGEST:
            raise InputError("RV503", f"an expression has at most {LONGEST} characters, this one {len(written)}")
        self.written = written
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while written[position:].strip():
            match = _TOKEN.match(written, position)
            if match is None:
                place = position + len(written[position:]) - len(written[position:].lstrip())
                raise self.fault(f"{written[place]!r} is not understood", place)
            self.tokens.append((match.lastgroup or "", match[match.lastgroup or 0], match.start(match.lastgroup or 0)))
            position = match.end()
        self.next = 0
        nested = accumulate({"(": 1, ")": -1}.get(token, 0) for _, token, _ in self.tokens)
        self.check(max(nested, default=0))

    def fault(self, what: str, place: int) -> InputError:
        where = f"at character {place + 1}" if place < len(self.written) else "at its end"
        return InputError("RV503", f"expression {self.written!r}: {what} {where}")

    def missing(self, wanted: str) -> InputError:
        if self.next == len(self.tokens):
            return self.fault(f"{wanted} is missing", len(self.written))
        _, token, place = self.tokens[self.next]
        return self.fault(f"{wanted} is expected, not {token!r},", place)

    def take(self, *wanted: str) -> str | None:
        if self.next < len(self.tokens) and self.tokens[self.next][1] in wanted:
            self.next += 1
            return self.tokens[self.next - 1][1]
        return None

    def end(self) -> None:
        if self.next < len(self.tokens):
            raise self.missing("the end")

    def question(self, depth: int) -> Question:
        parts = [self.all(depth)]
        while self.take("or"):
            parts.append(self.all(depth))
        return parts[0] if len(parts) == 1 else Combination("or", tuple(parts))

    def all(self, depth: int) -> Question:
        parts = [self.one(depth)]
        while self.take("and"):
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else Combination("and", tuple(parts))

    def one(self, depth: int) -> Question:
        self.check(depth)
        if self.take("not"):
            return Combination("not", (self.one(depth + 1),))
        start = self.next
        try:
            return self.comparison(depth)
        except InputError as fault:
            reached, self.next = self.next, start
            if not self.take("("):
                raise
            try:
                inner = self.question(depth + 1)
            except InputError:
                raise (fault if reached > self.next else self.missing("a comparison")) from None
        if not self.take(")"):
            raise self.missing("')'")
        return inner

    def comparison(self, depth: int) -> Question:
        sums, signs = [self.sum(depth)], []
        while sign := self.take(*COMPARE):
            signs.append(sign)
            sums.append(self.sum(depth))
        if not signs:
            raise self.missing("one of < <= > >= == !=")
        parts = [Comparison(a.plus(b, -ONE), sign) for a, b, sign in zip(sums[:-1], sums[1:], signs, strict=True)]
        return parts[0] if len(parts) == 1 else Combination("and", tuple(parts))

    def sum(self, depth: int) -> Linear:
        found = self.term(depth)
        while sign := self.take("+", "-"):
            found = found.plus(self.term(depth), ONE if sign == "+" else -ONE)
        return found

    def term(self, depth: int) -> Linear:
        found = self.factor(depth)
        while sign := self.take("*", "/"):
            place = self.tokens[self.next - 1][2]
            other = self.factor(depth)
            if sign == "/" and not other.coefficients and other.constant:
                found = Linear({}).plus(found, ONE / other.constant)
            elif sign == "*" and not other.coefficients:
                found = Linear({}).plus(found, other.constant)
            elif sign == "*" and not found.coefficients:
                found = Linear({}).plus(other, found.constant)
            else:
                what = "division is by numbers other than zero" if sign == "/" else "rates enter linearly: no products"
                raise self.fault(f"{what},", place)
        return found

    def factor(self, depth: int) -> Linear:
        self.check(depth)
        if self.take("-"):
            return Linear({}).plus(self.factor(depth + 1), -ONE)
        if self.take("("):
            inner = self.sum(depth + 1)
            if not self.take(")"):
                raise self.missing("')'")
            return inner
        if self.next == len(self.tokens):
            raise self.missing("a rate or a number")
        kind, token, place = self.tokens[self.next]
        if kind == "number":
            self.next += 1
            return Linear({}, exact(token))
        if kind != "name" or token in _WORDS:
            raise self.missing("a rate or a number")
        if token not in NAMES:
            raise self.fault(f"the rates are {', '.join(NAMES)}, not {token!r},", place)
        self.next += 1
        return Linear({NAMES[token]: ONE})

    def check(self, depth: int) -> None:
        if depth > DEEPEST:
            raise InputError("RV503", f"an expression is nested at most {DEEPEST} deep")
