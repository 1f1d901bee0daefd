"""One entry per claim: its statement, where the paper has it, and every check of it, by level.

Levels: 0 random instances, 1 every instance in a stated finite scope, 2 all real p and q at fixed sizes (symbolic), 3
all sizes (Rocq, no axioms). *Italics* in a statement: conditions that the paper does not state. `proofs/README.md`,
`docs/reference/claims.md` and `python -m rheo_verify prove` are made from this table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One claim.

    paper: where the paper has it, "–" if it does not; says: in what the paper's statement differs. rocq: theorems of
    proofs/rocq. checks: level and `module:function` below `proofs`. beside: the checks and theorems that show that a
    condition is needed. seen: how else the project checks it. missing: what no machine has checked yet. conditions,
    instance, code: of acceptance claims, what holds beside the statement, an instance with its numbers, and its files.
    """

    id: str
    statement: str
    paper: str
    rocq: tuple[str, ...] = ()
    checks: tuple[tuple[int, str], ...] = ()
    beside: tuple[str, ...] = ()
    seen: str = ""
    says: str = ""
    missing: str = ""
    conditions: str = ""
    instance: str = ""
    code: str = ""


CLAIMS = (
    Claim(
        "lossless",
        "what a cycle emits, extended by the target, has exactly the target's law, for every budget R, under `rheo` "
        "and `rrsw`; hence many cycles do, too",
        "Theorem 1, Eq. (3)",
        rocq=(
            "lossless_rheo",
            "lossless_rrsw",
            "lossless_decoding_rheo",
            "lossless_decoding_rrsw",
            "lossless_rheo_pools",
            "lossless_rrsw_pools",
        ),
        checks=((1, "bounded.trees:every_small_tree"),),
        beside=(
            "table_1",
            "scores_never_increase_needs_eps",
            "bounded.instances:large_epsilon",
        ),
        seen="`enumerate`; `tests/test_claims.py`",
        says="the paper states no condition on ε; the theorem has 0 ≤ ε, and q(x₁) + ε ≤ 1 when m = 0",
    ),
    Claim(
        "sampled-outranks-fill",
        "in a pool, the sampled slot's factor is at least every fill's, whatever is drawn",
        "Lemma 1",
        rocq=("sampled_outranks_fill",),
        checks=((1, "bounded.trees:every_small_tree"),),
        beside=("bounded.instances:half_precision",),
        seen="`enumerate`",
    ),
    Claim(
        "scores-never-increase",
        "a child's path score is at most its parent's, so a pruned tree keeps its ancestors. *Needs every factor ≤ "
        "1: for m = 0 with ε > 1 − q(x₁) it fails, and losslessness with it (model `large-epsilon`: TV 1/8)*",
        "Lemma 2",
        rocq=("scores_never_increase",),
        checks=((1, "bounded.trees:every_small_tree"),),
        beside=("scores_never_increase_needs_eps", "bounded.instances:large_epsilon"),
        seen="`enumerate`",
        says="the paper takes every factor to be a probability",
    ),
    Claim(
        "slot-determinism",
        "over all unpruned trees with the same T_k: the next node is in the same slot; a lead or fill token is the "
        "same; a sampled one has law q̃",
        "Lemma 4",
        rocq=("slot_determinism", "slot_determinism_law"),
        checks=((1, "bounded.trees:every_small_tree"),),
        beside=("table_1_survival", "tie_rule"),
        seen="`enumerate`",
    ),
    Claim(
        "layer-lossless",
        "at one context the layer emits p: one more deterministic candidate changes nothing, one more sampled one "
        "nothing on average over q̃ (*`rrsw`: with the candidates before it fixed before the draw*)",
        "C.3, cases 1, 2",
        rocq=(
            "layer_lossless_rheo",
            "layer_lossless_rheo_det",
            "layer_lossless_rheo_none",
            "layer_lossless_rrsw",
            "layer_lossless_rrsw_det",
            "layer_lossless_rrsw_none",
            "layer_lossless_topk",
        ),
        checks=(
            (2, "symbolic.layers:one_draft_for_all_reals"),
            (2, "symbolic.layers:pools_for_all_reals"),
            (2, "symbolic.layers:rrsw_for_all_reals"),
            (2, "symbolic.solver:one_draft"),
            (1, "bounded.layers:layers_emit_the_target"),
            (1, "bounded.layers:fixed_candidates_change_nothing"),
            (1, "bounded.acceptance:layers_are_lossless"),
        ),
        beside=(
            "adapted_growth_rrsw_needs_order",
            "symbolic.solver:another_law",
            "symbolic.solver:target_for_residual",
            "symbolic.solver:lead_after_the_draw",
        ),
        seen="`enumerate`; `tests/test_rules.py`",
    ),
    Claim(
        "adapted-growth",
        "a tree grown one node at a time by a policy that looks only at what is revealed, with sampled tokens of "
        "the stated law given it, and a rule that meets the step condition, is verified losslessly; `rheo` meets it "
        "always when fills come after the sampled slot, *`rrsw` if nothing that it tests before the sampled slot is "
        "revealed after it*",
        "–",
        rocq=(
            "adapted_growth",
            "adapted_growth_policy",
            "adapted_growth_decode",
            "adapted_growth_rheo",
            "adapted_growth_rrsw",
            "adapted_growth_topk",
        ),
        checks=((1, "bounded.layers:descents_are_kept"), (1, "bounded.trees:every_small_tree")),
        beside=("adapted_growth_rrsw_needs_order",),
        seen="`enumerate`; conditions: `checks/layers.py`",
    ),
    Claim(
        "eager-equals-lazy",
        "build-then-prune and best-first growth give the same law of T_R, *if factors are ≤ 1, ties go by position, "
        "and the sampled factor is at least every fill's*",
        "–",
        rocq=("eager_equals_lazy", "lazy_is_eager"),
        checks=((1, "bounded.trees:every_small_tree"),),
        beside=("table_1", "tie_rule"),
        seen="`enumerate --method exhaustive`; `tests/test_engines.py`",
    ),
    Claim(
        "blame",
        "at the smallest lossy budget R*, the R*-th node sits in a sampled slot whose token, given T_{R*−1} and "
        "this slot, does not have law q̃; otherwise the rule is to blame",
        "–",
        rocq=("blame", "blame_rule"),
        checks=((1, "bounded.trees:blame_finds_a_slot"),),
        seen="`enumerate` when refuted",
        missing="the theorems ask that every node hangs on the tree when it is added; a design whose pruned tree keeps "
        "a node and not its parent (factors above 1) is level 1",
    ),
    Claim(
        "acceptance-rheo",
        "all n candidates survive, n ≥ m+1, *and the lead does not carry all of q̂*: Theorem 3's closed form, and "
        "its bound; *the residual term is 0 if p = q̃; without a sampled slot the rate is Σ p over the candidates*",
        "Theorem 3",
        rocq=("acceptance_rheo", "acceptance_rheo_bound", "acceptance_none"),
        checks=((1, "bounded.acceptance:rheo_rate"),),
        seen="`acceptance`; `tests/acceptance/test_acceptance_rheo.py`",
        says="the paper does not treat p = q̃, nor pools without a sampled slot",
        instance="p = (1, 0, 2, 1)/4, q uniform, m = 1, n = 3: 29/30 (bound 1)",
        code="checks/closed_forms.py",
    ),
    Claim(
        "acceptance-rrsw",
        "under the same conditions D.2's closed form, *with p̃ = 0 on the lead; 1 if the lead carries all of p*",
        "D.2",
        rocq=("acceptance_rrsw", "acceptance_rrsw_one", "acceptance_none"),
        checks=((1, "bounded.acceptance:rrsw_rate"),),
        seen="`acceptance`; `tests/acceptance/test_acceptance_rheo.py`",
        says="the paper divides by 1 − a without a condition",
        instance="the same instance: 1",
        code="checks/closed_forms.py",
    ),
    Claim(
        "rheo-versus-rrsw",
        "*not always* Rheo ≥ RRSw: V = 4, m = 1, n = 3, p = (1, 0, 2, 1)/4, q uniform: 29/30 < 1, of the smallest "
        "common denominator; V ≤ 3 cannot occur",
        "D.3",
        rocq=("rheo_versus_rrsw", "rheo_at_least_rrsw", "rheo_at_least_rrsw_up_to_three"),
        checks=(
            (1, "bounded.acceptance:rheo_below_rrsw_at_four"),
            (1, "bounded.acceptance:rheo_at_least_rrsw_up_to_three"),
            (2, "symbolic.solver:rrsw_can_win_at_four"),
        ),
        seen="`search`; `tests/acceptance/test_search.py`",
        says="the paper: Rheo ≥ RRSw “almost always”, under an approximation",
        conditions="it holds for m = 0 (equal), n = m+1 (Rheo is the optimum) and n = V (both 1), hence for V ≤ 3",
        instance="V = 4, m = 1, n = 3, p = (1, 0, 2, 1)/4, q uniform: 29/30 < 1, the smallest; 471 of 39,368 pairs "
        "up to denominator 12",
        code="checks/search.py",
        missing="that no smaller common denominator does is level 1: the theorems leave one layer at V = 4, that of "
        "m = 1 and n = 3, where a sweep goes through all p and q with denominators 1 to 3",
    ),
    Claim(
        "single-draft-rates",
        "one sampled draft: Σ min(p, q̂); one top-1 draft: p(x₁)",
        "Fig. 1",
        rocq=("single_draft_rates",),
        checks=((2, "symbolic.layers:single_rate_for_all_reals"), (1, "bounded.acceptance:single_rates")),
        seen="`acceptance`; `tests/acceptance/test_acceptance_rheo.py`",
        instance="p = (1, 0, 2, 1)/4, q uniform: 3/4 and 1/4",
        code="checks/closed_forms.py",
    ),
    Claim(
        "top-k-imperfect",
        "with p = q, pure top-K accepts less than 1 exactly if the support of p is not inside Top_K; *with a "
        "surviving sampled slot acceptance is 1, for every m, under `rheo` and `rrsw`*",
        "§2.2",
        rocq=(
            "top_k_imperfect",
            "top_k_imperfect_iff",
            "top_k_imperfect_rheo",
            "top_k_imperfect_rrsw",
        ),
        checks=((1, "bounded.acceptance:perfect_draft"),),
        seen="`acceptance`; `tests/test_claims.py`",
        conditions="pure top-K accepts Σ p over Top_K",
        instance="p = q = (1, 1, 1, 1)/4, n = 3: 3/4 against 1",
        code="checks/closed_forms.py",
    ),
    Claim(
        "optimal-acceptance",
        "for a law of candidate sets, the most that any layer rule accepts is min over token sets T of p(T) + "
        "Pr(set ⊄ T), a largest flow; `rheo`, `rrsw` ≤ optimum ≤ Theorem 3's bound, and `rheo` reaches it for n = "
        "m+1",
        "–",
        rocq=("optimal_acceptance", "optimal_acceptance_rheo", "optimal_acceptance_bound", "acceptance_rrsw_bound"),
        checks=((1, "bounded.acceptance:optimum"),),
        seen="`acceptance`; `tests/acceptance/test_optimal_acceptance.py`",
        missing="level 3 has weak duality (no rule exceeds any cut) and the optimum for n = m+1; that some rule "
        "reaches the smallest cut in general is checked per instance, by a flow and a cut of equal value",
        conditions="for q̂ = q the gap of Rheo is at most w/(w+1+max(w, k)), w = V−n, k = n−m−1, and this is reached",
        instance="V = 3, m = 0, n = 2, p = (1, 2, 0)/3, q uniform: Rheo 2/3, optimum 1",
        code="checks/optimal.py, verification/optimal_transport.py",
    ),
    Claim(
        "pruned-optimum",
        "in a pruned dynamic tree a transport plan chosen for the n seen is lossy (an instance: every optimal plan "
        "has TV at least 1/4); `rheo` and `rrsw` are immune",
        "–",
        rocq=("pruned_optimum",),
        seen="`tests/acceptance/test_pruned_optimum.py`",
        conditions="ordered tuples told apart included; the rule is to blame",
        instance="model pruned-optimum: total variation 1/3 for plans on sets, at least 1/4 for every optimal plan",
        code="checks/per_cycle.py",
    ),
    Claim(
        "table-1",
        "q = (1/2, 3/10, 1/5), m = 1, K = 3, R = 2: the proxy 1/2 keeps the sampled slot whatever Y is; the ad-hoc "
        "1/4 keeps it only if Y = B. With p = (1/5, 1/5, 3/5) its output is off by TV 4/25",
        "Table 1",
        rocq=("table_1", "table_1_proxy", "table_1_survival"),
        checks=((1, "bounded.instances:paper_table"),),
        seen="`table1`",
    ),
    Claim(
        "raw-score-ranking",
        "ranking the sampled slot by q(Y) breaks losslessness",
        "§3.1",
        rocq=("raw_score_ranking",),
        checks=((1, "bounded.trees:raw_scores_are_lossy"),),
        seen="`enumerate --proxy raw`",
    ),
    Claim(
        "tie-rule",
        "breaking score ties by token is lossy (model `uniform-ties`: TV 1/4); by position it is lossless",
        "C.1",
        rocq=("tie_rule",),
        checks=((1, "bounded.instances:token_ties"), (1, "bounded.trees:token_ties_are_lossy")),
        seen="`enumerate --ties token`",
    ),
    Claim(
        "residual-mass-rounding",
        "computing z as 1 − Σ q(xᵢ) in low precision breaks `sampled-outranks-fill`; the tail sum does not",
        "–",
        checks=((0, "bounded.instances:half_precision"),),
        missing="level 0: a statement about rounding, on random fp16 rows",
    ),
    Claim(
        "support-truncation",
        "a truncated q̂ keeps losslessness if verification uses it; the full q̂ there breaks it",
        "§3.2, App. B",
        rocq=("lossless_rheo", "support_truncation"),
        checks=((1, "bounded.instances:truncated_drafts"),),
        beside=("symbolic.solver:another_law",),
        seen="`enumerate --support S`, `--verification ranking`",
        says="level 3 is `lossless` itself: its sampling draft is any distribution",
    ),
    Claim(
        "cold-limit",
        "T → 0. m = 0, *ε = 0*: q̂ one-hot at x₁ gives exactly the top-K tree. m = 1: *q̃* one-hot at x₂ gives "
        "top-K's tokens but another tree in general (*q̂ one-hot at x₁ leaves no sampled slot: top-K*)",
        "§5.4",
        rocq=(
            "cold_limit_0",
            "cold_limit_0_tree",
            "cold_limit_1",
            "cold_limit_1_other_tree",
            "cold_limit_1_none",
            "cold_limit_1_none_tree",
        ),
        checks=((1, "bounded.instances:cold_limit"),),
        seen="`tests/acceptance/test_cold_limit.py`",
        conditions="m ≥ 1: q̃ one-hot at x_{m+1} gives top-K's tokens in every pool",
        instance="q = (2, 1, 1)/4, m = 1, K = W = 3, D = 2, R = 6: another tree",
        code="checks/temperature.py",
    ),
)
