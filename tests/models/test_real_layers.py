"""The exact layer check against a slow twin: floor 2 row by row, dense, one outcome at a time, in rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from rheo_verify.checks.planted import planted
from rheo_verify.checks.real_layers import check_layers
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import pool_at
from rheo_verify.drafting.ranks import rank_classes, rank_pools
from rheo_verify.models import rows as rows_of_models
from rheo_verify.models.model import Model, from_functions
from rheo_verify.models.rows import DraftRows, RowSettings, draft_rows, ranked_rows, stable_top, target_rows
from rheo_verify.probability.distributions import normalise
from rheo_verify.verification.layer import LayerRule, exact_law
from rheo_verify.verification.rules import layer_rule

VOCAB, SUPPORT = 14, 8
IDS = torch.tensor([0, 1, 3, 4, 6, 7, 8, 9, 11, 12, 13])


def rows(count: int, temperature: float = 1.0, seed: int = 0) -> tuple[torch.Tensor, DraftRows]:
    generator = torch.Generator().manual_seed(seed)
    target = torch.randn(count, VOCAB, generator=generator) * 2
    draft = (target[:, IDS] + torch.randn(count, len(IDS), generator=generator)).round()  # ties
    settings = RowSettings(temperature, SUPPORT)
    return target_rows(target, settings), draft_rows(draft, IDS, settings)


def twin(p: torch.Tensor, drafts: DraftRows, row: int, rule: str, m: int, k: int, kept: int) -> tuple[Any, Fraction]:
    """Output law and acceptance of one row, in rationals made from the floats, through `pool_at` and `exact_law`."""
    ranking, sampling = drafts.sparse(VOCAB)[row]
    target = normalise([Fraction(float(x)) for x in p[row]])
    model = Model(VOCAB, None, lambda _: ranking, lambda _: sampling, (), "twin")  # type: ignore[arg-type, return-value]
    pool = pool_at(model, (), TreeDesign(lead=m, pool=k))
    emitted = [Fraction(0)] * VOCAB
    accepted = Fraction(0)
    law = None
    if pool.sampling_law is not None:
        law = normalise([Fraction(float(x)) for x in pool.sampling_law.dense()])  # type: ignore[attr-defined]
    for outcome in pool.outcomes or (None,):
        slots = pool.candidates(outcome)[:kept]
        weight = Fraction(1) if law is None or outcome is None else law[outcome]
        laws = [law if it.kind == "sampled" else None for it in slots]
        layer = exact_law(layer_rule(rule), target, [it.token for it in slots], laws)
        accepted += weight * sum(layer.accept)
        emitted = [a + weight * b for a, b in zip(emitted, layer.emitted([it.token for it in slots]), strict=True)]
    return emitted, accepted


@pytest.mark.parametrize("rule", ["rheo", "rrsw", "topk"])
@pytest.mark.parametrize(("m", "k", "kept"), [(0, 3, 3), (1, 4, 4), (1, 4, 2), (2, 5, 1), (3, 3, 3), (2, 3, 3)])
def test_against_the_slow_twin(rule: str, m: int, k: int, kept: int) -> None:
    p, drafts = rows(5)
    fast = check_layers(p, drafts, layer_rule(rule), lead=m, pool=k, kept=kept)
    for row in range(5):
        emitted, accepted = twin(p, drafts, row, rule, m, k, kept)
        target = [Fraction(float(x)) for x in p[row]]
        assert float(fast.acceptance[row]) == pytest.approx(float(accepted), abs=1e-13)
        distance = float(sum(abs(a - b) for a, b in zip(emitted, target, strict=True)) / 2)
        assert float(fast.total_variation[row]) == pytest.approx(distance, abs=1e-13)
    if rule != "topk" or kept <= m:
        assert fast.worst < 1e-14


@pytest.mark.parametrize("rule", ["rheo", "rrsw"])
@pytest.mark.parametrize("temperature", [1.0, 0.3, 0.002])
def test_outcomes_that_share_work_against_each_by_itself(rule: str, temperature: float) -> None:
    """`branches` over classes of outcomes against `law` on each, for every lead, pool and number of survivors."""
    p, drafts = rows(30, temperature, seed=8)
    p[:3] = torch.nn.functional.one_hot(drafts.tokens[:3, 0], VOCAB)
    p[3:6] = torch.zeros(3, VOCAB, dtype=torch.float64).scatter_(1, drafts.tokens[3:6], drafts.sampling[3:6])  # p = q
    known = layer_rule(rule)
    alone = LayerRule(known.name, known.verify, known.law)
    for pool in range(1, SUPPORT + 1):
        for lead in range(pool):
            for kept in range(1, pool + 1):
                fast, slow = (check_layers(p, drafts, it, lead=lead, pool=pool, kept=kept) for it in (known, alone))
                torch.testing.assert_close(fast.acceptance, slow.acceptance, rtol=0, atol=1e-13)
                torch.testing.assert_close(fast.deviation, slow.deviation, rtol=0, atol=1e-13)
                torch.testing.assert_close(fast.total_variation, slow.total_variation, rtol=0, atol=1e-13)


def test_classes_of_outcomes() -> None:
    """By hand: S = 5, one lead, K = 3. Rank 1 has the fill 2, every other rank the fill 1."""
    assert rank_classes(5, 1, 3, 3) == ((((0, 2),), (1,)), (((0, 1),), (2, 3, 4)))
    assert rank_classes(5, 1, 3, 2) == ((((0,),), (1, 2, 3, 4)),)
    assert rank_classes(3, 0, 2, 2) == ((((1,),), (0,)), (((0,),), (1, 2)))
    assert rank_classes(2, 0, 2, 2) == ((((1,), (0,)), (0, 1)),)


def test_a_planted_fault_is_measured_as_it_is() -> None:
    p, drafts = rows(6)
    fault = planted(layer_rule("rheo"), "residual-from-p", 1.0)
    found = check_layers(p, drafts, fault, lead=1, pool=3)
    assert float(found.total_variation.min()) > 1e-3
    # by hand: rejected mass times p instead of what the residual is
    row, law = p[0], drafts.sampling[0].clone()
    law[:1] = 0
    q = torch.zeros(VOCAB, dtype=torch.float64).index_put_((drafts.tokens[0],), law / law.sum())
    emitted = torch.zeros(VOCAB, dtype=torch.float64)
    x = drafts.tokens[0].tolist()
    for y in x[1:]:
        accept = min(1.0, float(row[y] / q[y])) if q[y] > 0 else 0.0
        emitted[y] += q[y] * accept
        residual = (row - q).clamp(min=0)
        residual = residual / residual.sum()
        others = [x[0], next(t for t in x[1:] if t != y)]
        for token in others:
            emitted[token] += q[y] * (1 - accept) * residual[token]
        emitted += q[y] * (1 - accept) * (1 - residual[others].sum()) * row
    assert float((emitted - row).abs().sum() / 2) == pytest.approx(float(found.total_variation[0]), abs=1e-13)
    assert float((emitted - row).abs().max()) == pytest.approx(float(found.deviation[0]), abs=1e-13)


def test_greedy_rows_and_rows_without_a_sampled_slot() -> None:
    p, drafts = rows(4, temperature=0)
    for m in (0, 1, 2):
        assert check_layers(p, drafts, layer_rule("rheo"), lead=m, pool=3).worst == 0
    cold = check_layers(*rows(4, temperature=0.002), layer_rule("rheo"), lead=1, pool=3)  # q-hat underflows
    assert cold.worst < 1e-12


def test_verifying_against_another_law_than_the_sampled_one_is_lossy() -> None:
    p, drafts = rows(3)

    def law(target: Any, candidates: Any, laws: Any) -> Any:
        squared = [None if it is None else it**2 / (it**2).sum(-1, keepdim=True) for it in laws]
        return rheo.law(target, candidates, squared)

    rheo = layer_rule("rheo")
    found = check_layers(p, drafts, LayerRule("wrong", rheo.verify, law), lead=1, pool=3)
    assert float(found.total_variation.min()) > 1e-3


def test_low_precision_is_worse_in_order() -> None:
    p, drafts = rows(50)
    worst = [
        check_layers(p, drafts, layer_rule("rheo"), lead=1, pool=4, dtype=dtype).worst
        for dtype in ("float64", "float32", "float16", "bfloat16")
    ]
    assert worst == sorted(worst)
    assert worst[0] < 1e-14 < 1e-9 < worst[1] < 1e-5 < worst[2] < worst[3]


def test_pools_in_ranks_are_pools() -> None:
    assert rank_pools(5, 1, 3) == ((0, 1, 2), (0, 2, 1), (0, 3, 1), (0, 4, 1))
    assert rank_pools(4, 0, 2) == ((0, 1), (1, 0), (2, 0), (3, 0))
    assert rank_pools(4, 2, 2) == ((0, 1),)


def test_stable_top_is_the_ranking_with_ties_across_the_edge() -> None:
    generator = torch.Generator().manual_seed(3)
    values = torch.randint(0, 4, (40, 30), generator=generator).float()
    for count in (1, 5, 29, 30, 99):
        best, ids = stable_top(values, count)
        for row in range(40):
            order = sorted(range(30), key=lambda t, row=row: (-float(values[row, t]), t))[:count]  # type: ignore[misc]
            assert ids[row].tolist() == order
            assert best[row].tolist() == [float(values[row, t]) for t in order]


@pytest.mark.parametrize(("vocab", "count"), [(700, 10), (1029, 33), (1300, 64), (2048, 128), (9000, 10), (8200, 40)])
@pytest.mark.parametrize("steps", [3, 40, 10**6])
@pytest.mark.parametrize("cpu", [True, False])
def test_stable_top_of_a_large_vocabulary(
    vocab: int, count: int, steps: int, cpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many ties, a few, none; whole blocks, and a last one cut short; a row that is all one value; one of -inf.

    With NumPy, and as on any other device.
    """
    if not cpu:
        monkeypatch.setattr(rows_of_models, "_with_numpy", lambda values, count: None)
    generator = torch.Generator().manual_seed(steps + vocab)
    values = torch.randint(0, steps, (12, vocab), generator=generator).double()
    values[3], values[4, 5:] = 1.0, -torch.inf
    values[5, : vocab - count] = -1.0  # the best are the last
    best, ids = stable_top(values, count)
    for row in range(len(values)):
        order = sorted(range(vocab), key=lambda t, row=row: (-float(values[row, t]), t))[:count]  # type: ignore[misc]
        assert ids[row].tolist() == order
        assert best[row].tolist() == [float(values[row, t]) for t in order]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_numpy_finds_what_a_device_finds(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(7)
    values = torch.stack([torch.randperm(1200, generator=generator) for _ in range(6)]).to(dtype)  # bf16 has ties
    values = torch.cat((values, values.flip(-1) - 1300))
    assert rows_of_models._with_numpy(values, 40) is not None
    best, ids = stable_top(values, 40)
    monkeypatch.setattr(rows_of_models, "_with_numpy", lambda values, count: None)
    assert best.dtype == dtype
    assert torch.equal(ids, stable_top(values, 40)[1])
    assert torch.equal(best, values.gather(-1, ids))


@pytest.mark.parametrize("count", [1, 39, 40, 41, 1200])
def test_rows_with_what_is_not_a_number_are_not_mixed_up_with_ties(count: int) -> None:
    values = torch.stack([torch.arange(1200.0)] * 3)
    values[0, 100 : 100 + count] = torch.nan
    first = min(count, 40)
    values[1, 1160 - first :] = 5000.0  # as many too many at the edge as are not numbers in the other row
    best, ids = stable_top(values, 40)
    assert best[0, :first].isnan().all()
    assert ids[1].tolist() == list(range(1160 - first, 1200 - first))
    assert ids[2].tolist() == list(range(1199, 1159, -1))


@pytest.mark.parametrize("cpu", [True, False])
@pytest.mark.parametrize(("vocab", "count"), [(606, 40), (1200, 20), (1200, 40), (1203, 64)])
@pytest.mark.parametrize("lost", [1, 2, 19, 20, 21, 40, 41, 600])
def test_a_tie_at_the_edge_of_a_row_with_what_is_not_a_number(
    vocab: int, count: int, lost: int, cpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both in one row: what is not a number comes first, then falling values, each by token id, on any device."""
    if not cpu:
        monkeypatch.setattr(rows_of_models, "_with_numpy", lambda values, count: None)
    generator = torch.Generator().manual_seed(lost)
    values = torch.randint(0, 12, (5, vocab), generator=generator).double()
    for row in (0, 1, 3):
        values[row, torch.randperm(vocab, generator=generator)[:lost]] = torch.nan
    values[1, torch.randperm(vocab, generator=generator)[: count // 2]] = torch.inf
    values[4] = -torch.inf
    expected, order = values.sort(dim=-1, descending=True, stable=True)
    best, ids = stable_top(values, count)
    assert torch.equal(ids, order[:, :count])
    assert torch.equal(best.nan_to_num(99.0), expected[:, :count].nan_to_num(99.0))


@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("given", [torch.float32, torch.bfloat16, torch.float64])
def test_ranked_rows_are_the_definition(kind: str, given: torch.dtype) -> None:
    logits = (torch.randn(5, 900, generator=torch.Generator().manual_seed(2)) * 3).to(given)
    found = ranked_rows(logits, 64, kind)
    wide = logits.to(getattr(torch, kind))
    best, ids = wide.sort(dim=-1, descending=True, stable=True)
    q = torch.softmax(wide, -1)
    assert torch.equal(found.best, best[:, :64])
    assert torch.equal(found.ids, ids[:, :64])
    close = torch.finfo(wide.dtype).eps * 4
    assert torch.allclose(found.ranking, q.gather(-1, ids[:, :64]), rtol=close, atol=0)
    assert found.rest is not None
    assert torch.allclose(found.rest, q.gather(-1, ids[:, 64:]).sum(-1, keepdim=True), rtol=close * 40, atol=close)
    assert ranked_rows(logits, 64, kind, rest=False).rest is None


def test_draft_rows_keep_the_cut_off_mass() -> None:
    logits = torch.randn(6, len(IDS), generator=torch.Generator().manual_seed(9))
    found = draft_rows(logits, IDS, RowSettings(0.5, 4))
    q = torch.softmax(logits.double(), -1)
    assert torch.allclose(found.ranking.sum(-1) + found.rest, torch.ones(6, dtype=torch.float64))
    assert torch.allclose(found.ranking[:, 0], q.max(-1).values)
    tempered = torch.softmax(logits.double() / 0.5, -1).gather(-1, torch.searchsorted(IDS, found.tokens))
    assert torch.allclose(found.sampling, tempered / tempered.sum(-1, keepdim=True))


def test_the_model_in_torch_is_the_exact_engine_to_rounding() -> None:
    """A table as sparse float rows, enumerated through the same drafting and walk as the rationals."""
    from rheo_verify.decoders.rheosampling import rheosampling
    from rheo_verify.models.random_tables import random_model
    from rheo_verify.probability.distributions import ranking
    from rheo_verify.probability.enumeration import law_of
    from rheo_verify.probability.sparse import SparseRow

    exact = random_model(4, 11)

    def target(context: Any) -> Any:
        return torch.tensor([float(x) for x in exact.target(context)], dtype=torch.float64)

    def draft(context: Any) -> Any:
        row = exact.draft(context)
        order = ranking(row)
        return SparseRow(order, np.array([float(row[token]) for token in order]), 4)

    floats = from_functions(4, target, draft)
    for rule in ("rheo", "rrsw"):
        decoder = rheosampling(TreeDesign(lead=1, pool=3, beam=2, depth=2, budget=4), rule)
        left = law_of(lambda chance, decoder=decoder: decoder.cycle(chance, exact, ()))  # type: ignore[misc]
        right = law_of(lambda chance, decoder=decoder: decoder.cycle(_Floats(chance), floats, ()))  # type: ignore[misc]
        assert left.keys() == right.keys()
        assert max(abs(float(left[key]) - float(right[key])) for key in left) < 1e-14


class _Floats:
    """An enumerating chance that takes tensors; a weight that is rounding alone counts as none."""

    def __init__(self, chance: Any) -> None:
        self.chance = chance

    def choose(self, weights: Any) -> int:
        values = [float(weight) for weight in weights]
        return self.chance.choose([value if value > 1e-14 else 0.0 for value in values])  # type: ignore[no-any-return]

    def flip(self, yes: Any, no: Any) -> bool:
        return self.choose((yes, no)) == 0
