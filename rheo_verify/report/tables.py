"""Plain text tables: the first column to the left, the others to the right, and none lost on a narrow terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rheo_verify.report.terminal import COLOUR, wrapped
from rheo_verify.report.text import Style

GAP = 2


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Style | None = None,
    *,
    left: Collection[str] = (),
    indent: int = 2,
    strong: bool = False,
) -> list[str]:
    """Lines of a table; where it is wider than `style.width`, two tables, or else a block of names and values a row.

    A row with fewer cells than the head ends in words that may run on. left: heads of columns, beside the first, that
    stand to the left. strong: the head is bold.

    >>> rows = [("rheo", "29/30", "9"), ("rrsw", "1", "12")]
    >>> print("\\n".join(table(("rule", "rate", "trees"), rows, indent=0)))
    rule   rate  trees
    rheo  29/30      9
    rrsw      1     12
    >>> print("\\n".join(table(("rule", "rate", "trees"), rows, Style(width=12), indent=0)))
    rule   rate
    rheo  29/30
    rrsw      1
    <BLANKLINE>
    rule  trees
    rheo      9
    rrsw     12
    >>> print("\\n".join(table(("rule", "accepted on average", "trees"), rows, Style(width=20), indent=0)))
    rule: rheo
      accepted on
        average: 29/30
      trees: 9
    rule: rrsw
      accepted on
        average: 1
      trees: 12
    """
    style = style or Style()
    known = [row if len(row) == len(head) else row[:-1] for row in (head, *rows)]
    widths = [max(_length(row[column]) for row in known if column < len(row)) for column in range(len(head))]
    groups = _groups(widths, style.width - indent)
    if groups is None:
        return [line for row in rows for line in block(head, row, style, indent)]
    lines = []
    for number, group in enumerate(groups):
        lines += [""] * bool(number)
        beside = [column > 0 and head[column] not in left for column in group]
        for row in (head, *rows):
            if len(row) < len(head) and number:
                continue
            words = [_padded(row[c], widths[c], right) for c, right in zip(group, beside, strict=True) if c < len(row)]
            if len(row) < len(head):
                words[-1] = row[-1]
            line = (" " * indent + (" " * GAP).join(words)).rstrip()
            lines.append(style.strong(line) if strong and row is head else line)
    return lines


def _groups(widths: Sequence[int], width: int) -> list[list[int]] | None:
    """The columns of each table that fits, the first column in all of them; None where it takes more than two."""
    groups = [[0]]
    for column in range(1, len(widths)):
        if sum(widths[c] + GAP for c in groups[-1]) + widths[column] > width:
            groups.append([0])
        groups[-1].append(column)
    fits = all(sum(widths[c] + GAP for c in group) - GAP <= width for group in groups)
    return groups if fits and len(groups) <= 2 else None


def block(head: Sequence[str], row: Sequence[str], style: Style, indent: int = 2) -> list[str]:
    """The cells of a row with their names: the first, and below it the others, as many in a line as have room."""
    named = [f"{name}: {cell}" for name, cell in zip(head[1:], row[1:], strict=False)]
    if len(row) < len(head):
        named[-1] = row[-1]
    lines = [""]
    for words in named:
        joined = f"{lines[-1]}{' ' * GAP}{words}" if lines[-1] else words
        if _length(joined) + indent + GAP <= style.width:
            lines[-1] = joined
        else:
            lines.append(words)
    below = [" " * (indent + GAP) + part for line in lines for part in _wrapped(line, style.width - indent - GAP)]
    return [*(" " * indent + part for part in _wrapped(f"{head[0]}: {row[0]}", style.width - indent)), *below]


def _wrapped(line: str, width: int) -> list[str]:
    if _length(line) <= width:
        return [line] if line else []
    return wrapped(line, max(12, width), then="  ")


def _length(cell: str) -> int:
    return len(COLOUR.sub("", cell))


def _padded(cell: str, width: int, right: bool) -> str:
    blank = " " * (width - _length(cell))
    return blank + cell if right else cell + blank
