"""Trees as pictures, classes as walks, bars, and what notebooks show."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.checks.acceptance import Layer, layer_at, layer_rates
from rheo_verify.checks.class_walks import class_walks, counterexample
from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.checks.decoders import evaluate
from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.checks.per_cycle import compare_cycles
from rheo_verify.checks.verdict import Verdict
from rheo_verify.checks.walkthrough import walk_through, walkthrough_of
from rheo_verify.cli.main import run
from rheo_verify.decoders.registry import entry
from rheo_verify.drafting.build_then_prune import build_then_prune
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Node
from rheo_verify.foreign.cases import by_position
from rheo_verify.foreign.judging import extended, row_of
from rheo_verify.foreign.paths import seen
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.models.model import Model, context_free, token_names
from rheo_verify.models.random_tables import random_model
from rheo_verify.models.shipped import find_model
from rheo_verify.models.table_file import load_model, model_from_data
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.rationals import ONE, exact, text
from rheo_verify.probability.replay import replay
from rheo_verify.report.html.layout import ACROSS, HEIGHT, WIDTH, lay_out
from rheo_verify.report.html.markup import escape, tag
from rheo_verify.report.html.notebook import Shown
from rheo_verify.report.html.numbers import number
from rheo_verify.report.html.stepper import walk_section
from rheo_verify.report.html.tree_svg import Picture, inline, stand_alone
from rheo_verify.verification.rules import layer_rule
from tests.html.reading import read
from tests.instances import designs, models

SVG = "{http://www.w3.org/2000/svg}"
BROKEN = TreeDesign(lead=1, pool=3, depth=1, budget=2, proxy=exact("1/4"))


def broken() -> Any:
    return enumerate_design(load_model(find_model("table-1")), BROKEN, layer_rule("rheo"))


@st.composite
def trees(draw: Any) -> list[Node]:
    """Nodes with their parents, in no special order."""
    nodes, places = [], [()]
    for _ in range(draw(st.integers(0, 14))):
        above = draw(st.sampled_from(places))
        slots = (*above, draw(st.integers(1, 4)))
        if slots not in places:
            places.append(slots)
            nodes.append(Node(slots, slots, "lead", ONE))
    return nodes


@given(trees())
def test_boxes_do_not_overlap_and_children_stand_right_of_their_parent(nodes: list[Node]) -> None:
    layout = lay_out(nodes)
    assert set(layout.places) == {(), *(node.slots for node in nodes)}
    boxes = list(layout.places.values())
    for index, (x, y) in enumerate(boxes):
        assert 0 <= x <= layout.width
        assert 0 <= y <= y + HEIGHT <= layout.height
        for other_x, other_y in boxes[index + 1 :]:
            assert x != other_x or abs(y - other_y) >= HEIGHT
    for node in nodes:
        x, above = layout.places[node.slots][0], layout.places[node.slots[:-1]][0]
        assert x >= above + ACROSS + (WIDTH if len(node.slots) > 1 else 0)


@given(st.text())
def test_whatever_a_name_is_the_markup_stays_well_formed(name: str) -> None:
    model = Model(1, *[lambda _: (ONE,)] * 3, (name,), name)
    node = Node((1,), (0,), "sampled", ONE, (ONE,))
    written = stand_alone(Picture(model, (node,), title=name), name)
    assert ElementTree.fromstring(written.encode()).tag == f"{SVG}svg"
    assert read(tag("p", name, title=name)).all("p")[0].attributes["title"] == _as_shown(name)
    assert "\u202e" not in written


def _as_shown(name: str) -> str:
    return read(f"<p>{escape(name)}</p>").all("p")[0].words[0] if escape(name) else ""


def test_what_cannot_be_seen_is_written_out() -> None:
    assert escape("a\u202eb\x00\ud800") == "a\\u202eb\\u0000\\ud800"


@settings(max_examples=25)
@given(st.data())
def test_every_class_is_told_as_it_is(data: Any) -> None:
    model = data.draw(models())
    design = data.draw(designs(model.vocab, proxy=data.draw(st.sampled_from(["rheo", "raw"]))))
    result = enumerate_design(model, design, layer_rule("rheo"))
    told = list(class_walks(result))
    assert {each.walk.tree: each.probability for each in told} == result.classes()
    assert len(told) == len(result.classes())
    for each in told:
        assert each.along == tuple(sorted(each.along, reverse=True))
        assert not each.along or each.along[-1] == each.probability
        assert not {node.slots for node in each.walk.tree} & {node.slots for node in each.walk.pruned}
        by_itself = walkthrough_of(model, design, result.rule, each.walk.tree)
        assert by_itself.layers == each.walk.layers
        assert set(by_itself.pools) <= {*each.walk.pools, *((t, p, None) for t, p, _ in each.walk.pools)}
        if each.replay is not None:
            kind, _, choices = each.replay.partition(":")
            numbers = [] if choices == "-" else [int(part) for part in choices.split(".")]
            again = walk_through(model, design, result.rule, kind == "class", numbers)
            assert again.tree == each.walk.tree
            if kind == "tree":
                path = replay(lambda chance: tuple(build_then_prune(chance, model, (), design)), numbers)
                assert path.result == each.walk.tree
    if result.verdict is Verdict.REFUTED and told[0].fault is not None:
        assert told[0].blamed in {node.slots for node in told[0].walk.tree}
        assert told[0].fault == result.blame.fault  # type: ignore[union-attr]


def test_the_counterexample_of_a_later_cycle_is_of_that_cycle() -> None:
    contexts = [(), *[(a,) for a in range(3)], *[(a, b) for a in range(3) for b in range(3)]]
    rows = {" ".join(map(str, context)): [8, 1, 1] for context in contexts} | {"0 0": [5, 3, 2]}
    model = model_from_data({"vocab": 3, "target": [1, 1, 3], "draft": rows})
    result = enumerate_design(model, BROKEN, layer_rule("rheo"), cycles=2)
    assert result.blame is not None
    assert result.blame.context == (0, 0)
    shown = counterexample(result)
    assert shown is not None
    assert shown.fault is not None
    assert shown.fault.stated == (0, exact("3/5"), exact("2/5"))
    assert shown.replay is None
    assert len(list(class_walks(result))) == 1 + len(result.classes())


def test_the_blamed_class_shows_a_whole_tree_with_what_was_pruned() -> None:
    shown = next(class_walks(broken()))
    assert [(node.token, node.kind) for node in shown.walk.tree] == [(0, "lead"), (1, "sampled")]
    assert [(node.token, node.kind) for node in shown.walk.pruned] == [(2, "fill")]
    assert (shown.blamed, shown.replay) == ((2,), "tree:1")
    assert not shown.steady


def test_a_picture_by_itself_is_svg_with_its_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tree.svg"
    command = ["enumerate", "--model", "table-1", "--depth", "1", "--budget", "2", "--proxy", "1/4", "--svg", str(path)]
    assert run(command) == 1
    root = ElementTree.parse(path).getroot()
    assert root.find(f"{SVG}metadata").text == "made by: python -m rheo_verify " + " ".join(command)  # type: ignore[union-attr]
    assert root.find(f"{SVG}title").text.startswith("The counterexample, of probability 0.6000 (3/5)")  # type: ignore[union-attr]
    words = [text.text for text in root.iter(f"{SVG}text")]
    for wanted in ("builds as 1/4", "verified as 3/5", "lead, q 1/2", "pruned", "faded: pruned"):
        assert wanted in words
    blamed = [group for group in root.iter(f"{SVG}g") if "blamed" in group.get("class", "")]
    assert [group.get("fill") for group in blamed] == ["#fdf0d9"]
    before = path.read_bytes()
    run(command)
    assert path.read_bytes() == before


def test_replay_draws_the_whole_tree_with_what_was_pruned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "replay.svg"
    assert run(["replay", "default:tree:1.2.3.2.3.2.1", "--svg", str(path)]) == 0
    groups = [group.get("class", "").split() for group in ElementTree.parse(path).getroot().iter(f"{SVG}g")]
    nodes = [kinds for kinds in groups if kinds[0] == "n" and "root" not in kinds]
    assert sum("pruned" in kinds for kinds in nodes) == 15
    assert len(nodes) == 21 + 3  # and the legend's


@pytest.mark.parametrize("place", ["no/such/folder/x.svg", "."])
def test_a_picture_that_cannot_be_written_is_refused(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["enumerate", "--vocab", "3"], ["replay", "vocab=6:class:2.0"]):
        assert run([*command, "--svg", place]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "RV122: --svg" in err


def test_a_path_of_foreign_code_has_no_tree_to_draw(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "mine.py:verify,arrays=list,target=1/2+1/2_0+1,draft=0+1:verifier:1", "--svg", "x.svg"]) == 2
    assert "RV106: --svg draws a tree" in capsys.readouterr().err


def test_a_node_above_its_parent_is_drawn_or_left_out_but_never_fails() -> None:
    model = context_free(distribution([1, 1]), distribution([1, 1]))
    orphan = Node((1, 1), (0, 0), "lead", ONE)
    picture = inline(Picture(model, (orphan,)), "x")
    assert "1 not drawn" in picture


def test_answers_show_themselves_in_notebooks() -> None:
    model = random_model(3, 0)
    found = enumerate_design(model, TreeDesign(), layer_rule("rheo"))
    layer = layer_at(model, (), 1, 3)
    check = check_verifier(
        lambda target, draft, tokens: [*tokens, 0],
        arrays="list",
        name="mine",
        case=by_position([(ONE, 0)] * 2, [(ONE, 0)]),
    )
    decoder = evaluate(entry("treespark-pruned"), model)
    walk = next(class_walks(found)).walk
    cycles = compare_cycles(model, (), TreeDesign())
    for value, words in (
        (found, "VERIFIED"),
        (broken(), "A class in which it breaks"),
        (layer_rates(layer), "bound of Theorem 3"),
        (check, "mine"),
        (decoder, "treespark-pruned"),
        (walk, "pruned"),
        (cycles[0], "rheo m=0"),
        (Shown(cycles), "topk"),
    ):
        shown = value._repr_html_()
        root = read(shown)
        assert [child.has("class_", "rv") for child in root.children] == [True]
        assert words in root.text
        assert not root.all("script")
        assert not [it for it in root.all() if it.name in ("h1", "h2")]
        assert shown == value._repr_html_()


def test_a_refuted_answer_in_a_notebook_has_the_wrong_outputs() -> None:
    result = broken()
    rows = read(result._repr_html_()).all("tbody")[0].children
    assert [[row.children[0].text, *(small.text for small in row.all("small"))] for row in rows] == [
        [result.model.phrase(it.tokens), *map(text, (it.expected, it.found, abs(it.found - it.expected)))]
        for it in result.comparison.differences
    ]


def test_a_step_tells_the_law_that_is_drawn_from_and_the_one_that_is_verified() -> None:
    """They differ where verification uses the ranking draft's law (broken)."""
    model = context_free(distribution([1, 1, 1]), distribution([5, 3, 2]), distribution([5, 1, 4]))
    design = TreeDesign(lead=1, pool=3, depth=1, budget=3, verification="ranking")
    result = enumerate_design(model, design, layer_rule("rheo"))
    shown = next(class_walks(result))
    step = read(walk_section(shown, "x", "x")).all("li", class_="blamed")[0].text
    drawn = "B" if shown.walk.tree[1].token == 1 else "C"
    verified = {"B": "0.6000 3/5", "C": "0.4000 2/5"}[drawn]
    assert f"Y is drawn from q\u0303: B 1/5, C 4/5; it came out as {drawn}" in step
    assert f"builds the tree as 0.5000 1/2 (the proxy) and is verified as {verified}" in step


