(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   Refutations, over the rationals, by computation. The algorithms are the ones that the theorems are about; only the
   ingredient that is broken is exchanged. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Acceptance Growth StepCondition Priority Reads DynamicTree Ranking EagerLazy Lossless Rheo ColdLimit.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* ---- vocabularies ---- *)
Definition a2 : 'I_2 := @Ordinal 2 0 isT.
Definition b2 : 'I_2 := @Ordinal 2 1 isT.
Definition vocab2 := [:: a2; b2].
Definition a3 : 'I_3 := @Ordinal 3 0 isT.
Definition b3 : 'I_3 := @Ordinal 3 1 isT.
Definition c3 : 'I_3 := @Ordinal 3 2 isT.
Definition vocab3 := [:: a3; b3; c3].

(* numerators over a common denominator *)
Definition row n (l : seq nat) (d : nat) : 'I_n -> rat := fun v => (nth 0%N l v)%:R / d%:R.
Section TotalVariation.
Variables (V : finType) (vs : seq V).
Fixpoint words n : seq (seq V) := if n is n'.+1 then [seq v :: w | v <- vs, w <- words n'] else [:: [::]].
(* between two laws of the first n tokens *)
Definition total_variation n (f g : seq V -> rat) : rat :=
  foldr (fun w x => `|f w - g w| + x) 0 (words n) / 2%:R.
End TotalVariation.

(* One cycle over the eager tree of pools whose sampled slot is scored by factor, verified by rule, against the target:
   total variation of the first D + 1 tokens. With factor = proxy this is the quantity that lossless_rheo says is 0. *)
Section Design.
Variables (V : finType) (vs : seq V) (v0 : V).
Variables (draft p : context V -> V -> rat) (m K W D B : nat).
Variable factor : context V -> V -> rat.
Definition design_law (rule : (context V -> V -> rat) -> (context V -> V -> rat) ->
    context V -> seq (slotted V) -> prog _ V (outcome V)) (s : seq V) : rat :=
  let q := qtilde vs draft draft m K in
  let slot := rheo_slot vs draft draft m K in
  Er vs q (eagerR v0 (pool_with vs draft draft m K factor) slot (rheo_width vs K) W D [::] B)
    (fun T => cycle vs (rule p q) (target p) (hist v0 slot T) [::] s).
Definition design_tv := total_variation vs D.+1 (design_law (rheo_rule vs)) (target p [::]).
End Design.

(* ================= table-1 ================= *)
Definition table_draft (c : context [finType of 'I_3]) := (@row 3 [:: 5; 3; 2] 10)%N.
Definition table_target (c : context [finType of 'I_3]) := (@row 3 [:: 1; 1; 3] 5)%N.

(* table-1 (paper Table 1). q = (1/2, 3/10, 1/5), m = 1, K = 3, R = 2: with the ad-hoc proxy 1/4 the output is off by total variation
   4/25. *)
Theorem table_1 :
  design_tv vocab3 a3 table_draft table_target 1 3 3 1 2 (fun _ _ => 1 / 4%:R) = 4%:R / 25%:R.
Proof. by apply/eqP; vm_compute. Qed.

(* The same with the paper's proxy: an instance of lossless_rheo, recomputed. *)
Theorem table_1_proxy :
  design_tv vocab3 a3 table_draft table_target 1 3 3 1 2
    (fun c _ => proxy vocab3 a3 table_draft 1 0 c) = 0.
Proof. by apply/eqP; vm_compute. Qed.

(* ... and what goes wrong: with the ad-hoc proxy the sampled slot survives only if Y is the second token: its
   probability of surviving is 3/5, all of it from that token. *)
Definition table_survives (T : seq (node [realFieldType of rat] [finType of 'I_3])) : rat :=
  (has (fun n => in_sampled_slot (rheo_slot vocab3 table_draft table_draft 1 3) n) T)%:R.
Definition table_holds (v : 'I_3) (T : seq (node [realFieldType of rat] [finType of 'I_3])) : rat :=
  (has (fun n => in_sampled_slot (rheo_slot vocab3 table_draft table_draft 1 3) n && (token a3 n == v)) T)%:R.
Definition table_expectation (F : seq (node [realFieldType of rat] [finType of 'I_3]) -> rat) : rat :=
  Er vocab3 (qtilde vocab3 table_draft table_draft 1 3)
    (eagerR a3 (pool_with vocab3 table_draft table_draft 1 3 (fun _ _ => 1 / 4%:R))
      (rheo_slot vocab3 table_draft table_draft 1 3) (rheo_width vocab3 3) 3 1 [::] 2) F.
Theorem table_1_survival :
  [/\ table_expectation table_survives = 3%:R / 5%:R, table_expectation (table_holds b3) = 3%:R / 5%:R
    & table_expectation (table_holds c3) = 0].
Proof. by split; apply/eqP; vm_compute. Qed.

(* ================= raw-score-ranking ================= *)
(* raw-score-ranking (paper 3.1): scoring the sampled slot by q(Y) is lossy. *)
Theorem raw_score_ranking :
  design_tv vocab3 a3 table_draft table_target 1 3 3 1 2 (fun c y => table_draft c y) = 4%:R / 25%:R.
Proof. by apply/eqP; vm_compute. Qed.

(* ================= support-truncation ================= *)
(* The sampled token is drawn from the truncated draft (its two best tokens, renormalised). *)
Definition full_draft (c : context [finType of 'I_3]) := (@row 3 [:: 2; 1; 1] 4)%N.
Definition truncated_draft (c : context [finType of 'I_3]) := (@row 3 [:: 2; 1; 0] 3)%N.
Definition trunc_target (c : context [finType of 'I_3]) := (@row 3 [:: 1; 1; 1] 3)%N.
Definition trunc_law (verified_with : context [finType of 'I_3] -> 'I_3 -> rat) (s : seq 'I_3) : rat :=
  let slot := rheo_slot vocab3 full_draft truncated_draft 0 1 in
  Er vocab3 (qtilde vocab3 full_draft truncated_draft 0 1)
    (rheo_tree vocab3 a3 full_draft truncated_draft 0 1 0 1 1 1 [::])
    (fun T => cycle vocab3 (rheo_rule vocab3 trunc_target verified_with) (target trunc_target) (hist a3 slot T) [::] s).

(* support-truncation (paper 3.2, App. B): verifying with the full draft what was drawn from the truncated one is
   lossy; with the truncated draft it is lossless (lossless_rheo holds for every sampler). *)
Theorem support_truncation :
  total_variation vocab3 2 (trunc_law full_draft) (target trunc_target [::]) = 2%:R / 9%:R /\
  total_variation vocab3 2 (trunc_law truncated_draft) (target trunc_target [::]) = 0.
Proof. by split; apply/eqP; vm_compute. Qed.

(* ================= scores-never-increase: the condition ================= *)
Definition eps_draft (c : context [finType of 'I_2]) :=
  if last b2 c == a2 then (@row 2 [:: 9; 1] 10)%N else (@row 2 [:: 1; 1] 2)%N.
Definition eps_target (c : context [finType of 'I_2]) := (@row 2 [:: 1; 3] 4)%N.

(* scores-never-increase needs every factor <= 1: with m = 0 and eps = 1/5 > 1 - q(x_1) = 1/10 after the first token, the output is
   off by total variation 1/8. *)
Theorem scores_never_increase_needs_eps :
  design_tv vocab2 a2 eps_draft eps_target 0 2 2 2 1
    (fun c _ => proxy vocab2 a2 eps_draft 0 (1 / 5%:R) c) = 1 / 8%:R.
Proof. by apply/eqP; vm_compute. Qed.

(* ================= tie-rule ================= *)
(* The eager construction by another order of the nodes; by prio it is the one of DynamicTree.v. *)
Section OtherOrder.
Variables (R : realFieldType) (V : finType) (order : rel (node R V)).
Variables (v0 : V) (pool : context V -> V -> seq (V * R)) (smp width : context V -> nat) (W D : nat) (root : context V).
Fixpoint build_by d L U (B : nat) : reads R V :=
  if d is d'.+1 then
    expandR v0 pool smp width (take W (sort order L)) [::] (fun L' => build_by d' L' (U ++ L') B)
  else Done (take B (sort order U)).
Definition eager_by B := build_by D [:: rootn R root] [::] B.
End OtherOrder.
Lemma eager_by_prio R V v0 pool smp width W D root B :
  eager_by (@prio R V) v0 pool smp width W D root B = eagerR v0 pool smp width W D root B.
Proof. by []. Qed.

(* score descending, then depth, then the tokens *)
Definition token_prio (R : realFieldType) n : rel (node R [finType of 'I_n]) :=
  lex (fun a b => score b <= score a) (lex (fun a b => depth a <= depth b)%N
    (fun a b => lexle (map (@nat_of_ord n) (toks a)) (map (@nat_of_ord n) (toks b)))).

Definition tie_draft (c : context [finType of 'I_3]) := (@row 3 [:: 1; 1; 1] 3)%N.
Definition tie_target (c : context [finType of 'I_3]) := (@row 3 [:: 1; 2; 3] 6)%N.
Definition tie_law order (s : seq 'I_3) : rat :=
  let q := qtilde vocab3 tie_draft tie_draft 1 3 in
  let slot := rheo_slot vocab3 tie_draft tie_draft 1 3 in
  Er vocab3 q (eager_by order a3 (rheo_pool vocab3 a3 tie_draft tie_draft 1 3 0) slot (rheo_width vocab3 3) 3 1 [::] 2)
    (fun T => cycle vocab3 (rheo_rule vocab3 tie_target q) (target tie_target) (hist a3 slot T) [::] s).

(* tie-rule: breaking ties by tokens is lossy, by total variation 1/4; by positions it is not. *)
Theorem tie_rule :
  total_variation vocab3 2 (tie_law (@token_prio _ 3)) (target tie_target [::]) = 1 / 4%:R /\
  total_variation vocab3 2 (tie_law (@prio _ _)) (target tie_target [::]) = 0.
Proof. by split; apply/eqP; vm_compute. Qed.

(* ================= rheo-versus-rrsw ================= *)
Definition a4 : 'I_4 := @Ordinal 4 0 isT.
Definition b4 : 'I_4 := @Ordinal 4 1 isT.
Definition c4 : 'I_4 := @Ordinal 4 2 isT.
Definition d4 : 'I_4 := @Ordinal 4 3 isT.
Definition vocab4 := [:: a4; b4; c4; d4].
Definition versus_p := (@row 4 [:: 1; 0; 2; 1] 4)%N.
Definition versus_q := (@row 4 [:: 0; 1; 1; 1] 3)%N.   (* uniform off the lead *)

(* rheo-versus-rrsw (against "almost always", paper D.3): m = 1, n = 3, p = (1, 0, 2, 1)/4, q uniform: rheo accepts with
   probability 29/30, rrsw always. *)
Theorem rheo_versus_rrsw :
  acceptance_of vocab4 vocab4 1 3 versus_q (rheo vocab4 versus_p versus_q) = 29%:R / 30%:R /\
  acceptance_of vocab4 vocab4 1 3 versus_q (rrsw vocab4 versus_p versus_q) = 1.
Proof. by split; apply/eqP; vm_compute. Qed.

(* ================= cold-limit: m = 1 ================= *)
Definition cold_draft (c : context [finType of 'I_3]) := (@row 3 [:: 2; 1; 1] 4)%N.
Definition cold_sampler (c : context [finType of 'I_3]) := (@row 3 [:: 0; 1; 0] 1)%N.

(* cold-limit, m = 1: q-tilde one-hot at x_2 gives another tree than top-K's, of other nodes: with q =
   (1/2, 1/4, 1/4) the proxy 1/2 lets what lies below x_2 outrank what lies below x_1. *)
Theorem cold_limit_1_other_tree :
  Er vocab3 (qtilde vocab3 cold_draft cold_sampler 1 3)
    (eagerR a3 (rheo_pool vocab3 a3 cold_draft cold_sampler 1 3 0) (rheo_slot vocab3 cold_draft cold_sampler 1 3)
      (rheo_width vocab3 3) 3 2 [::] 6)
    (fun T => (perm_eq (map toks T) (map toks (topk_tree vocab3 a3 cold_draft 3 2 [::] 3 (fun _ => a3) 6)))%:R) = 0.
Proof. by apply/eqP; vm_compute. Qed.

(* ================= adapted-growth: rrsw under other policies ================= *)
Definition free_target (c : context [finType of 'I_3]) := (@row 3 [:: 1; 0; 1] 2)%N.
Definition free_q (c : context [finType of 'I_3]) := (@row 3 [:: 0; 1; 1] 2)%N.
(* The sampled slot (number 1) first; the lead (slot 0) is revealed only if the sampled token is b. *)
Definition free_growth : growth [realFieldType of rat] [finType of 'I_3] slot_info :=
  Drawn [::] (free_q [::]) (1%N, true) (fun y =>
    if y == b3 then Fixed [::] (a3, (0%N, false)) (Stop _ _ _) else Stop _ _ _).
Definition free_law rule (s : seq 'I_3) : rat :=
  grow vocab3 free_growth [::] (fun h => cycle vocab3 (rule free_target free_q) (target free_target) h [::] s).

(* adapted-growth needs its condition: revealing a candidate that rrsw tests before the sampled one, after the sampled
   one, is lossy, here by total variation 1/4. rheo does not mind. *)
Theorem adapted_growth_rrsw_needs_order :
  total_variation vocab3 1 (free_law (rrsw_rule vocab3)) (target free_target [::]) = 1 / 4%:R /\
  total_variation vocab3 1 (free_law (rheo_rule vocab3)) (target free_target [::]) = 0.
Proof. by split; apply/eqP; vm_compute. Qed.
