"""Bars beside exact numbers: expected against found, or one value a row. The numbers carry the meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rheo_verify.report.html.markup import Inside, Markup, join, tag
from rheo_verify.report.html.numbers import number


@dataclass(frozen=True)
class Pair:
    """One row: what it is about, and two probabilities; they differ if they are further apart than `rounding`."""

    label: Markup
    expected: Any
    found: Any
    rounding: float = 0.0

    @property
    def differs(self) -> bool:
        """Whether the two are not equal, up to rounding."""
        return bool(abs(self.expected - self.found) > self.rounding)


def compared(
    pairs: Sequence[Pair],
    what: str,
    caption: Inside,
    names: tuple[str, str] = ("expected", "found"),
    mark: bool = True,
) -> Markup:
    """A table of pairs; bars are scaled to the largest probability in it. Rows that differ are marked, if wanted."""
    largest = max((max(pair.expected, pair.found) for pair in pairs), default=0)
    rows = [
        tag(
            "tr",
            tag("th", pair.label, scope="row"),
            tag("td", number(pair.expected), class_="num"),
            tag("td", number(pair.found), class_="num"),
            tag("td", _bar([("expected", pair.expected), ("found", pair.found)], largest), class_="bars"),
            tag("td", _difference(pair), class_="num"),
            class_="differs" if mark and pair.differs else None,
        )
        for pair in pairs
    ]
    heads = (what, *names, "", "difference")
    return _table(heads, rows, join(caption, " ", key(names)))


def key(names: tuple[str, str]) -> Markup:
    """Which bar is which."""
    marks = [
        tag("svg", tag("rect", class_=kind, width=22, height=9), class_="bar", width=22, height=9, aria_hidden="true")
        for kind in ("expected", "found")
    ]
    return tag("span", "Upper bar ", marks[0], f" {names[0]}, lower bar ", marks[1], f" {names[1]}.", class_="key")


def single(
    rows: Sequence[tuple[Markup | str, Any]], what: str, value: str, caption: Inside, largest: Any = None
) -> Markup:
    """A table with one bar a row, scaled to `largest` (the largest value unless given)."""
    return _single([(label, number(amount), amount) for label, amount in rows], what, value, caption, largest)


def single_floats(
    rows: Sequence[tuple[Markup | str, float]], what: str, value: str, caption: Inside, largest: float | None = None
) -> Markup:
    """The same for measured values, which have no exact form."""
    return _single([(label, f"{amount:.4f}", amount) for label, amount in rows], what, value, caption, largest)


def _single(rows: Sequence[tuple[Inside, str, Any]], what: str, value: str, caption: Inside, largest: Any) -> Markup:
    most = max((amount for _, _, amount in rows), default=0) if largest is None else largest
    lines = [
        tag(
            "tr",
            tag("th", label, scope="row"),
            tag("td", shown, class_="num"),
            tag("td", _bar([("expected", amount)], most), class_="bars"),
        )
        for label, shown, amount in rows
    ]
    return _table((what, value, ""), lines, caption)


def _difference(pair: Pair) -> Inside:
    if not pair.differs:
        return "0"
    more = pair.found > pair.expected
    return join("+" if more else "\u2212", number(abs(pair.found - pair.expected)))


def _bar(values: Sequence[tuple[str, Any]], largest: Any) -> Markup:
    bars = [
        tag("rect", class_=kind, width=_percent(value, largest), y=2 + 11 * place, height=9)
        for place, (kind, value) in enumerate(values)
    ]
    return tag("svg", *bars, class_="bar", width="100%", height=2 + 11 * len(values), aria_hidden="true")


def _percent(value: Any, largest: Any) -> str:
    if not largest or value <= 0:
        return "0"
    return f"{max(0.5, round(float(100 * value / largest), 2)):g}%"


def _table(heads: Sequence[str], rows: Sequence[Markup], caption: Inside) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") if name else tag("td") for name in heads))
    table = tag("table", tag("caption", tag("span", caption)), tag("thead", head), tag("tbody", *rows))
    return tag("div", table, class_="scroll")
