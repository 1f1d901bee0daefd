"""Numbers in sentences: counts, ranges and sizes of memory, for messages and reports."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


def noun(number: Any, word: str, plural: str | None = None) -> str:
    """``token`` where the number, of any kind, is one; else ``tokens``, or `plural`."""
    return word if number == 1 else plural or word + "s"


def count(number: int, word: str, plural: str | None = None) -> str:
    """``1 class``, ``25 classes``.

    >>> count(1, "class", "classes"), count(2_500, "class", "classes")
    ('1 class', '2,500 classes')
    """
    return f"{number:,} {noun(number, word, plural)}"


def between(low: int, high: int, word: str) -> str:
    """A range, or the one number that it holds.

    >>> between(2, 3, "token"), between(2, 2, "token"), between(1, 1, "draft")
    ('2 to 3 tokens', '2 tokens', '1 draft')
    """
    return count(high, word) if low == high else f"{low:,} to {count(high, word)}"


def size(memory: int) -> str:
    """Bytes in the largest unit that states them exactly.

    >>> size(500 * 2**20), size(1024), size(1500), size(1)
    ('500 MiB', '1 KiB', '1,500 bytes', '1 byte')
    """
    units = [(2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")]
    found = next(((unit, name) for unit, name in units if memory and memory % unit == 0), None)
    return count(memory, "byte") if found is None else f"{memory // found[0]:,} {found[1]}"


def shortened(words: str, most: int = 60) -> str:
    """What was given, as a message quotes it: without its middle where it is long.

    >>> shortened("rheo"), shortened("abcdefghijklmnopqrstuvwxyz", 10)
    ('rheo', 'abcdef…xyz')
    """
    end = (most - 1) // 3
    return words if len(words) <= most else f"{words[: most - 1 - end]}…{words[-end:]}"


def meant(word: str, known: Iterable[str]) -> str:
    """``; did you mean enumerate?`` where something is near.

    >>> meant("draft", ["token", "drafts"])
    '; did you mean drafts?'
    """
    close = difflib.get_close_matches(word[:200], list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""
