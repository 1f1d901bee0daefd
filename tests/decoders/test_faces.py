"""A rule's law is the law of its steps, on siblings as they are drafted for it and on arbitrary ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheo_verify.drafting.hub import HUB
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.siblings import Siblings
from rheo_verify.drafting.top import TOP
from rheo_verify.drafting.top_and_sampled import TOP_AND_SAMPLED
from rheo_verify.drafting.two_stage import TWO_STAGE
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.probability.arrays import row_array
from rheo_verify.probability.distributions import distribution
from rheo_verify.probability.enumeration import enumerate_paths, law_of
from rheo_verify.probability.rationals import over_common_denominator
from rheo_verify.verification import (
    greedy_multi_draft,
    recursive_rejection,
    rrsw,
    sampler_match,
    spechub,
    spectr,
    transport_rules,
)
from rheo_verify.verification.average import average_by_enumeration, average_by_rejection
from rheo_verify.verification.layer import LayerRule, Outcome, exact_law
from rheo_verify.verification.lenient import lenient
from rheo_verify.verification.pairs import averages_of_pairs

from .instances import rows

PAIRS = [
    (recursive_rejection.RULE, IID, 3),
    (recursive_rejection.RULE, WITHOUT_REPLACEMENT, 3),
    (recursive_rejection.RULE, TOP, 2),
    (recursive_rejection.RULE, TOP_AND_SAMPLED, 3),
    (recursive_rejection.RULE, TWO_STAGE, 2),
    (sampler_match.RULE, IID, 3),
    (sampler_match.RULE, TOP, 2),
    (spectr.RULE, IID, 2),
    (spectr.RULE, IID, 3),
    (spectr.LOWER_END, IID, 2),
    (spechub.RULE, HUB, 2),
    (greedy_multi_draft.RULE, TOP_AND_SAMPLED, 2),
    (greedy_multi_draft.RULE, TOP_AND_SAMPLED, 3),
    (transport_rules.of_siblings(IID), IID, 2),
    (transport_rules.of_siblings(WITHOUT_REPLACEMENT), WITHOUT_REPLACEMENT, 2),
    (lenient(2), IID, 1),
]
IDS = [f"{rule.name}-{siblings.name}-{count}" for rule, siblings, count in PAIRS]


@pytest.mark.parametrize(("rule", "siblings", "count"), PAIRS, ids=IDS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_law_is_the_law_of_the_steps(rule: LayerRule, siblings: Siblings, count: int, data: st.DataObject) -> None:
    vocab = data.draw(st.integers(2, 3))
    target, draft, sampling = (data.draw(rows(vocab)) for _ in range(3))
    for path in enumerate_paths(lambda chance: tuple(siblings.draw(chance, draft, sampling, count))):
        tokens, laws = [token for token, _ in path.result], [law for _, law in path.result]
        arrays = [None if law is None else row_array(law) for law in laws]
        steps = law_of(lambda chance: rule.verify(chance, row_array(target), tokens, arrays))  # noqa: B023
        found = exact_law(rule, target, tokens, laws)
        outcomes = {Outcome(token, i): p for i, (token, p) in enumerate(zip(tokens, found.accept, strict=True))}
        outcomes |= {Outcome(token, None): p for token, p in enumerate(found.residual)}
        assert steps == {outcome: p for outcome, p in outcomes.items() if p}


@pytest.mark.parametrize(("rule", "siblings", "count"), PAIRS, ids=IDS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_lossless_layer_rules_emit_the_target(
    rule: LayerRule, siblings: Siblings, count: int, data: st.DataObject
) -> None:
    vocab = data.draw(st.integers(2, 4))
    target, draft, sampling = (data.draw(rows(vocab)) for _ in range(3))
    found = average_by_enumeration(rule, siblings, target, draft, sampling, count)
    emitted = [sum(column) for column in zip(found.stop, *found.descend, strict=True)]
    assert sum(emitted) == found.scale
    if rule.name not in ("spectr-lower-end", "lenient 2"):
        assert all(total == p * found.scale for total, p in zip(emitted, target, strict=True))


@pytest.mark.parametrize(
    "siblings", [IID, WITHOUT_REPLACEMENT, TOP, TOP_AND_SAMPLED, TWO_STAGE, HUB], ids=lambda s: s.name
)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_average_by_rejection_is_the_enumerated_average(siblings: Siblings, data: st.DataObject) -> None:
    vocab = data.draw(st.integers(2, 4))
    count = 2 if siblings in (TWO_STAGE, HUB) else data.draw(st.integers(1, 3))
    target, draft, sampling = (data.draw(rows(vocab)) for _ in range(3))
    integers = [over_common_denominator(row)[0] for row in (target, draft, sampling)]
    fast = average_by_rejection(siblings, *integers, count)
    slow = average_by_enumeration(recursive_rejection.RULE, siblings, target, draft, sampling, count)
    for quick, sure in zip((*fast.descend, fast.stop), (*slow.descend, slow.stop), strict=True):
        assert [value * slow.scale for value in quick] == [value * fast.scale for value in sure]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_many_pairs_at_once_are_each_pair_by_itself(data: st.DataObject) -> None:
    """Zeros, certain drafts, weights that no machine integer holds the products of."""
    vocab = data.draw(st.integers(1, 5))
    weight = st.one_of(st.integers(0, 4), st.integers(0, 4), st.integers(0, 300), st.just(2**40 + 1))
    row = st.lists(weight, min_size=vocab, max_size=vocab).filter(any)
    targets, samplings = zip(*data.draw(st.lists(st.tuples(row, row), min_size=1, max_size=6)), strict=True)
    for target, sampling, fast in zip(targets, samplings, averages_of_pairs(targets, samplings), strict=True):
        slow = average_by_rejection(WITHOUT_REPLACEMENT, target, sampling, sampling, 2)
        assert fast is not None or max(*target, *sampling) > 4
        if fast is not None:
            assert fast.paths == slow.paths
            for quick, sure in zip((*fast.descend, fast.stop), (*slow.descend, slow.stop), strict=True):
                assert [value * slow.scale for value in quick] == [value * fast.scale for value in sure]


def test_pairs_in_chunks_and_pairs_that_do_not_fit() -> None:
    """More contexts than one chunk takes; and one whose scale is just past 63 bits."""
    rows = [[1 + (place * v) % 7 for v in range(40)] for place in range(400)]
    found = list(averages_of_pairs(rows, rows[::-1]))
    assert len(found) == 400
    for place in (0, 163, 164, 399):
        slow = average_by_rejection(WITHOUT_REPLACEMENT, rows[place], rows[-1 - place], rows[-1 - place], 2)
        fast = found[place]
        if fast is not None:
            assert [v * slow.scale for v in fast.stop] == [v * fast.scale for v in slow.stop]
    assert sum(fast is not None for fast in found) > 100
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23]
    for count, fits in ((8, True), (9, False)):  # scales of 50 and of 74 bits
        (found_one,) = averages_of_pairs([[*([1] * (count - 1)), 60]], [primes[:count]])
        assert (found_one is not None) == fits
    assert list(averages_of_pairs([[2**70, 1]], [[1, 1]])) == [None]


@given(data=st.data())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_siblings_that_say_that_they_remove(data: st.DataObject) -> None:
    """What comes next is q-hat without the tokens drawn: the fast averages count on it."""
    row = data.draw(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any))
    assert [it.name for it in (IID, WITHOUT_REPLACEMENT, TOP, TOP_AND_SAMPLED, TWO_STAGE, HUB) if it.removes] == [
        "without-replacement"
    ]
    drawn = tuple(data.draw(st.permutations(range(3)))[: data.draw(st.integers(0, 3))])
    left = [0 if token in drawn else weight for token, weight in enumerate(row)]
    assert WITHOUT_REPLACEMENT.following([1, 1, 1], row, drawn, 3) == (left if any(left) else None)


def test_a_memory_that_merges_some_pasts() -> None:
    """The second draft depends on whether the first was even: two pasts are told apart out of four."""

    def following(draft: Any, sampling: Any, drawn: tuple[int, ...], count: int) -> Any:
        return draft if drawn and drawn[-1] % 2 else sampling

    siblings = Siblings("by parity", following, memory=lambda drawn: drawn[-1] % 2)
    target, draft, sampling = [1, 1, 1, 9], [4, 2, 3, 1], [2, 5, 3, 2]
    fast = average_by_rejection(siblings, target, draft, sampling, 2)
    rows = map(distribution, (target, draft, sampling))
    slow = average_by_enumeration(recursive_rejection.RULE, siblings, *rows, 2)
    for quick, sure in zip((*fast.descend, fast.stop), (*slow.descend, slow.stop), strict=True):
        assert [value * slow.scale for value in quick] == [value * fast.scale for value in sure]


def test_siblings_that_run_out() -> None:
    """Three drafts without replacement of a draft that knows one token, or two."""
    target = distribution([1, 2, 3])
    for sampling in ([0, 1, 0], [2, 1, 0]):
        fast = average_by_rejection(WITHOUT_REPLACEMENT, [1, 2, 3], sampling, sampling, 3)
        row = distribution(sampling)
        slow = average_by_enumeration(recursive_rejection.RULE, WITHOUT_REPLACEMENT, target, row, row, 3)
        for quick, sure in zip((*fast.descend, fast.stop), (*slow.descend, slow.stop), strict=True):
            assert [value * slow.scale for value in quick] == [value * fast.scale for value in sure]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_recursive_rejection_is_rrsw_with_one_sampled_candidate(data: st.DataObject) -> None:
    vocab = data.draw(st.integers(2, 4))
    target, law = data.draw(rows(vocab)), data.draw(rows(vocab))
    drawn = data.draw(st.sampled_from([token for token, p in enumerate(law) if p]))
    others = [token for token in range(vocab) if token != drawn]
    place = data.draw(st.integers(0, len(others)))
    candidates = [*others[:place], drawn, *others[place:]]
    laws = [law if token == drawn else None for token in candidates]
    one = LayerRule("rrsw", rrsw.verify, rrsw.law)
    assert exact_law(one, target, candidates, laws) == exact_law(recursive_rejection.RULE, target, candidates, laws)


def test_recursive_rejection_is_batched() -> None:
    import numpy as np

    generator = np.random.default_rng(0)
    target, first, second = (generator.dirichlet(np.ones(5), size=7) for _ in range(3))
    candidates = np.array([[i % 5, (i + 2) % 5] for i in range(7)])
    accept, residual = recursive_rejection.law(target, candidates, [first, second])
    for row in range(7):
        alone = recursive_rejection.law(target[row], candidates[row], [first[row], second[row]])
        np.testing.assert_allclose(accept[row], alone[0])
        np.testing.assert_allclose(residual[row], alone[1])
