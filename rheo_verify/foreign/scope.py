"""How far a check goes: all small cases first, then random ones, until a limit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.foreign.cases import MOST_CONTEXTS
from rheo_verify.words import between, count


@dataclass(frozen=True)
class Scope:
    """All one-draft cases on up to `vocab` tokens with common denominator at most `denominator`; then `random` cases.

    Random cases have up to `drafts` drafts and up to `random_vocab` tokens, rows that depend on the context, zeros,
    ties and p = q. All two-draft cases on two tokens with denominator at most 2 are run as well, when `drafts` > 1.
    `seconds` is a limit on time: when it strikes, the verdict is INCONCLUSIVE at best.
    """

    vocab: int = 3
    denominator: int = 5
    drafts: int = 2
    random: int = 200
    random_vocab: int = 3
    seed: int = 0
    seconds: float = 600.0

    def __post_init__(self) -> None:
        check_ranges(self, _RANGES)
        if self.random_vocab**self.drafts > MOST_CONTEXTS:
            message = f"random cases of random_vocab={self.random_vocab}, drafts={self.drafts} are too large"
            raise InputError("RV108", f"{message} (at most {MOST_CONTEXTS:,} contexts)")

    @staticmethod
    def names() -> tuple[str, ...]:
        """What a scope can set."""
        return tuple(field.name for field in fields(Scope))

    @staticmethod
    def read(written: str, also: Collection[str] = ()) -> Scope:
        """From ``vocab=3,denominator=5,random=200``, or quick, small, wide. Raises `InputError` RV106.

        Names in `also` belong to another kind of scope and are passed over.
        """
        return _NAMED[written] if written in _NAMED else replace(Scope(), **read_fields(Scope, written, also))

    def text(self) -> str:
        """The scope in words, for reports."""
        parts = [
            f"all one-draft cases on {between(2, self.vocab, 'token')} with common denominator <= {self.denominator}"
            " (one fixed uneven bonus row)"
        ]
        if self.drafts > 1:
            parts.append("all two-draft cases on 2 tokens with denominator <= 2")
        if self.random:
            sizes = f"{between(1, self.drafts, 'draft')}, {between(2, self.random_vocab, 'token')}"
            parts.append(f"{count(self.random, 'random case')} (seed {self.seed}, {sizes}, rows by context)")
        return "; ".join(parts)


_RANGES = {
    "vocab": (2, 4),
    "denominator": (1, 12),
    "drafts": (1, 4),
    "random": (0, 10**6),
    "random_vocab": (2, 100),
}


def check_ranges(scope: Any, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Raises `InputError` RV106 unless each of these fields is in its range, and `seconds` a length of time."""
    wrong = [
        f"{name} in {low:,}…{high:,}, not {value}"
        for name, (low, high) in ranges.items()
        if not low <= (value := getattr(scope, name)) <= high
    ]
    if wrong:
        raise InputError("RV106", f"a scope needs {', and '.join(wrong)}")
    if not 0 <= scope.seconds < 10**9:
        raise InputError("RV106", f"a scope needs a number of seconds, 0 or more, not {scope.seconds:g}")


_NAMED = {
    "quick": Scope(vocab=3, denominator=3, random=30),
    "small": Scope(vocab=2, denominator=4, random=20),
    "wide": Scope(vocab=3, denominator=6, drafts=3, random=300, random_vocab=4),
}


def read_fields(kind: Any, written: str, also: Collection[str] = ()) -> dict[str, Any]:
    """``vocab=3,seconds=5`` as values for the fields of a dataclass. Raises `InputError` RV106."""
    types = {field.name: float if field.name == "seconds" else int for field in fields(kind)}
    chosen: dict[str, Any] = {}
    named: set[str] = set()
    for part in filter(None, written.split(",")):
        name, _, value = part.partition("=")
        if name in named:
            raise InputError("RV106", f"the scope says {name} twice: {written!r}")
        named.add(name)
        if name in also and name not in types:
            continue
        if name not in types:
            raise InputError("RV106", f"a scope has no {name!r}; it has {', '.join(types)}")
        try:
            chosen[name] = types[name](value)
        except ValueError:
            raise InputError("RV106", f"scope: {name} cannot be {value!r}") from None
    return chosen
