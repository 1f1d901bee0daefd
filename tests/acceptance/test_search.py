"""The exhaustive search: its instances, its counts, its order, its integers, its state."""

import json
import math
from fractions import Fraction
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.checks import search as search_module
from rheo_verify.checks import search_pieces
from rheo_verify.checks.acceptance import Layer, largest_gap, layer_rates
from rheo_verify.checks.closed_forms import LayerRates, closed_forms
from rheo_verify.checks.instances import Instance, compositions, descending, pairs_over, relabellings, shapes_of
from rheo_verify.checks.rate_expressions import holds_for, read_question
from rheo_verify.checks.search import Scope, Tally, begin, largest_number, search, steps
from rheo_verify.checks.search_state import state_from_data, state_to_data, store, take_up
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.errors import InputError
from rheo_verify.pieces import Store, Workers
from tests.acceptance.acceptance_strategies import by_definition


def scope(where, vocab, denominator, largest=None, **narrowed):
    return Scope(where, vocab, denominator, shapes_of(vocab, **narrowed), largest)


def grid(vocab, denominator):
    """All rows of weights over a denominator, by trying everything."""
    return [row for row in product(range(denominator + 1), repeat=vocab) if sum(row) == denominator]


def slow_search(where, vocab, denominator, shapes):
    """Every labelled pair in `Fraction`, rates from the definition; counted at its least denominator."""
    question = read_question(where)
    counts = {shape: [0, 0] for shape in shapes}
    for d in range(1, denominator + 1):
        for p, q in product(grid(vocab, d), repeat=2):
            if math.gcd(*p, *q) != 1:
                continue
            rows = [tuple(Fraction(w, d) for w in row) for row in (p, q)]
            for n, m in shapes:
                layer = Layer(rows[0], rows[1], rows[1], m, n)
                rates = layer_rates(layer)
                checked = rates._replace(rheo=by_definition(layer, "rheo"), rrsw=by_definition(layer, "rrsw"))
                counts[n, m][0] += 1
                counts[n, m][1] += holds_for(question, checked)
    return counts


@pytest.mark.parametrize(
    ("where", "vocab", "denominator", "narrowed"),
    [
        ("rrsw > rheo", 4, 4, {"lead": 1, "candidates": 3}),
        ("rheo < optimal", 3, 4, {"candidates": 2}),
        ("rheo < topk or rrsw < 1/2", 3, 3, {}),
        ("2*rheo - rrsw != optimal and not single == top1", 3, 3, {}),
    ],
)
def test_counts_are_those_of_all_labelled_pairs(where, vocab, denominator, narrowed):
    shapes = shapes_of(vocab, **narrowed)
    found = search(begin(Scope(where, vocab, denominator, shapes)))
    slow = slow_search(where, vocab, denominator, shapes)
    assert any(hits for _, hits in slow.values())
    assert {s: [t.labelled, t.labelled_found] for s, t in zip(shapes, found.tallies, strict=True)} == slow


def test_rrsw_beats_rheo_first_at_v_4_denominator_4():
    found = search(begin(scope("rrsw > rheo", 4, 4)))
    assert found.verdict is Verdict.REFUTED
    assert found.first == Instance(3, 1, 4, (1, 1, 1, 1), (1, 0, 2, 1))
    rates = layer_rates(found.first.layer)
    assert (rates.rheo, rates.rrsw) == (Fraction(29, 30), 1)
    assert search(begin(scope("rrsw > rheo", 4, 3))).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("vocab", [1, 2, 3])
def test_rrsw_never_beats_rheo_below_v_4(vocab):
    found = search(begin(scope("rrsw > rheo", vocab, 16)))
    assert found.ended
    assert found.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("vocab", "lead", "candidates", "denominator"), [(3, 0, 2, 12), (4, 0, 2, 10), (4, 0, 3, 8), (4, 1, 3, 9)]
)
def test_no_gap_on_the_grid_exceeds_the_largest(vocab, lead, candidates, denominator):
    wanted = scope("rheo < optimal", vocab, denominator, "optimal - rheo", lead=lead, candidates=candidates)
    found = search(begin(wanted))
    assert found.best_value == largest_gap(vocab, lead, candidates)
    rates = layer_rates(found.best.layer)
    assert rates.optimal - rates.rheo == found.best_value


def test_the_largest_is_the_largest():
    found = search(begin(scope("rheo < 1", 3, 3, "rheo + 1/7")))
    largest = 0
    for d in range(1, 4):
        for p, q in product(grid(3, d), repeat=2):
            rows = [tuple(Fraction(w, d) for w in row) for row in (p, q)]
            rates = [layer_rates(Layer(rows[0], rows[1], rows[1], m, n)).rheo for n, m in shapes_of(3)]
            largest = max(largest, *(rate for rate in rates if rate < 1), 0)
    assert found.best_value == largest + Fraction(1, 7)


