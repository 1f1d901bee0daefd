"""The commands `acceptance` and `search`: what they print, what they refuse."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from rheo_verify.checks.per_cycle import ablations, compare_cycles, cycle
from rheo_verify.cli.main import run
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.random_tables import random_model
from tests.clocks import Clock

REHEARSED = ["--target", "1,0,2,1", "--draft", "1,1,1,1", "--m", "1", "--k", "3"]


def test_json_for_one_context(capsys):
    assert run(["acceptance", *REHEARSED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "rheo_verify/acceptance"
    names = ("rheo", "rrsw", "top_k", "upper_bound", "optimal")
    assert [found[name] for name in names] == ["29/30", "1", "3/4", "1", "1"]
    assert found["certificate"]["verdict"] == "VERIFIED"
    assert found["cycle"]["decoders"][0]["tokens_per_cycle"] == "53/24"


def test_text_for_one_context(capsys):
    assert run(["acceptance", *REHEARSED]) == 0
    written = capsys.readouterr().out
    assert "rheo                      0.9667  29/30" in written
    assert "rheo is 0.0333 (1/30) below it (at most 1/3 for V = 4, m = 1, n = 3)" in " ".join(written.split())


PRUNED = ["--model", "pruned-optimum", *["--m", "0", "--k", "2", "--beam", "1", "--depth", "2", "--budget", "2"]]


def test_a_pruned_tree_quotes_no_optimum(capsys):
    assert run(["acceptance", *PRUNED]) == 0
    written = capsys.readouterr().out
    assert "REFUTED: optimal-transport in this tree is not lossless" in written
    assert "total variation 0.3333 (1/3), the rule is to blame" in written
    assert "best" not in written
    assert run(["acceptance", *PRUNED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["optimal_transport"] == {"verdict": "REFUTED", "total_variation": "1/3", "blame": "rule"}
    assert {row["rule"] for row in found["cycle"]["decoders"]} == {"rheo", "rrsw", "topk"}


def test_enumerate_refutes_the_optimum_where_it_prunes(capsys):
    assert run(["enumerate", *PRUNED, "--rule", "optimal-transport"]) == 1
    written = capsys.readouterr().out
    assert "the rule optimal-transport itself does not preserve the target" in written
    assert "not quoted" in written
    assert run(["enumerate", *PRUNED, "--rule", "optimal-transport", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["tokens_per_cycle"] is None
    assert run(["enumerate", *PRUNED]) == 0
    unpruned = ["--vocab", "3", "--k", "2", "--depth", "2", "--beam", "2", "--budget", "6"]
    assert run(["enumerate", *unpruned, "--rule", "optimal-transport"]) == 0


def test_compare_has_every_m_and_the_best_in_a_static_tree(capsys):
    assert run(["acceptance", "compare", "--vocab", "3", "--k", "2", "--depth", "2", "--budget", "6"]) == 0
    written = capsys.readouterr().out
    for name in ("rheo m=0", "rheo m=1", "rrsw m=1", "optimal-transport m=0", "topk", "best"):
        assert name in written


def test_compare_by_temperature(capsys):
    given = ["--vocab", "3", "--depth", "1", "--budget", "2", "--temperatures", "1, 1/2 0.7,0"]
    assert run(["acceptance", "compare", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(p["temperature"], p["exact"]) for p in found["temperatures"]] == [
        ("1", True),
        ("1/2", True),
        ("7/10", False),
        ("0", True),
    ]
    assert run(["acceptance", "compare", *given]) == 0
    written = capsys.readouterr().out
    assert "7/10 (float64)" in written
    assert "-> 0" in written


def test_plots_are_pictures_with_labelled_axes(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    small = ["acceptance", "compare", "--vocab", "3", "--k", "2", "--depth", "1", "--budget", "2"]
    for name in ("tau.svg", "tau.png"):
        assert run([*small, "--plot", str(tmp_path / name), "--temperatures", "1,1/2"]) == 0
    assert (tmp_path / "tau.png").read_bytes().startswith(b"\x89PNG")
    root = ElementTree.parse(tmp_path / "tau.svg").getroot()
    assert root.tag.endswith("svg")
    comments = (tmp_path / "tau.svg").read_text()
    for words in (
        "tau, expected number of tokens per cycle",
        "m, number of lead tokens",
        "temperature T, a pure number",
        "ablations",
    ):
        assert words in comments


def test_a_plot_is_the_same_every_time(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    small = ["acceptance", "compare", "--vocab", "3", "--depth", "1", "--budget", "2", "--plot"]
    pictures = []
    for _ in range(2):
        assert run([*small, str(tmp_path / "a.svg")]) == 0
        pictures.append((tmp_path / "a.svg").read_bytes())
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("name", ["tau.svg", "tau.png"])
def test_a_plot_names_the_command_that_made_it(tmp_path, capsys, name):
    pytest.importorskip("matplotlib")
    small = ["acceptance", "compare", "--vocab", "3", "--depth", "1", "--budget", "2", "--plot", str(tmp_path / name)]
    assert run(small) == 0
    assert ("made by: python -m rheo_verify " + " ".join(small)).encode() in (tmp_path / name).read_bytes()


def test_ablations_change_one_part_of_the_design_each():
    model, design = random_model(4, 0), TreeDesign(lead=1, pool=3, depth=2, budget=4)
    cycles = compare_cycles(model, (), design)
    found = {label: (row.rule, row.lead) for label, row in ablations(cycles)}
    assert list(found.values()) == [("rheo", 1), ("rrsw", 1), ("rheo", 0), ("rheo", 2), ("topk", None)]
    for label, row in ablations(cycles):
        alone = cycle(model, (), replace(design, lead=row.lead if row.lead is not None else 3), row.rule)
        assert row.tokens_per_cycle == alone.tokens_per_cycle, label
    assert ablations([row for row in cycles if row.rule == "topk"]) == ()


@pytest.mark.parametrize(
    "given",
    [
        ["acceptance", "--target", "1,2"],
        ["acceptance", "--target", "1,2", "--draft", "1,2,3"],
        ["acceptance", "--target", "1,2", "--draft", "0,0"],
        ["acceptance", "--target", "1,2", "--draft", "1/2,0.6"],
        ["acceptance", "--target", "1,2", "--draft", "a,b"],
        ["acceptance", "--target", "", "--draft", "1,2"],
        ["acceptance", "--target", "1,2", "--draft", "1,-2"],
        ["acceptance", "--target", "1,2", "--draft", "1,2", "--vocab", "2"],
        ["acceptance", "--target", "1,2", "--draft", "1,2", "--m", "3"],
        ["acceptance", "--m", "-1"],
        ["acceptance", "--k", "0"],
        ["acceptance", "--vocab", "0"],
        ["acceptance", "--model", "no-such-file.json"],
        ["acceptance", "--context", "0 9"],
        ["acceptance", "--context", "x"],
        ["acceptance", "--temperature", "0"],
        ["acceptance", "--temperature", "hot"],
        ["acceptance", "--temperature", "1e-3"],
        ["acceptance", "--time-limit", "0"],
        ["acceptance", "--plot", "x.svg"],
        ["acceptance", "compare", "--plot", "x.pdf"],
        ["acceptance", "compare", "--plot", "no/such/folder/x.svg"],
        ["acceptance", "compare", "--temperatures", "1,-1"],
        ["search", "--where", "rheo >"],
        ["search", "--where", "rheo > 1", "--vocab", "0"],
        ["search", "--where", "rheo > 1", "--denominator", "0"],
        ["search", "--where", "rheo > 1", "--vocab", "30", "--denominator", "30"],
        ["search", "--where", "rheo > 1", "--m", "9"],
        ["search", "--where", "rheo > 1", "--k", "9"],
        ["search", "--where", "rheo > 1", "--largest", "rheo < 1"],
        ["search", "--where", "rheo > 1", "--time-limit", "-1"],
        ["search", "--where", "rheo > 1", "--time-limit", "nan"],
        ["search", "--where", "rheo > 1", "--state", "no/such/folder/x.json"],
    ],
    ids=" ".join,
)
def test_bad_input_gets_one_line_and_code_2(given, capsys):
    assert run(given) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert f"{given[0]}: RV" in captured.err


def test_search_finds_where_rrsw_beats_rheo(capsys):
    assert run(["search", "--where", "rrsw > rheo", "--vocab", "4", "--denominator", "4"]) == 1
    written = capsys.readouterr().out
    assert "p = (1, 0, 2, 1) / 4" in written
    assert "q = (1, 1, 1, 1) / 4" in written
    assert "acceptance --target 1,0,2,1 --draft 1,1,1,1 --m 1 --k 3" in written


def test_search_json(capsys):
    given = ["search", "--where", "rheo < optimal", "--vocab", "3", "--denominator", "3", "--largest", "optimal - rheo"]
    assert run([*given, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["ended"], found["largest_value"]) == ("REFUTED", True, "1/3")
    assert found["first"]["target"] == ["1/3", "2/3", "0"]
    assert found["first"]["rates"]["optimal"] == "1"
    assert sum(row["found"] for row in found["counts"]) == 1


def test_search_without_a_find(capsys):
    assert run(["search", "--where", "rrsw > rheo", "--vocab", "3", "--denominator", "6"]) == 0
    assert 'VERIFIED: no p and q in scope have "rrsw > rheo"' in capsys.readouterr().out


def test_search_stopped_and_taken_up_again(capsys, tmp_path):
    given = ["search", "--where", "rrsw > rheo", "--vocab", "3", "--denominator", "9"]
    state = ["--state", str(tmp_path / "state.json")]
    assert run([*given, *state, "--time-limit", "0"]) == 3
    assert "not covered: everything after that" in capsys.readouterr().out
    assert run([*given, *state]) == 0
    resumed = capsys.readouterr().out
    assert run(given) == 0
    assert capsys.readouterr().out == resumed
    assert run(["search", "--where", "rrsw < rheo", *state]) == 2


def test_empty_entries_are_refused(capsys):
    for row in ("1,,1", ",1,1", "1,1,", "", " "):
        assert run(["acceptance", "--target", row, "--draft", "1,1,1"]) == 2
        assert ("no entry left empty" if row.strip() else "an empty one is given") in capsys.readouterr().err
    assert run(["acceptance", "compare", "--temperatures", "1,,1/2"]) == 2
    assert run(["acceptance", "--target", "1, 2  1", "--draft", "1 1 1", "--layer-only"]) == 0


def test_compare_has_no_layer_only(capsys):
    assert run(["acceptance", "compare", "--layer-only"]) == 2
    assert "--layer-only" in capsys.readouterr().err


def test_a_comparison_that_a_limit_ends_keeps_what_is_finished(capsys, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("rheo_verify.limits.time", clock)
    monkeypatch.setattr("rheo_verify.cli.settings.time", Clock())
    assert run(["acceptance", "compare", "--temperatures", "1", "--time-limit", "1000000", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["unfinished"] is None
    steps, kept = clock.looks, set()
    for share in (1, 4, 9):
        clock.looks = 0
        assert (
            run(["acceptance", "compare", "--temperatures", "1", "--time-limit", str(steps * share / 10), "--json"])
            == 3
        )
        found = json.loads(capsys.readouterr().out)
        assert found["decoders"] == whole["decoders"][: len(found["decoders"])]
        finished = f"{len(found['decoders'])} decoder"
        assert found["unfinished"]["covered"].startswith(finished)
        kept.add(len(found["decoders"]))
    assert len(kept) > 1
    clock.looks = 0
    assert run(["acceptance", "compare", "--time-limit", str(steps * 0.4)]) == 3
    assert "the rest is not shown" in " ".join(capsys.readouterr().out.split())
