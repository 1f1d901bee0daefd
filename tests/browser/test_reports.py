"""Pages in a real browser: clicks, keys, focus, dark, narrow, calm; nothing on the console, nothing loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rheo_verify.cli.main import run
from tests.browser.chromium import Page, browser, find_browser
from tests.html.test_pages import COMMANDS, ROOT

pytestmark = pytest.mark.browser
LARGE = ["--vocab", "12", "--k", "10", "--beam", "10", "--depth", "10", "--budget", "100", "--support", "2"]
PAGES = {**COMMANDS, "default": ["enumerate", "--vocab", "6", "--m", "1"], "large": ["enumerate", *LARGE]}
STEP = ".is-picked .steps > .is-now"


@pytest.fixture(scope="session")
def tab() -> Iterator[Page]:
    path = find_browser()
    if path is None:
        pytest.skip("no browser here: apt-get install chromium, or set CHROMIUM to one")
    with browser(path) as page:
        yield page


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    before = Path.cwd()
    os.chdir(ROOT)
    for name, command in PAGES.items():
        assert run([*command, "--html", str(folder / f"{name}.html")]) in (0, 1, 3)
    os.chdir(before)
    return {name: folder / f"{name}.html" for name in PAGES}


@pytest.fixture(autouse=True)
def quiet(tab: Page) -> Iterator[None]:
    """Whatever a test does, the console stays empty and nothing but the page itself is asked for."""
    tab.problems.clear()
    tab.requests.clear()
    yield
    assert tab.problems == []
    assert [url for url in tab.requests if not url.startswith("file:///")] == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [320, 360, 1280])
def test_no_page_scrolls_sideways(tab: Page, pages: dict[str, Path], name: str, width: int) -> None:
    tab.open(pages[name], width=width)
    assert tab.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(tab: Page, pages: dict[str, Path], name: str, dark: bool) -> None:
    """Every text has a contrast of 4.5 with what is behind it (WCAG AA)."""
    tab.open(pages[name], dark=dark)
    assert tab.run("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)"
    )
    assert tab.run(CONTRAST) == []


CONTRAST = """(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number)
      .map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const clear = (colour) => /^rgba.*, 0\\)$/.test(colour);
  const behind = (it) => {
    for (; it; it = it.parentElement) {
      const colour = getComputedStyle(it).backgroundColor;
      if (!clear(colour)) return colour;
    }
  };
  const bad = [];
  for (const it of document.querySelectorAll("body *:not(svg *):not(script)")) {
    const own = [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !it.checkVisibility() || it.matches(":disabled, .skip, .announced")) continue;
    const [a, b] = [light(getComputedStyle(it).color), light(behind(it))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push([it.outerHTML.slice(0, 80), (a + 0.05) / (b + 0.05)]);
  }
  const kinds = new Set();
  for (const it of document.querySelectorAll(".rv-tree .n:not(.pruned):not(.later) text")) {
    const box = it.parentElement.querySelector("rect, path");
    const key = getComputedStyle(it).fill + getComputedStyle(box).fill;
    if (kinds.has(key)) continue;
    kinds.add(key);
    const [a, b] = [light(getComputedStyle(it).fill), light(getComputedStyle(box).fill)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push([it.textContent, (a + 0.05) / (b + 0.05)]);
  }
  return bad;
})()"""


def test_the_page_of_a_lossy_design_opens_on_the_step_that_breaks(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["broken"])
    assert tab.text("h1").startswith("✗\nREFUTED")
    shown = tab.text(STEP)
    assert "2/4 kept" in shown
    assert "Here it breaks" in shown
    assert tab.run("document.querySelectorAll('.is-now').length") == 1
    assert tab.run("getComputedStyle(document.querySelector('.is-picked .blamed path')).strokeWidth") == "4px"


def test_arrow_keys_and_buttons_step_and_the_tree_follows(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["default"], calm=True)
    later = "document.querySelectorAll('.is-picked .rv-tree g.n.later:not(.pruned)').length"
    assert tab.text(STEP).startswith("1/10 kept")
    assert tab.run(later) == 5
    tab.key("ArrowRight")
    assert tab.text(STEP).startswith("2/10 kept")
    assert tab.run(later) == 4
    assert tab.text(".is-picked .announced").startswith("2/10 kept sampled, slot 2 after (empty): D")
    tab.click(".is-picked button[data-go=on]")
    assert tab.text(STEP).startswith("3/10")
    tab.key("ArrowLeft")
    assert tab.text(STEP).startswith("2/10")
    tab.click(".is-picked button[data-go=last]")
    assert tab.text(STEP).startswith("10/10 verification")
    assert tab.run(later) == 0
    assert tab.run("document.querySelector('.is-picked [data-go=on]').disabled") is True
    tab.key("ArrowRight")
    assert tab.text(STEP).startswith("10/10")
    tab.click(".is-picked button[data-go=first]")
    assert tab.text(STEP).startswith("1/10")
    assert tab.run("document.querySelector('.is-picked [data-go=back]').disabled") is True


def test_verification_marks_where_it_stands_and_what_it_tests(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["default"], calm=True)
    for _ in range(7):
        tab.key("ArrowRight")
    assert tab.text(STEP).startswith("8/10 verification\nat (empty), reached with probability 1")
    assert tab.run("[...document.querySelectorAll('.is-picked g.n.now .name')].map((it) => it.textContent)") == [
        "A",
        "D",
        "B",
    ]
    assert tab.run("document.querySelector('.is-picked g.n.at').dataset.n") == "0"


def test_the_slider_and_the_picker_obey_the_keyboard(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["default"])
    tab.run("document.querySelector('.is-picked input').focus()")
    tab.key("ArrowRight")
    assert tab.text(STEP).startswith("2/10")
    tab.run("document.getElementById('pick').focus()")
    tab.key("ArrowDown")
    assert tab.run("document.querySelector('.is-picked').id") == "class-2"
    assert tab.text(".is-picked h3").startswith("Class 2, of probability")
    assert tab.text(STEP).startswith("1/")


def test_tab_goes_everywhere_in_order_and_the_focus_is_seen(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["broken"])
    seen = []
    for _ in range(30):
        tab.key("Tab")
        told = tab.run(
            "(() => { const it = document.activeElement; const style = getComputedStyle(it);"
            " return [it.tagName + (it.dataset.go || ''), style.outlineStyle, parseFloat(style.outlineWidth)] })()"
        )
        if told[0] == "BODY":
            break
        assert told[1] == "solid", told
        assert told[2] >= 2, told
        seen.append(told[0])
    assert seen[:4] == ["A", "PRE", "BUTTON", "A"]
    place = seen.index("SELECT")
    assert seen[place : place + 5] == ["SELECT", "DIV", "BUTTONfirst", "BUTTONback", "BUTTONon"]
    assert "INPUT" in seen


def test_a_table_that_scrolls_sideways_can_be_reached_and_its_caption_stays(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["decoders"], width=360, calm=True)
    tab.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    table = "document.querySelector('.scroll:has(.sortable)')"
    assert tab.run(f"{table}.tabIndex") == 0
    assert tab.run(f"{table}.querySelector('caption > span').getBoundingClientRect().right") <= 360
    tab.open(pages["decoders"], width=1400, calm=True)
    tab.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    assert tab.run(f"{table}.hasAttribute('tabindex')") is False


def test_the_skip_link_leads_to_the_answer(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["sound"])
    tab.key("Tab")
    assert tab.run("document.activeElement.getBoundingClientRect().left") > 0
    tab.key("Enter")
    assert tab.run("document.activeElement.id") == "answer"


def test_a_table_sorts_by_click_and_by_key(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["decoders"])
    values = "[...document.querySelectorAll('.sortable tbody tr')].map((row) => Number(row.cells[8].dataset.value))"
    given = tab.run(values)
    assert {len(str(value)) for value in given} >= {1, 2, 3}  # by value, not letter by letter
    tab.click(".sortable th:nth-child(9) button")
    assert tab.run(values) == sorted(given)
    assert tab.run("document.querySelector('.sortable th:nth-child(9)').getAttribute('aria-sort')") == "ascending"
    tab.key("Enter")
    assert tab.run(values) == sorted(given, reverse=True)
    assert tab.run("document.querySelectorAll('[aria-sort]').length") == 1
    tab.click(".sortable th:first-child button")
    names = tab.run("[...document.querySelectorAll('.sortable tbody th')].map((cell) => cell.textContent)")
    assert names == sorted(names)
    assert len(names) == len(given)


def test_a_row_of_the_table_leads_to_its_detail(tab: Page, pages: dict[str, Path]) -> None:
    tab.open(pages["decoders"], calm=True)
    tab.click(".sortable a[href='#d-lenient']")
    top = tab.run(
        "new Promise((done) => setTimeout("
        "() => done(document.getElementById('d-lenient').getBoundingClientRect().top), 300))"
    )
    assert 0 <= top < 200


def test_without_motion_nothing_moves(tab: Page, pages: dict[str, Path]) -> None:
    motion = "getComputedStyle(document.querySelector('.rv-tree .n')).transitionDuration"
    tab.open(pages["broken"], calm=True)
    assert tab.run(motion) == "0s"
    tab.open(pages["broken"], calm=False)
    assert tab.run(motion) != "0s"


def test_without_scripts_everything_is_listed(tab: Page, pages: dict[str, Path]) -> None:
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(pages["broken"])
    finally:
        tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.run("[...document.querySelectorAll('.steps > li')].every((it) => it.checkVisibility())") is True
    assert tab.run("document.querySelector('.controls').checkVisibility()") is False


def test_the_page_of_a_large_tree_opens_in_under_a_second(tab: Page, pages: dict[str, Path]) -> None:
    took = []
    for _ in range(3):
        tab.open(pages["large"])
        took.append(tab.run("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    assert min(took) < 1000
    assert pages["large"].stat().st_size < 500_000


def test_a_picture_by_itself_opens(tab: Page, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    run(["enumerate", "--vocab", "3", "--svg", str(path)])
    tab.open(path, dark=True)
    assert tab.run("getComputedStyle(document.querySelector('.paper')).fill") == "rgb(20, 23, 27)"
    tab.screenshot(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
