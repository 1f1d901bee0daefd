(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   What each final theorem rests on: every answer must be "Closed under the global context". *)
From RheoVerify Require Import Probability Layer Acceptance Growth StepCondition DynamicTree Rheo ColdLimit.
From RheoVerify Require Import Refutations PrunedOptimum.

(* Layer.v *)
Print Assumptions layer_lossless_rheo_det.
Print Assumptions layer_lossless_rheo_none.
Print Assumptions layer_lossless_rheo.
Print Assumptions layer_lossless_rrsw_none.
Print Assumptions layer_lossless_rrsw.
Print Assumptions layer_lossless_rrsw_det.
Print Assumptions layer_lossless_topk.
(* Acceptance.v *)
Print Assumptions acceptance_rheo.
Print Assumptions acceptance_rheo_bound.
Print Assumptions acceptance_rrsw.
Print Assumptions acceptance_rrsw_one.
Print Assumptions acceptance_none.
Print Assumptions single_draft_rates.
Print Assumptions top_k_imperfect.
Print Assumptions top_k_imperfect_iff.
Print Assumptions top_k_imperfect_rheo.
Print Assumptions top_k_imperfect_rrsw.
Print Assumptions optimal_acceptance.
Print Assumptions optimal_acceptance_rheo.
Print Assumptions optimal_acceptance_bound.
(* Growth.v *)
Print Assumptions adapted_growth.
Print Assumptions adapted_growth_policy.
Print Assumptions adapted_growth_decode.
(* StepCondition.v *)
Print Assumptions adapted_growth_rheo.
Print Assumptions adapted_growth_rrsw.
Print Assumptions adapted_growth_topk.
(* DynamicTree.v *)
Print Assumptions lazy_is_eager.
Print Assumptions eager_equals_lazy.
Print Assumptions slot_determinism.
Print Assumptions slot_determinism_law.
Print Assumptions lossless_rheo_pools.
Print Assumptions lossless_rrsw_pools.
(* Rheo.v *)
Print Assumptions sampled_outranks_fill.
Print Assumptions scores_never_increase.
Print Assumptions lossless_rheo.
Print Assumptions lossless_rrsw.
Print Assumptions lossless_decoding_rheo.
Print Assumptions lossless_decoding_rrsw.
(* ColdLimit.v *)
Print Assumptions cold_limit_0.
Print Assumptions cold_limit_1.
Print Assumptions cold_limit_1_none.
(* Refutations.v *)
Print Assumptions table_1.
Print Assumptions table_1_proxy.
Print Assumptions table_1_survival.
Print Assumptions raw_score_ranking.
Print Assumptions support_truncation.
Print Assumptions scores_never_increase_needs_eps.
Print Assumptions tie_rule.
Print Assumptions rheo_versus_rrsw.
Print Assumptions adapted_growth_rrsw_needs_order.
(* PrunedOptimum.v *)
Print Assumptions pruned_optimum.
