"""The pages that `--html` writes: whole, self-contained, safe, accessible, repeatable, small; and right."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.cli.main import run
from tests.html.reading import Element, read

ROOT = Path(__file__).parent.parent.parent
BROKEN = ["enumerate", "--model", "table-1", "--depth", "1", "--budget", "2", "--proxy", "1/4"]
PRUNED = ["--model", "pruned-optimum", "--m", "0", "--k", "2", "--beam", "1", "--depth", "2", "--budget", "2"]
VERIFIER = "toy_models/sound/verifier_in_plain_python.py:verifier"
COMMANDS: dict[str, list[str]] = {
    "broken": BROKEN,
    "sound": ["enumerate", "--vocab", "3"],
    "rule": ["enumerate", *PRUNED, "--rule", "optimal-transport"],
    "limit": ["enumerate", "--vocab", "4", "--max-trees", "10"],
    "decoders": ["decoders", "--vocab", "2"],
    "decoder": ["decoders", "treespark-pruned", "--vocab", "3"],
    "lenient": ["decoders", "lenient", "--vocab", "2"],
    "layer": ["acceptance", "--vocab", "4"],
    "rows": ["acceptance", "--target", "1,0,2,1", "--draft", "1,1,1,1", "--sampling-draft", "1,2,1,1", "--layer-only"],
    "compare": ["acceptance", "compare", "--vocab", "3", "--depth", "1", "--budget", "3", "--temperatures", "1,1/2,0"],
    "check": ["check", VERIFIER, "--arrays", "list", "--scope", "denominator=2,random=3,drafts=1,vocab=2"],
}
Written = Callable[[str], Path]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Pages by name, each written once."""
    folder = tmp_path_factory.mktemp("pages")

    def page(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            assert run([*COMMANDS[name], "--html", str(path)]) in (0, 1, 3)
        return path

    return page


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_is_whole_and_its_names_lead_somewhere(written: Written, name: str) -> None:
    root = read(written(name))
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in root.all():
        for key in ("aria-labelledby", "for", "href"):
            for wanted in element.attributes.get(key, "").split():
                assert wanted.lstrip("#") in ids, (element.name, key, wanted)
    for landmark in ("header", "main", "footer"):
        assert len(root.all(landmark)) == 1, landmark
    assert [len(root.all("h1")), root.all("html")[0].attributes["lang"]] == [1, "en"]
    assert all(it.attributes.get("scope") in ("row", "col") for it in root.all("th"))
    assert all(it.all("caption") or it.attributes.get("aria-label") for it in root.all("table"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_needs_nothing_else_and_may_load_nothing(written: Written, name: str) -> None:
    page = written(name).read_text("utf-8")
    root = read(page)
    assert not [it for it in root.all() if it.name in ("link", "img", "iframe", "object") or "src" in it.attributes]
    assert not [key for it in root.all() for key in it.attributes if key.startswith("on") or key == "style"]
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/)", page)
    policy = root.all("meta", http_equiv="Content-Security-Policy")[0].attributes["content"]
    assert "default-src 'none'" in policy
    for inside in ("style", "script"):
        blocks = re.findall(rf"<{inside}>(.*?)</{inside}>", page, re.DOTALL)
        assert blocks
        for block in blocks:
            digest = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", COMMANDS)
def test_the_verdict_its_scope_and_the_command_come_first(written: Written, name: str) -> None:
    root = read(written(name))
    header = root.all("header")[0]
    if name not in ("layer", "rows", "compare"):
        assert re.match(r"[✓✗?] (VERIFIED|REFUTED|INCONCLUSIVE) ", header.all("h1")[0].text)
    command = " ".join(["python -m rheo_verify", *COMMANDS[name], "--html", str(written(name))])
    assert command in header.text
    if name != "limit":
        assert "Scope" in header.text


def test_a_lossy_design_opens_on_its_counterexample(written: Written) -> None:
    root = read(written("broken"))
    first = root.all("section")[0]
    assert first.all("h2")[0].text == "Who is to blame: the smallest counterexample"
    walk = first.all("article")[0]
    assert walk.all("h3")[0].text.startswith("The counterexample, of probability 0.6000 3/5")
    steps = walk.all("ol")[0].children
    start = int(walk.attributes["data-start"])
    assert [place for place, step in enumerate(steps) if step.has("class_", "blamed")] == [start] == [1]
    rows = [[cell.text for cell in row.children] for row in steps[start].all("tr")]
    assert rows == [
        ["token", "verification uses", "survives", "", "difference"],
        ["B", "0.6000 3/5", "1", "", "+0.4000 2/5"],
        ["C", "0.4000 2/5", "0", "", "−0.4000 2/5"],
    ]
    replay = next(it.text for it in walk.all("code"))
    assert run(replay.split()[3:]) == 0


def test_expected_against_found_has_the_numbers_of_json(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    root = read(written("broken"))
    capsys.readouterr()
    run([*BROKEN, "--json"])
    blame = json.loads(capsys.readouterr().out)["blame"]
    table = root.all("section", id="laws")[0].all("table")[0]
    shown = {row.children[0].text: [small.text for small in row.all("small")] for row in table.all("tr")[1:]}
    for it in blame["sequences"]:
        assert shown[" ".join("ABC"[token] for token in it["tokens"])][:2] == [it["expected"], it["found"]]
    assert len(shown) == len(blame["sequences"])
    widths = [float(bar.attributes["width"].rstrip("%")) for bar in table.all("rect") if "%" in bar.attributes["width"]]
    assert widths[:2] == [100, 73.33]


def test_a_rule_to_blame_is_shown_where_it_fails(written: Written) -> None:
    walk = read(written("rule")).all("article")[0]
    blamed = walk.all("li", class_="blamed")
    assert len(blamed) == 1
    assert "verification" in blamed[0].all("span", class_="phase")[0].text
    assert "Here it breaks" in blamed[0].text


def test_both_identities_of_a_sampled_token_are_in_the_picture(written: Written) -> None:
    picture = read(written("broken")).all("svg", class_="rv-tree")[0]
    sampled = picture.all("g", class_="sampled")
    assert [it.text for it in sampled[0].all("text")] == ["B", "#2", "builds as 1/4", "verified as 3/5"]
    assert sampled[0].has("class_", "blamed")
    assert [it.all("text")[1].text for it in picture.all("g", class_="pruned")] == ["pruned"]
    assert {it.attributes["class"].split()[1] for it in picture.all("g", class_="n")} == {
        "root",
        "lead",
        "sampled",
        "fill",
    }


def test_the_table_of_decoders_leads_to_each_and_sorts(written: Written) -> None:
    root = read(written("decoders"))
    table = root.all("table", class_="sortable")[0]
    assert all(head.all("button", type="button") for head in table.all("thead")[0].all("th"))
    names = [link.text for link in table.all("a")]
    assert "lenient" in names
    assert [article.all("h3")[0].text.split()[0] for article in root.all("article")] == names
    assert all(cell.attributes["data-value"] for cell in table.all("th") if cell.attributes["scope"] == "row")


def test_a_refuted_check_shows_the_paths_of_its_smallest_case(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text(
        "import random\n\ndef verify(target, draft, tokens):\n    return [random.randrange(len(target[0]))]\n"
    )
    page = tmp_path / "check.html"
    assert run(["check", f"{code}:verify", "--arrays", "list", "--scope", "quick", "--html", str(page)]) == 1
    root = read(page)
    assert root.all("section")[0].attributes["id"] == "counterexample"
    table = root.all("section", id="paths")[0].all("table")[0]
    rows = list(table.all("tbody")[0].children)
    assert sum(float(row.children[1].attributes["data-value"]) for row in rows) == pytest.approx(1)
    assert "RV407" in table.text
    assert "too rarely" in table.text
    assert "mine.py:4 (return [random.randrange(len(target[0]))]) : 0 of (0.5, 0.5)" in table.text


def test_a_refuted_decoder_shows_its_paths_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = tmp_path / "mine.py"
    code.write_text(
        "import random\n\ndef generate(target, draft, prompt, n):\n"
        "    return [random.choices((0, 1), weights=(1, 2))[0], *[1] * (n - 1)]\n"
    )
    page = tmp_path / "decoder.html"
    command = [
        "check",
        f"{code}:generate",
        "--as",
        "decoder",
        "--arrays",
        "list",
        "--length",
        "2",
        "--scope",
        "random=0",
    ]
    assert run([*command, "--json", "--html", str(page)]) == 1
    found = json.loads(capsys.readouterr().out)["findings"][0]
    rows = read(page).all("section", id="paths")[0].all("tbody")[0].children
    shown = {row.children[2].text: [small.text for small in row.all("small")] for row in rows}
    assert shown == {"0 1": ["1/3"], "1 1": ["2/3"]}
    assert {tuple(it["tokens"]): it["found"] for it in found["differences"]}[0, 1] == "1/3"


ATTACKS = ("<script>alert(1)</script>", '"onload="alert(1)', "</style><b>", "&lt;", "</title><svg onload=x>", "' x='")


def test_names_from_outside_stay_text(tmp_path: Path) -> None:
    vocab = len(ATTACKS)
    model = tmp_path / "<img src=x>&.json"
    rows = {"target": list(range(1, vocab + 1)), "draft": list(range(vocab, 0, -1))}
    model.write_text(json.dumps({"vocab": vocab, "tokens": ATTACKS, **rows}))
    pages = {
        "enumerate": ["enumerate", "--model", str(model), "--depth", "1", "--budget", "3", "--proxy", "1/9"],
        "decoders": ["decoders", "treespark-pruned", "--model", str(model), "--length", "1"],
        "acceptance": ["acceptance", "--model", str(model), "--layer-only"],
    }
    for name, command in pages.items():
        page = tmp_path / f"{name}.html"
        run([*command, "--html", str(page)])
        root = read(page)
        assert len(root.all("script")) == 2, name
        assert not root.all("img"), name
        assert not [key for it in root.all() for key in it.attributes if key.startswith("on")], name
        assert "<script>alert(1)</script>" in root.all("main")[0].text, name


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    script = """
from rheo_verify.cli.main import run
run(["enumerate", "--vocab", "4", "--budget", "3", "--html", "enumerate.html"])
run(["decoders", "spechub", "--vocab", "3", "--html", "decoders.html"])
"""
    pages = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=True)
        pages.append([(tmp_path / f"{name}.html").read_bytes() for name in ("enumerate", "decoders")])
    assert pages[0] == pages[1]


def test_a_tree_of_a_hundred_nodes_makes_a_small_page(tmp_path: Path) -> None:
    page = tmp_path / "large.html"
    size = ["--vocab", "12", "--k", "10", "--beam", "10", "--depth", "10", "--budget", "100", "--support", "2"]
    assert run(["enumerate", *size, "--html", str(page)]) == 0
    assert page.stat().st_size < 500_000
    assert len(read(page).all("article")[0].all("g", class_="n")) >= 100


def test_many_classes_are_capped_and_the_page_says_so(tmp_path: Path) -> None:
    page = tmp_path / "many.html"
    run(["enumerate", "--vocab", "7", "--k", "4", "--budget", "9", "--method", "classes", "--html", str(page)])
    assert page.stat().st_size < 500_000
    root = read(page)
    shown = root.all("article")
    note = root.all("p", class_="note")[0].text
    assert note.startswith(f"This page holds {len(shown)} of ")
    odds = [_probability(article) for article in shown]
    assert odds == sorted(odds, reverse=True)


def _probability(article: Element) -> float:
    found = re.search(r"probability ([\d.]+)", article.all("h3")[0].text)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("command", [COMMANDS[name] for name in ("sound", "decoders", "layer", "check")])
@pytest.mark.parametrize("place", ["no/such/folder/x.html", ".", "", "pyproject.toml/x.html"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    command: list[str], place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (
        ("checks.enumeration", "enumerate_design"),
        ("checks.decoders", "evaluate_all"),
        ("checks.temperature", "at_temperature"),
        ("foreign.verifier", "check_verifier"),
    ):
        monkeypatch.setattr(f"rheo_verify.{module}.{name}", _must_not_run)
    assert run([*command, "--html", place]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert f"{'RV122' if place else 'RV110'}: --html" in err


def _must_not_run(*_: Any, **__: Any) -> None:
    raise AssertionError("the work started")


def test_looking_whether_a_file_can_be_written_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, new = tmp_path / "kept.html", tmp_path / "new.html"
    kept.write_text("before")
    for path in (kept, new):
        assert run(["enumerate", "--vocab", "0", "--html", str(path)]) == 2
    assert kept.read_text() == "before"
    assert not new.exists()


def test_html_is_refused_where_there_is_no_single_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--planted", "toy_models/broken", "--html", "x.html"]) == 2
    assert "RV106" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["decoders", "spechub"], ["acceptance", "compare"], ["acceptance"]])
def test_a_limit_leaves_no_older_page_in_place(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("VERIFIED")
    size = ["--vocab", "9", "--time-limit", "1e-9"]
    assert run([*command, *size, "--html", str(page)]) == 3
    written = read(page).all("header")[0].text
    assert "INCONCLUSIVE" in written
    assert "the time limit was reached" in written
    assert "VERIFIED" not in written


FOREIGN = """
import math, random

def sample(row):
    return random.choices(range(len(row)), [math.exp(x) for x in row])[0]

def coins(target, draft, tokens, uniforms):
    return [int(uniforms[0] < 0.5)]
"""


@pytest.mark.parametrize(
    ("way", "flags", "hint", "inside"),
    [
        ("sampler", ["--temperature", "0.5"], "compare what is cut", "mine.py:5"),
        ("coins", [], "which coin each of them reads", "in [0, 0.5)"),
        ("coins", ["--strata", "4"], "which coin each of them reads", "has no paths"),
    ],
)
def test_every_way_in_shows_its_counterexample(
    way: str, flags: list[str], hint: str, inside: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, page = tmp_path / "mine.py", tmp_path / "page.html"
    code.write_text(FOREIGN)
    name = "sample" if way == "sampler" else "coins"
    command = ["check", f"{code}:{name}", "--as", way, "--arrays", "list", *flags]
    assert run([*command, "--json", "--html", str(page)]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    law = next(it for it in found if it["code"] == "RV401")
    root = read(page)
    [main] = root.all("main")
    assert [it["again"] in main.text for it in found] == [True] * len(found)
    assert hint in main.text
    assert inside in main.text
    for difference in law["differences"]:
        assert difference["expected"] in main.text
    if "--strata" in flags:
        assert "points evaluated" in root.text
        return
    rows = list(root.all("section", id="paths")[0].all("tbody")[0].children)
    assert sum(float(row.children[1].attributes["data-value"]) for row in rows) == pytest.approx(1)
    tables = root.all("section", id="counterexample" if way == "sampler" else "law")[0].all("table")
    tokens = [row for table in tables for row in table.all("tbody")[0].children if row.all("td")]
    assert len(tokens) >= 2
    assert any(row.attributes.get("class") == "differs" for row in tokens)
