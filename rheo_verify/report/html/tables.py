"""Tables as markup: plain ones, and ones whose columns sort by a click or a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rheo_verify.report.html.markup import Inside, Markup, tag


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and the value that its column is sorted by (its text, if None)."""

    shown: Inside
    value: float | str | None = None
    number: bool = False
    title: str | None = None


def table(heads: Sequence[Inside], rows: Sequence[Sequence[Any]], caption: Inside, sortable: bool = False) -> Markup:
    """The first column heads its row. Cells are `Cell` or anything that `tag` takes."""
    head = [tag("th", tag("button", name, type="button") if sortable else name, scope="col") for name in heads]
    body = [tag("tr", *(_cell(cell, first=not place) for place, cell in enumerate(row))) for row in rows]
    whole = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_="sortable" if sortable else None,
    )
    return tag("div", whole, class_="scroll")


def _cell(cell: Any, first: bool) -> Markup:
    it = cell if isinstance(cell, Cell) else Cell(cell)
    kind = "num" if it.number else None
    if first:
        return tag("th", it.shown, scope="row", class_=kind, data_value=it.value)
    return tag("td", it.shown, class_=kind, data_value=it.value, title=it.title)
