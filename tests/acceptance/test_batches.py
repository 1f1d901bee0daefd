"""The same closed forms on NumPy and torch batches, rationals and machine integers: one result."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.checks.acceptance import Layer, layer_rates
from rheo_verify.checks.closed_forms import LayerRates, batch_rates, best_tokens, closed_forms, quotients
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.rationals import over_common_denominator
from tests.acceptance.acceptance_strategies import layers


def random_batch(count, vocab, seed, zeros=0.3):
    generator = np.random.default_rng(seed)
    tables = []
    for _ in range(3):
        weights = generator.integers(1, 9, (count, vocab)) * (generator.random((count, vocab)) > zeros)
        weights[:, 0] += weights.sum(axis=1) == 0
        tables.append(weights)
    tables[1][::7] = tables[0][::7]
    return tables


@pytest.mark.parametrize(("lead", "candidates"), [(0, 1), (0, 3), (1, 3), (2, 3), (3, 5), (3, 3), (5, 5)])
def test_floats_agree_with_rationals(lead, candidates):
    p, q, q_hat = random_batch(60, 5, seed=lead + candidates)
    floats = [table / table.sum(axis=1, keepdims=True) for table in (p, q, q_hat)]
    # Normalising in floats can break ties of q; the weights themselves keep them.
    found = batch_rates(floats[0], q.astype(float), lead, candidates, floats[2], rows=7)
    for index in range(len(p)):
        rows = [distribution(table[index].tolist()) for table in (p, q, q_hat)]
        exact = layer_rates(Layer(*rows, lead, candidates))
        for name in LayerRates._fields:
            assert float(getattr(exact, name)) == pytest.approx(getattr(found, name)[index], abs=1e-12), name


@given(layers())
def test_machine_integers_give_the_exact_rates(layer):
    rows = [over_common_denominator(row)[0] for row in (layer.target, layer.draft, layer.sampling_draft)]
    tables = [np.array([row], dtype=np.int64) for row in rows]
    forms = closed_forms(tables[0], tables[1], layer.lead, layer.candidates, tables[2])
    assert [quotients(form)[0] for form in forms] == list(layer_rates(layer))
    assert all(form.accepted.dtype == np.int64 for form in forms)


@given(st.integers(1, 12), st.data())
def test_best_tokens_ties_by_token_id(vocab, data):
    row = data.draw(st.lists(st.integers(0, 3), min_size=vocab, max_size=vocab))
    count = data.draw(st.integers(1, vocab))
    wanted = sorted(range(vocab), key=lambda v: (-row[v], v))[:count]
    assert best_tokens(np.array([row, row]), count).tolist() == [wanted, wanted]
    wide = np.array([row * 6])
    everything = sorted(range(6 * vocab), key=lambda v: (-wide[0, v], v))
    for some in (count, 6 * vocab):
        assert best_tokens(wide, some).tolist() == [everything[:some]]


def test_best_tokens_tells_small_floats_apart():
    rows = np.array([[1e-20, 3e-20, 2e-20, 0.0] * 8])
    assert best_tokens(rows, 2).tolist() == [[1, 5]]
    assert best_tokens(rows, 32).tolist()[0][:9] == [1, 5, 9, 13, 17, 21, 25, 29, 2]


def test_an_empty_batch_has_no_rates():
    empty = np.zeros((0, 4))
    assert batch_rates(empty, empty, 1, 3).rheo.shape == (0,)


def test_nothing_is_written_into_the_rows():
    p, q, q_hat = random_batch(20, 6, seed=1)
    before = [table.copy() for table in (p, q, q_hat)]
    batch_rates(p, q, 1, 3, q_hat)
    assert all((a == b).all() for a, b in zip(before, (p, q, q_hat), strict=True))


@pytest.mark.parametrize(("lead", "candidates"), [(0, 3), (1, 3), (2, 3), (5, 5)])
def test_torch_tensors_give_what_numpy_gives(lead, candidates):
    torch = pytest.importorskip("torch")
    wide = np.random.default_rng(0).integers(0, 3, (40, 32)).astype(float)
    for count in (1, 3, 8, 9, 32):
        assert best_tokens(torch.from_numpy(wide), count).tolist() == best_tokens(wide, count).tolist()
    p, q, q_hat = (table.astype(float) for table in random_batch(50, 5, seed=9))
    expected = batch_rates(p, q, lead, candidates, q_hat)
    found = batch_rates(*map(torch.from_numpy, (p, q)), lead, candidates, torch.from_numpy(q_hat), rows=16)
    for name in LayerRates._fields:
        assert np.allclose(getattr(found, name).numpy(), getattr(expected, name), atol=1e-12), name