def test_found_in_the_documented_order(monkeypatch):
    monkeypatch.setattr(search_module, "CHUNK", 7)
    sizes, last = [], None
    for now in steps(begin(scope("rheo < optimal and rheo > 1/2", 3, 4))):
        if now.first is not None:
            sizes.append(now.first.size)
        last = now
    assert len(set(sizes)) == 1
    smallest = min(
        Instance(n, m, d, q, p).size
        for n, m in shapes_of(3)
        for d in range(1, 5)
        for p, q in product(grid(3, d), repeat=2)
        if math.gcd(*p, *q) == 1
        and list(q) == sorted(q, reverse=True)
        and holds_for(read_question("rheo < optimal and rheo > 1/2"), layer_rates(Instance(n, m, d, q, p).layer))
    )
    assert last.first.size == smallest


@pytest.mark.parametrize("stop", [0, 1, 5, 23])
def test_taken_up_again_it_ends_the_same(stop, monkeypatch, tmp_path):
    monkeypatch.setattr(search_module, "CHUNK", 10)
    wanted = scope("rheo < optimal", 3, 5, "optimal - rheo")
    whole = search(begin(wanted))
    now = next(islice(steps(begin(wanted)), stop, None))
    assert not now.ended
    store(now, tmp_path / "state.json")
    resumed = search(take_up(wanted, tmp_path / "state.json"))
    assert resumed.after(0) == whole.after(0)


def test_a_time_limit_leaves_it_inconclusive():
    now = search(begin(scope("rrsw > rheo", 3, 12)), seconds=0)
    assert not now.ended
    assert now.verdict is Verdict.INCONCLUSIVE
    seen = []
    assert search(now, progress=seen.append).verdict is Verdict.VERIFIED
    assert seen[-1].ended


def test_states_of_other_searches_and_broken_ones_are_refused(tmp_path):
    wanted = scope("rrsw > rheo", 3, 4)
    path = tmp_path / "state.json"
    assert take_up(wanted, path) is None
    store(begin(wanted), path)
    assert take_up(wanted, path) == begin(wanted)
    with pytest.raises(InputError, match="RV504"):
        take_up(scope("rrsw > rheo", 3, 5), path)
    data = state_to_data(begin(wanted))
    for change in ({"schema": "x"}, {"cursor": [99, 1, 0]}, {"tallies": []}, {"first": {}}, {"scope": None}):
        with pytest.raises(InputError, match="RV504"):
            state_from_data({**data, **change})
    with pytest.raises(InputError, match="RV504"):
        state_from_data([])
    path.write_text("{")
    with pytest.raises(InputError, match="RV504"):
        take_up(wanted, path)
    with pytest.raises(InputError, match="RV504"):
        store(begin(wanted), tmp_path / "missing" / "state.json")


@given(st.integers(1, 5), st.integers(1, 6))
def test_rows_are_all_rows_in_order(vocab, denominator):
    rows = [tuple(row) for row in compositions(denominator, vocab).tolist()]
    assert rows == grid(vocab, denominator)
    partitions = [tuple(row) for row in descending(denominator, vocab).tolist()]
    assert partitions == [row for row in rows if list(row) == sorted(row, reverse=True)]
    assert sum(map(relabellings, partitions)) == len(rows)
    assert pairs_over(vocab, denominator) == len(partitions) * len(rows)


@given(st.data())
def test_rates_do_not_depend_on_the_names_of_tokens(data):
    """What lets the search look at descending q only: relabel by rank, and every rate stays."""
    vocab = data.draw(st.integers(1, 5))
    p, q = (data.draw(st.lists(st.integers(0, 4), min_size=vocab, max_size=vocab).filter(any)) for _ in "pq")
    order = sorted(range(vocab), key=lambda v: (-q[v], v))
    n = data.draw(st.integers(1, vocab))
    m = data.draw(st.integers(0, n - 1))
    tables = np.array([[p, q], [[p[v] for v in order], [q[v] for v in order]]])
    forms = closed_forms(tables[:, 0], tables[:, 1], m, n)
    assert all(form.accepted[0] == form.accepted[1] and form.whole[0] == form.whole[1] for form in forms)


