"""The two faces of every verification rule agree, in every number system, and edge cases have defined answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rheo_verify.errors import InputError
from rheo_verify.probability import arrays
from rheo_verify.probability.distributions import Row, normalise
from rheo_verify.probability.enumeration import law_of
from rheo_verify.probability.rationals import ZERO, exact
from rheo_verify.verification.layer import exact_law, sampled_index
from rheo_verify.verification.rules import RULES, layer_rule


@st.composite
def rows(draw: Any, vocab: int) -> Row:
    return normalise([exact(w) for w in draw(st.lists(st.integers(0, 4), min_size=vocab, max_size=vocab).filter(any))])


@st.composite
def layers(draw: Any) -> tuple[Row, list[int], list[Row | None]]:
    """A target, distinct candidates in slot order, one of them perhaps sampled, with p = q at times."""
    vocab = draw(st.integers(1, 5))
    p = draw(rows(vocab))
    q = p if draw(st.integers(0, 3)) == 0 else draw(rows(vocab))
    candidates = draw(st.permutations(range(vocab)))[: draw(st.integers(0, vocab))]
    laws: list[Row | None] = [None] * len(candidates)
    if candidates and draw(st.booleans()):
        laws[draw(st.integers(0, len(candidates) - 1))] = q
    return p, candidates, laws


def _weights(*weights: int) -> Row:
    return normalise([exact(weight) for weight in weights])


IMPOSSIBLE = (_weights(1, 1, 2, 1), [0, 1, 3], [None, _weights(1, 0, 1, 0), None])
"""One lead, then a token that q~ cannot produce, then a fill."""


@pytest.mark.parametrize("name", RULES)
@given(layer=layers())
@example(layer=IMPOSSIBLE)
def test_law_is_the_law_of_the_steps(name: str, layer: Any) -> None:
    p, candidates, laws = layer
    rule = layer_rule(name)
    columns = [None if law is None else arrays.row_array(law) for law in laws]
    steps = law_of(lambda chance: rule.verify(chance, arrays.row_array(p), candidates, columns))
    law = exact_law(rule, p, candidates, laws)
    stated = {(token, index): p for index, (token, p) in enumerate(zip(candidates, law.accept, strict=True)) if p}
    stated |= {(token, None): p for token, p in enumerate(law.residual) if p}
    assert {tuple(outcome): probability for outcome, probability in steps.items()} == stated
    assert sum(law.accept) + sum(law.residual) == 1


@pytest.mark.parametrize("name", RULES)
@given(layer=layers())
def test_rows_are_left_as_they_are(name: str, layer: Any) -> None:
    p, candidates, laws = layer
    row = arrays.row_array(p)
    columns = [None if law is None else arrays.row_array(law) for law in laws]
    law_of(lambda chance: layer_rule(name).verify(chance, row, candidates, columns))
    layer_rule(name).law(row, np.array(candidates, dtype=np.int64), columns)
    assert tuple(row) == p
    assert all(law is None or tuple(column) == law for law, column in zip(laws, columns, strict=True))


@pytest.mark.parametrize("kind", ["float", "torch"])
@pytest.mark.parametrize("name", RULES)
def test_batches_of_floats_agree_with_rationals(name: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    p, q = (rng.integers(0, 5, (200, 6)) + np.eye(6, dtype=int)[rng.integers(0, 6, 200)] for _ in "pq")
    q[:20] = p[:20]
    candidates = rng.permuted(np.tile(np.arange(6), (200, 1)), axis=1)[:, :4]
    q[np.arange(200), candidates[:, 1]] += 1
    wrap: Any = np.asarray
    if kind == "torch":
        wrap = pytest.importorskip("torch").tensor
    rows = [wrap(weights / weights.sum(1, keepdims=True)) for weights in (p, q)]
    accept, residual = layer_rule(name).law(rows[0], wrap(candidates), [None, rows[1], None, None])
    for i in range(200):
        exact_p, exact_q = (normalise([exact(int(w)) for w in weights[i]]) for weights in (p, q))
        law = exact_law(layer_rule(name), exact_p, candidates[i].tolist(), [None, exact_q, None, None])
        weights = np.concatenate([np.asarray(accept[i]), np.asarray(residual[i])])
        expected = [float(x) for x in (*law.accept, *law.residual)]
        if weights.sum() > 1e-9:
            assert np.allclose(weights / weights.sum(), expected, atol=1e-12)
        else:
            raise AssertionError("a law without mass")


@given(layers())
def test_rheo_and_rrsw_are_lossless_on_average_over_the_sampled_token(layer: Any) -> None:
    """Claim layer-lossless, over the whole law: one lead, Y, and the fill that depends on Y."""
    p, candidates, _ = layer
    vocab = len(p)
    if vocab < 2 or not candidates:
        return
    lead = candidates[0]
    q = normalise([ZERO if v == lead else exact(v + 1) for v in range(vocab)])
    for name in ("rheo", "rrsw"):
        emitted = [ZERO] * vocab
        for y in range(vocab):
            if q[y]:
                fill = [v for v in range(vocab) if v not in (lead, y)][:1]
                law = exact_law(layer_rule(name), p, [lead, y, *fill], [None, q, *[None] * len(fill)])
                emitted = [have + q[y] * e for have, e in zip(emitted, law.emitted([lead, y, *fill]), strict=True)]
        assert tuple(emitted) == p


@pytest.mark.parametrize("name", ["rheo", "rrsw"])
@given(layer=layers())
def test_branches_over_all_sampled_tokens_at_once(name: str, layer: Any) -> None:
    """One target, one law and one set of other candidates, against the law for each sampled token by itself."""
    p, candidates, laws = layer
    place = sampled_index(laws)
    if place is None:
        return
    rule, others = layer_rule(name), [*candidates[:place], *candidates[place + 1 :]]
    drawn = [token for token in range(len(p)) if token not in others]
    row, q = arrays.row_array(p)[None], arrays.row_array(laws[place])[None]
    assert rule.branches is not None
    its = rule.branches(row, np.array([others], dtype=np.int64), place, np.array(drawn)[:, None], q)
    accept, residual = its.joined(place)
    for index, token in enumerate(drawn):
        alone = rule.law(row[0], np.array([*others[:place], token, *others[place:]]), [*laws[:place], q[0]])
        assert [*accept[index], *np.broadcast_to(residual, (len(drawn), len(p)))[index]] == [*alone[0], *alone[1]]


def test_p_equals_q_never_rejects() -> None:
    p = normalise([exact(w) for w in (1, 2, 3)])
    law = exact_law(layer_rule("rheo"), p, [2, 0], [p, None])
    assert law.accept == (1, 0)
    assert law.residual == (0, 0, 0)


def test_rrsw_when_the_lead_carries_all_of_the_target() -> None:
    p, q = normalise([exact(1), ZERO, ZERO]), normalise([ZERO, exact(1), exact(1)])
    assert exact_law(layer_rule("rrsw"), p, [0, 1], [None, q]).accept == (1, 0)


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="rheo, rrsw, topk"):
        layer_rule("typical")
    with pytest.raises(ValueError, match="at most one"):
        sampled_index([1, 2])
