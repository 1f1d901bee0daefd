"""Claims that name instances: the instance is computed, and what the claim says of it is compared."""

from __future__ import annotations

import numpy as np

from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.checks.table1 import table1
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import pool_at
from rheo_verify.models.model import context_free, truncate_sampling
from rheo_verify.models.shipped import find_model
from rheo_verify.models.table_file import load_model
from rheo_verify.probability.distributions import one_hot, ranking, truncate
from rheo_verify.probability.rationals import exact
from rheo_verify.verification.rules import layer_rule

from ..check import require
from .scopes import rows


def paper_table() -> str:
    """`table-1`: both proxies."""
    paper, ad_hoc = table1()
    require(paper.result.verdict is Verdict.VERIFIED and paper.factor == exact("1/2"), paper.result.total_variation)
    require(ad_hoc.result.total_variation == exact("4/25"), ad_hoc.result.total_variation)
    require(ad_hoc.given_survival == {1: 1}, ad_hoc.given_survival)
    return "Table 1 computed: lossless with the proxy 1/2, total variation 4/25 with 1/4"


def large_epsilon() -> str:
    """The condition of `scores-never-increase`: without it the decoder is lossy."""
    design = TreeDesign(lead=0, pool=2, beam=2, depth=2, budget=1, epsilon=exact("1/5"))
    result = enumerate_design(load_model(find_model("large-epsilon")), design, layer_rule("rheo"))
    require(result.total_variation == exact("1/8"), result.total_variation)
    require(result.checks["scores-never-increase"] is Verdict.REFUTED, result.checks)
    return "m = 0, epsilon = 1/5: total variation 1/8"


def token_ties() -> str:
    """The instance of `tie-rule`."""
    model = load_model(find_model("uniform-ties"))
    result = enumerate_design(model, TreeDesign(budget=2, ties="token"), layer_rule("rheo"))
    require(result.total_variation == exact("1/4"), result.total_variation)
    return "q uniform on 3 tokens, R = 2: total variation 1/4"


def truncated_drafts() -> str:
    """`support-truncation`: every p, q at V = 3, denominator up to 3, and every support."""
    models = broken = 0
    for target in rows(3, 3):
        for draft in rows(3, 3):
            for support in (1, 2, 3):
                model = truncate_sampling(context_free(target, draft), support)
                require(model.sampling_draft(()) == truncate(draft, support), (target, draft, support))
                for lead in (0, 1):
                    design = TreeDesign(lead=lead, pool=2, depth=1, budget=2)
                    found = enumerate_design(model, design, layer_rule("rheo"))
                    require(not any(found.budgets), (target, draft, support))
                    wrong = TreeDesign(lead=lead, pool=2, depth=1, budget=2, verification="ranking")
                    broken += any(enumerate_design(model, wrong, layer_rule("rheo")).budgets)
                    models += 1
    require(broken > 0, "verifying against the full draft is never lossy")
    return f"{models:,} truncated drafts lossless; {broken:,} of them lossy when verified against the full draft"


def cold_limit() -> str:
    """`cold-limit`: q-hat one-hot at x1, every q at V = 3 with denominator up to 3."""
    compared = 0
    for draft in rows(3, 3):
        best = ranking(draft)[0]
        model = context_free(draft, draft, one_hot(best, 3))
        for pool in (1, 2, 3):
            cold = pool_at(model, (), TreeDesign(lead=0, pool=pool))
            plain = pool_at(model, (), TreeDesign(lead=pool, pool=pool))
            chosen = [(it.token, it.factor) for it in cold.candidates(best)]
            require(chosen == [(it.token, it.factor) for it in plain.candidates(None)], (draft, pool))
            require(pool_at(model, (), TreeDesign(lead=1, pool=pool)).sampling_law is None, (draft, pool))
            compared += 1
    return f"{compared:,} pools: m = 0 gives top-K with its scores; m = 1 leaves no sampled slot"


def half_precision() -> str:
    """`residual-mass-rounding`, level 0: random fp16 rows of 128 tokens, m = 1."""
    dice = np.random.default_rng(0)
    logits = dice.normal(scale=8, size=(4000, 128)).astype(np.float32)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    row = np.sort((weights / weights.sum(axis=1, keepdims=True)).astype(np.float16), axis=1)[:, ::-1]
    difference = (np.float16(1) - row[:, 0]).astype(np.float16)
    tail = np.zeros(len(row), dtype=np.float16)
    for column in range(1, 128):
        tail = (tail + row[:, column]).astype(np.float16)
    fill = row[:, 1]
    by_difference, by_tail = (int((np.minimum(row[:, 0], z) < fill).sum()) for z in (difference, tail))
    require(by_difference > 0, "the difference broke no row")
    require(by_tail == 0, f"the tail sum broke {by_tail} rows")
    return f"4,000 random fp16 rows: 1 - q(x1) puts a fill above the proxy in {by_difference}, the tail sum in none"
