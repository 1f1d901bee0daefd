"""What every text for a terminal shares: from which width on it is narrow, how colours are written, how lines wrap."""

from __future__ import annotations

import re
import textwrap

NARROW = 60
"""Columns below which labels stand above their words, and lines are fitted."""
COLOUR = re.compile(r"\033\[[\d;]*m")
"""One change of colour; it takes no column."""


def wrapped(words: str, width: int, first: str = "", then: str = "") -> list[str]:
    """Lines of at most `width` characters, but for words that are longer: a path or a command is there to be copied.

    first, then: what stands before the first line and before the others.

    >>> wrapped("python is /usr/bin/python3.11, on two cores", 12, then="  ")
    ['python is', '  /usr/bin/python3.11,', '  on two', '  cores']
    """
    return textwrap.wrap(
        words, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
