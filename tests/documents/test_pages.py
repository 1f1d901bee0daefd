"""The pages themselves: links with their anchors, one notation, pictures and examples that are current, every flag."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from rheo_verify.cli.main import COMMANDS, parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "proofs").rglob("*.md")),
]
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """Anchors of the headings, numbered where they repeat, and those written as HTML."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    seen: Counter[str] = Counter()
    found = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        name = slug(heading)
        found.add(name if not seen[name] else f"{name}-{seen[name]}")
        seen[name] += 1
    if page.name == "command-line.md":
        found |= set(COMMANDS)
    return found


def broken_links(page: Path, text: str) -> list[str]:
    """Links of a page that lead nowhere; no network is used."""
    wrong = []
    for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)", CODE.sub("", text)):
        place = (page.parent / target).resolve() if target else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            wrong.append(f"{page.name}: {target}{'#' * bool(anchor)}{anchor}")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_anchors(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_a_broken_link_is_found() -> None:
    page = DOCS / "index.md"
    text = "[a](nowhere.md) [b](index.md#nowhere) [c](#read) [d](index.md#install) `[e](no.md)` [f](https://x.org)"
    assert broken_links(page, text) == ["index.md: nowhere.md", "index.md: index.md#nowhere"]


def test_the_check_of_the_built_site_finds_what_is_broken(tmp_path: Path) -> None:
    check_site = load(DOCS / "check_site.py")
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="#x"></a><a href="b/c.html#y"></a><a href="https://x.org/z"></a><img src="no.svg">'
        '<a href="b/c.html#z"></a><a href="d.html"></a>'
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.html").write_text('<p id="y"><a href="../a.html#x"></a></p>')
    assert check_site.broken(tmp_path) == ["a.html: no.svg", "a.html: b/c.html#z", "a.html: d.html"]


def test_every_page_is_reached_from_the_index() -> None:
    """By the tables of contents, which the site's side bar is made of."""
    reached, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        for listed in re.findall(r"```\{toctree\}(.*?)```", page.read_text(), re.DOTALL):
            for entry in re.findall(r"^([\w./*-]+)$", listed, re.MULTILINE):
                todo += [it.resolve() for it in page.parent.glob(f"{entry}.md")]
                todo += [(page.parent / f"{entry}.md").resolve()] if ".." in entry else []
    assert set(DOCS.rglob("*.md")) == reached


def test_one_notation() -> None:
    """Prose writes q̂ and q̃; terminals, which may lack the marks, q-hat and q~, and code quotes them."""
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        prose = CODE.sub("", page.read_text())
        found = re.search(r"\b[pq]~|\b[pq]-(?:hat|tilde)|\bq\^", prose)
        assert found is None, f"{page.name}: {found and found[0]}"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"documents_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_are_current() -> None:
    pictures = load(DOCS / "pictures.py")
    drawn = pictures.drawn()
    assert set(drawn) == {path.stem for path in pictures.FOLDER.glob("*.svg")}
    for name, text in drawn.items():
        assert (pictures.FOLDER / f"{name}.svg").read_text() == text, "run python docs/pictures.py"
    page = (DOCS / "explanation" / "classes.md").read_text()
    assert all(f"pictures/{name}.svg" in page for name in drawn)


def test_pictures_show_what_is_said_of_them() -> None:
    """Of four trees in two classes the paper's proxy keeps the sampled slot in both, the ad-hoc one only for B."""
    pictures = load(DOCS / "pictures.py")
    model = pictures.load_model(pictures.find_model("table-1"))
    kept = {
        name: sorted(
            (model.name(node.token), str(sum(probability for _, probability in trees)))
            for tree, trees in pictures.grown(model, design).items()
            for node in tree
            if node.law is not None
        )
        for name, (design, _) in pictures.PICTURES.items()
    }
    assert kept == {"classes": [("B", "3/5"), ("C", "2/5")], "classes-ad-hoc": [("B", "3/5")]}


def test_the_transcript_is_current() -> None:
    folder = DOCS / "how-to"
    assert (folder / "transcript.jsonl").read_text() == load(folder / "transcript.py").lines()


def test_the_command_line_page_has_every_flag() -> None:
    page = load(DOCS / "generated.py").commands_page()
    subparsers = next(action for action in parser()._actions if action.dest == "command")
    for name, command in subparsers.choices.items():  # type: ignore[union-attr]
        section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        for action in command._actions:  # type: ignore[attr-defined]
            for flag in action.option_strings:
                assert flag in section, f"{name} {flag}"
        assert "exit codes:" in section, name


def test_the_api_pages_have_every_module() -> None:
    generated = load(DOCS / "generated.py")
    listed = {name for floor in generated.FLOORS for name in generated.modules(floor)}
    package = ROOT / "rheo_verify"
    for path in package.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if parts[1] not in ("cli", "__main__", "__init__") and path.stem not in generated.INSIDE:
            assert name in listed, name
    assert {path.stem for path in (DOCS / "reference" / "api").glob("*.md")} == {*generated.FLOORS, "index"}


def test_exit_codes_are_documented_for_every_command() -> None:
    page = (DOCS / "reference" / "exit-codes.md").read_text()
    for name in COMMANDS:
        assert re.search(rf"^\|.*`{name}[` ]", page, re.MULTILINE), name
