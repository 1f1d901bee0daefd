"""Plain text tables: the first column to the left, the others to the right."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table.

    >>> print("\\n".join(table(("rule", "rate"), [("rheo", "29/30"), ("rrsw", "1")])))
    rule   rate
    rheo  29/30
    rrsw      1
    """
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return ["  ".join(_cells(row, widths)).rstrip() for row in (head, *rows)]


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = zip(row, widths, strict=True)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