@settings(max_examples=15)
@given(st.data())
def test_every_step_has_its_numbers(data: Any) -> None:
    model = data.draw(models())
    result = enumerate_design(model, data.draw(designs(model.vocab)), layer_rule("rheo"))
    shown = next(class_walks(result, 1))
    walk = shown.walk
    steps = read(walk_section(shown, "x", "x")).all("ol", class_="steps")[0].children
    assert len(steps) == len(walk.tree) + bool(walk.pruned) + len(walk.layers)
    for rank, (step, node) in enumerate(zip(steps, walk.tree, strict=False), 1):
        assert (step.attributes["data-k"], step.attributes["data-now"]) == (str(rank), str(rank))
        parts = [part.text for part in step.all("p")]
        said = f"score {_number(node.score)}; what is kept so far has probability {_number(shown.along[rank - 1])}"
        assert _squeezed(parts[-1]) == _squeezed(said)
        if node.law is not None:
            assert _squeezed(f"verified as {_number(node.law[node.token])} (its") in _squeezed(parts[0])
    for step, layer in zip(steps[len(steps) - len(walk.layers) :], walk.layers, strict=True):
        rows = [[cell.text for cell in row.children] for row in step.all("tbody")[0].children]
        for row, child, accepted in zip(rows, layer.children, layer.law.accept, strict=True):
            assert row[1] == _number(layer.target[child.token])
            assert row[3] == _number(accepted)
        said = f"rejected with probability {_number(sum(layer.law.residual))}"
        assert _squeezed(said) in _squeezed(step.text)


