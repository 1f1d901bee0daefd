"""Reads a page strictly: every tag closed in order, no attribute twice; and collects what the tests ask about."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "br", "input", "link", "hr"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def all(self, name: str | None = None, **wanted: str) -> list[Element]:
        """Elements below, in order, of a name and with classes or attributes."""
        found = []
        for child in self.children:
            if (name is None or child.name == name) and all(child.has(key, value) for key, value in wanted.items()):
                found.append(child)
            found += child.all(name, **wanted)
        return found

    def has(self, key: str, value: str) -> bool:
        given = self.attributes.get(key.rstrip("_").replace("_", "-"), "")
        return value in given.split() if key == "class_" else given == value

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        element = Element(tag, {name: value or "" for name, value in attrs}, self.open[-1])
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, (self.open[-1].name, tag, self.getpos())
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.words.append(data)


def read(page: str | Path) -> Element:
    """The root of a page."""
    written = page.read_text("utf-8") if isinstance(page, Path) else page
    reader = Reader()
    reader.feed(written)
    reader.close()
    assert reader.open == [reader.root], [element.name for element in reader.open]
    return reader.root
