(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   cold-limit: what RheoSampling's pools and trees become when the temperature goes to 0. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Growth StepCondition Priority Reads DynamicTree Ranking EagerLazy Lossless Rheo.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section ColdLimit.
Variables (R : realFieldType) (V : finType) (vs : seq V) (v0 : V).
Hypothesis vsP : vocabulary vs.
Variables draft sampler : context V -> V -> R.
Hypothesis sampler_dist : forall c, dist vs (sampler c).
Local Notation lead := (lead vs draft).
Local Notation ranking := (ranking vs draft).
Local Notation has_sampled := (has_sampled vs draft sampler).
Local Notation qtilde := (qtilde vs draft sampler).
Local Notation rheo_pool := (rheo_pool vs v0 draft sampler).
Local Notation rank_token := (rank_token vs v0 draft).

(* top-K's pool *)
Definition topk_pool K c : seq (V * R) := map (scored draft c) (take K (ranking c)).

Lemma cold_fill m K c : has_sampled m K c ->
  take K (ranking c) = lead m c ++ rank_token c m :: fill_tokens vs draft m K c (rank_token c m).
Proof.
move=> h; have lt := has_sampled_lt vsP h; have le : (pool_width vs K <= size (ranking c))%N.
  by rewrite size_ranking geq_minr.
have -> : take K (ranking c) = take (pool_width vs K) (ranking c).
  rewrite /pool_width; case: (leqP K (size vs)) => // /ltnW kv.
  by rewrite !take_oversize ?size_ranking.
have dE : drop m (ranking c) = rank_token c m :: drop m.+1 (ranking c).
  by rewrite (drop_nth v0) ?(leq_trans lt).
have -> : pool_width vs K = (m + (pool_width vs K - m.+1).+1)%N by rewrite addnS -addSn subnKC.
rewrite takeD dE /=; congr (_ ++ _ :: _); rewrite /fill_tokens dE /= eqxx /=.
congr (take _ _); apply/esym/all_filterP/allP => v vd.
have := drop_uniq m (uniq_ranking draft vsP c); rewrite dE /= => /andP [nin _].
by apply: contraNneq nin => <-.
Qed.

(* cold-limit, m = 0, eps = 0: when the sampler is one-hot at x_1, every pool that can occur is exactly top-K's. *)
Theorem cold_limit_0 K c y : (forall v, sampler c v = (v == rank_token c 0)%:R) -> qtilde 0 K c y != 0 ->
  rheo_pool 0 K 0 c y = topk_pool K c.
Proof.
move=> one qy; rewrite /Rheo.rheo_pool /pool_with /topk_pool; case h: (has_sampled 0 K c) => //.
have -> : y = rank_token c 0.
  apply/eqP; apply: contraNT qy => ny; rewrite /Rheo.qtilde h /nrm /tail_sampler /off /= one (negbTE ny).
  by rewrite if_same mul0r.
by rewrite (cold_fill h) map_cat /= /proxy addr0.
Qed.

(* cold-limit, m = 1: when the law of the sampled token is one-hot at x_2, the pool has top-K's tokens (with another
   score in the sampled slot); and a sampler that is one-hot at x_1 leaves no sampled slot: the pool is top-K's. *)
Theorem cold_limit_1 K eps c : has_sampled 1 K c ->
  [seq x.1 | x <- rheo_pool 1 K eps c (rank_token c 1)] = take K (ranking c).
Proof.
move=> h; rewrite /Rheo.rheo_pool /pool_with h (cold_fill h) map_cat /= -!map_comp !map_id_in //.
Qed.

Theorem cold_limit_1_none K eps c y : (forall v, sampler c v = (v == rank_token c 0)%:R) ->
  rheo_pool 1 K eps c y = topk_pool K c.
Proof.
move=> one; rewrite /Rheo.rheo_pool /pool_with; case h: (has_sampled 1 K c) => //; exfalso.
have lt := leq_trans (has_sampled_lt vsP h) (geq_minr K (size vs)).
move: h => /andP [_] /eqP; apply; rewrite totE // big1 // => v _; rewrite /tail_sampler /off one.
case: eqP => [->|]; last by rewrite if_same.
have l1 : rank_token c 0 \in lead 1 c; last by rewrite /= l1.
rewrite /Rheo.lead /Rheo.rank_token; have := size_ranking vs draft c.
by case: (ranking c) => [e|a l _] /=; [rewrite -e in lt | rewrite take0 mem_head].
Qed.
End ColdLimit.

(* ---- whole trees: pools that can occur and are equal make equal trees ---- *)
Section SamePools.
Variables (R : realFieldType) (V : finType) (vs : seq V) (v0 : V).
Hypothesis vsP : vocabulary vs.
Variables (pool : context V -> V -> seq (V * R)) (plain : context V -> seq (V * R)).
Variables (smp width : context V -> nat) (q : context V -> V -> R).
Hypothesis q_dist : forall c, dist vs (q c).
Hypothesis same_drawn : forall c y, q c y != 0 -> pool c y = plain c.
Hypothesis same_plain : forall c, (width c <= smp c)%N -> pool c v0 = plain c.
Variables (W D : nat) (root : context V) (Y : context V -> V).

Definition plain_tree B := run Y (eagerR v0 (fun c _ => plain c) width width W D root B).

Lemma same_kids P y y' : pool (toks P) y = plain (toks P) ->
  kids v0 pool width P y = kids v0 (fun c _ => plain c) width P y'.
Proof. by move=> e; apply: eq_map => i; rewrite /kid /slot_of e. Qed.

Lemma expand_same F Ps acc k k' : (forall t, Er vs q (k t) F = F (run Y (k' t))) ->
  Er vs q (expandR v0 pool smp width Ps acc k) F
    = F (run Y (expandR v0 (fun c _ => plain c) width width Ps acc k')).
Proof.
move=> h; elim: Ps acc => [|P Ps IH] acc //=; rewrite ltnn; case: ltnP => s /=; last first.
  by rewrite IH (same_kids v0 (same_plain s)).
rewrite -[RHS]mul1r -(dist_sum vsP (q_dist (toks P))) mulr_suml totE //; apply: eq_bigr => y _.
have [->|qy] := eqVneq (q (toks P) y) 0; first by rewrite !mul0r.
by rewrite IH (same_kids v0 (same_drawn qy)).
Qed.

Lemma eager_same B F : Er vs q (eagerR v0 pool smp width W D root B) F = F (plain_tree B).
Proof.
suff h d L U : Er vs q (buildR v0 pool smp width W d L U B) F
    = F (run Y (buildR v0 (fun c _ => plain c) width width W d L U B)) by exact: h.
by elim: d L U => [//|d IH] L U /=; apply: expand_same => t; exact: IH.
Qed.
End SamePools.

Section ColdTrees.
Variables (R : realFieldType) (V : finType) (vs : seq V) (v0 : V).
Hypothesis vsP : vocabulary vs.
Variables draft sampler : context V -> V -> R.
Hypothesis sampler_dist : forall c, dist vs (sampler c).
Variables (W D : nat) (root : context V).

(* top-K's tree: no slot is sampled, so it is the same whatever would be drawn (Y) *)
Definition topk_tree K Y B := plain_tree v0 (topk_pool vs draft K) (rheo_width vs K) W D root Y B.

(* cold-limit, m = 0, eps = 0, for whole trees: RheoSampling's tree is exactly top-K's. *)
Theorem cold_limit_0_tree K B F Y : (forall c v, sampler c v = (v == rank_token vs v0 draft c 0)%:R) ->
  Er vs (qtilde vs draft sampler 0 K)
    (eagerR v0 (rheo_pool vs v0 draft sampler 0 K 0) (rheo_slot vs draft sampler 0 K) (rheo_width vs K) W D root B) F
  = F (topk_tree K Y B).
Proof.
move=> one; apply: eager_same => // [c|c y qy|c].
- exact: qtilde_dist.
- exact: cold_limit_0 qy.
rewrite /rheo_slot /rheo_width /rheo_pool /pool_with; case: ifP => // h.
by rewrite leqn0 => /eqP z; have := has_sampled_lt vsP h; rewrite z.
Qed.

(* m = 1, the sampler one-hot at x_1: no slot is sampled anywhere, and the tree is top-K's. *)
Theorem cold_limit_1_none_tree K eps B F Y : (forall c v, sampler c v = (v == rank_token vs v0 draft c 0)%:R) ->
  Er vs (qtilde vs draft sampler 1 K)
    (eagerR v0 (rheo_pool vs v0 draft sampler 1 K eps) (rheo_slot vs draft sampler 1 K) (rheo_width vs K) W D root B) F
  = F (topk_tree K Y B).
Proof.
move=> one; apply: eager_same => // [c|c y _|c _]; first exact: qtilde_dist.
- exact: cold_limit_1_none.
- exact: cold_limit_1_none.
Qed.
End ColdTrees.