@given(st.data())
def test_every_number_stays_within_the_proved_bound(data):
    """Decided again in Python integers, no number on the way exceeds D^degree, nor the sums `largest_number`."""
    vocab, d = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 12))
    p, q = (data.draw(st.sampled_from(compositions(d, vocab).tolist())) for _ in "pq")
    n = data.draw(st.integers(1, vocab))
    m = data.draw(st.integers(0, n - 1))
    forms = closed_forms(np.array([p], dtype=object), np.array([q], dtype=object), m, n)
    for name, form in zip(LayerRates._fields, forms, strict=True):
        assert form.accepted.item() <= form.whole.item() <= d ** search_module._DEGREE[name]
    question = read_question("3*rheo - 2*rrsw < 1/2")
    (comparison,) = search_module.comparisons(question)
    above, below = search_module._scaled(comparison.difference, forms)
    assert abs(above.item()) <= largest_number(question, None, d)
    assert below.item() <= largest_number(question, None, d)


def test_past_the_bound_python_integers_take_over():
    question = read_question("rrsw > rheo")
    assert largest_number(question, None, 128) <= 2**63 - 1 < largest_number(question, None, 300)
    huge = read_question("1/1000000000000000000001*rrsw > rheo")
    assert largest_number(huge, None, 2) > 2**63
    found = search(begin(scope("1/1000000000000000000001*rrsw > rheo", 2, 3)))
    slow = slow_search("1/1000000000000000000001*rrsw > rheo", 2, 3, shapes_of(2))
    assert sum(hits for _, hits in slow.values()) == found.total.labelled_found


@pytest.mark.parametrize(
    ("vocab", "denominator", "code"), [(0, 3, "RV106"), (3, 0, "RV106"), (101, 1, "RV106"), (12, 40, "RV108")]
)
def test_grids_that_do_not_exist_or_do_not_fit_are_refused(vocab, denominator, code):
    with pytest.raises(InputError, match=code):
        begin(Scope("rheo < 1", vocab, denominator, ((1, 0),)))


def test_layers_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="RV106"):
        shapes_of(3, lead=3)
    with pytest.raises(InputError, match="RV106"):
        shapes_of(3, lead=2, candidates=2)


def test_tallies_add_up():
    assert Tally(1, 2, 3, 4).plus(Tally(1, 1, 1, 1)) == Tally(2, 3, 4, 5)


def test_states_survive_json():
    ended = search(begin(scope("rheo < optimal", 3, 4, "optimal - rheo")))
    assert state_from_data(json.loads(json.dumps(state_to_data(ended)))) == ended


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.update(first=None),
        lambda data: data["first"]["target"].__setitem__(0, -5),
        lambda data: data["first"].update(denominator=-5),
        lambda data: data["tallies"][0].update(found=-5),
        lambda data: data["tallies"][0].update(found=True),
        lambda data: data["tallies"][0].update(found=10**30),
        lambda data: data["tallies"].__setitem__(0, {}),
    ],
)
def test_a_damaged_state_is_refused(damage, tmp_path, capsys):
    """A stored search is believed only where its parts fit each other."""
    path = tmp_path / "state.json"
    command = ["search", "--where", "rrsw > rheo", "--vocab", "4", "--denominator", "4", "--state", str(path)]
    assert run(command) == 1
    data = json.loads(path.read_text())
    damage(data)
    path.write_text(json.dumps(data))
    assert run(command) == 2
    assert "RV504" in capsys.readouterr().err


@given(st.sampled_from([1, 3]), st.sampled_from(["rheo < optimal", "rrsw > rheo", "rheo < 1 and rrsw < rheo"]))
@settings(max_examples=6)
def test_pieces_are_the_whole_search(chunks: int, where: str) -> None:
    """Small pieces, so that the first and the best instance are looked for across their borders."""
    wanted = scope(where, 3, 5, "optimal - rheo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "CHUNK", 16)
        patch.setattr(search_pieces, "PAIRS_A_PIECE", 16 * chunks)
        *_, last = search_pieces.search_in_pieces(wanted, Workers("loky", jobs=1))
        whole = search(begin(wanted))
    assert last.after(0) == whole.after(0)
    assert last.ended


def test_processes_find_the_same(tmp_path: Path) -> None:
    wanted = scope("rrsw > rheo", 4, 9)
    *_, here = search_pieces.search_in_pieces(wanted, Workers(), store=Store(tmp_path))
    *_, there = search_pieces.search_in_pieces(wanted, Workers("loky", jobs=2))
    *_, again = search_pieces.search_in_pieces(wanted, Workers(), store=Store(tmp_path))
    assert here == there == again
    assert here.ended


def test_position_counts_the_pairs_behind() -> None:
    wanted = scope("rheo < optimal", 3, 4)
    seen = [search_pieces.position(now) for now in steps(begin(wanted))]
    assert seen == sorted(set(seen))
    assert seen[-1] == search_pieces.most_pairs(wanted)
    assert search_pieces.position(begin(wanted)) == 0