def _number(value: Any) -> str:
    return " ".join(read(f"<p>{number(exact(value))}</p>").text.split())


def _squeezed(words: str) -> str:
    return "".join(words.split())


def test_a_batch_of_rates_is_shown_as_text() -> None:
    batch = LayerRates(*[np.array([0.5, 0.25])] * 7)
    assert batch._repr_html_() is None
    assert LayerRates(*[0.5] * 7)._repr_html_() is None


def test_rates_in_a_notebook_are_the_exact_ones() -> None:
    uniform = distribution([1, 1, 1, 1])
    shown = read(layer_rates(Layer(distribution([1, 0, 2, 1]), uniform, uniform, 1, 3))._repr_html_() or "")
    first = shown.all("tbody")[0].children[0]
    assert first.text == "rheo 0.9667 29/30"
    assert first.all("rect")[0].attributes["width"] == "96.67%"


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_paths_of_a_case_add_up_to_its_law(seed: int) -> None:
    import random

    def verify(target: Any, draft: Any, tokens: Any) -> list[int]:
        if random.random() * draft[0][tokens[0]] < target[0][tokens[0]]:
            return [*tokens, random.choices(range(2), weights=target[1])[0]]
        return [1 - tokens[0]]

    model = random_model(2, seed)
    case = by_position([model.target(()), model.target((0,))], [model.draft(())])
    paths = seen(verify, "verifier", case, arrays="list").paths
    assert sum(path.probability for path in paths) == 1
    assert [path.probability for path in paths] == sorted((path.probability for path in paths), reverse=True)
    law: dict[tuple[int, ...], Any] = {}
    for path in paths:
        assert path.emitted is not None
        probability = exact(1)
        for question in path.questions:
            assert sum(question.law) == 1
            probability *= question.law[question.answer]
        assert probability == path.probability
        law[path.emitted] = law.get(path.emitted, 0) + path.probability
    found = extended(law, 2, row_of(case.target))
    for token, p in enumerate(case.target[()]):
        assert sum(q for tokens, q in found.items() if tokens[0] == token) == pytest.approx(float(p), abs=1e-9)


def test_names_of_tokens_survive_into_pictures() -> None:
    assert token_names(3) == ("A", "B", "C")
    long = Model(1, *[lambda _: (ONE,)] * 3, ("an extraordinarily long token",), "x")
    picture = read(inline(Picture(long, (Node((1,), (0,), "fill", ONE),)), "x"))
    node = picture.all("g", class_="fill")[0]
    assert node.all("text")[0].text == "an extrao…"
    assert node.all("title")[0].text.startswith("an extraordinarily long token: fill, slot 1")
