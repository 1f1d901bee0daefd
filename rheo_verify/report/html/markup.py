"""HTML and SVG by functions: whatever is not `Markup` already is escaped, so names from outside stay text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

VOID = frozenset({"meta", "br", "input", "link", "hr"})
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Inside: TypeAlias = "str | int | Iterable[Inside] | None"


def escape(value: Any) -> Markup:
    """Text as markup. Control characters, and those that turn the direction of writing, are shown as ``\\u202e``.

    >>> escape("<script>")
    '&lt;script&gt;'
    """
    if isinstance(value, Markup):
        return value
    visible = _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", str(value))
    return Markup(visible.translate(_ENTITIES))


def join(*inside: Inside) -> Markup:
    """Parts one after another; None and nothing are left out."""
    return Markup("".join(_flat(inside)))


def tag(element: str, /, *inside: Inside, **attributes: Any) -> Markup:
    """An element. ``class_`` and ``data_k`` are written ``class`` and ``data-k``; None and False are left out.

    >>> tag("p", "a < b", class_="note", hidden=True)
    '<p class="note" hidden="">a &lt; b</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{"" if value is True else escape(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if element in VOID:
        return Markup(f"<{element}{written}>")
    return Markup(f"<{element}{written}>{''.join(_flat(inside))}</{element}>")


def _flat(inside: Iterable[Inside]) -> Iterable[str]:
    for part in inside:
        if part is None:
            continue
        if isinstance(part, (str, int)):
            yield escape(part)
        else:
            yield from _flat(part)
