"""`python docs/check_site.py FOLDER`: every link of the built site that stays on it leads to a page and an anchor."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors and links of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect `id`, `href` and `src`."""
        given = dict(attrs)
        self.anchors.add(given.get("id") or "")
        self.links += [link for key in ("href", "src") if (link := given.get(key)) and tag != "link"]


def broken(folder: Path) -> list[str]:
    """Links that lead nowhere, as ``page: link``; no network is used."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not place.exists() or (anchor and place in pages and anchor not in pages[place].anchors):
                wrong.append(f"{path.relative_to(folder.resolve())}: {link}")
    return wrong


def main() -> int:
    """Print what is broken; 1 if anything is, or if there is no site."""
    folder = Path(sys.argv[1])
    wrong = broken(folder)
    pages = len(list(folder.rglob("*.html")))
    print("\n".join([*wrong, f"{pages} pages, {len(wrong)} broken links"]))
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
