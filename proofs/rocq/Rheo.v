(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   RheoSampling: its candidate pools and proxy, sampled-outranks-fill (Lemma 1), scores-never-increase (Lemma 2),
   and lossless (Theorem 1). *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Growth StepCondition Priority Reads DynamicTree Ranking EagerLazy Lossless.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Rheo.
Variables (R : realFieldType) (V : finType) (vs : seq V) (v0 : V).
Implicit Types (c : context V) (y v : V).

(* draft: ranks tokens and scores paths. sampler: the sampled token comes from it (q with a hat in the paper: the
   draft after temperature and truncation; any law is allowed). *)
Variables draft sampler : context V -> V -> R.
Variables (m K : nat) (eps : R).

(* the vocabulary by decreasing draft probability; the sort is stable, so ties go by token id, the order of vs *)
Definition ranking c : seq V := sort (fun u v => draft c v <= draft c u) vs.
Definition rank_token c i := nth v0 (ranking c) i.    (* x_{i+1} *)
Definition lead c : seq V := take m (ranking c).
Definition pool_width : nat := minn K (size vs).

(* There is no sampled slot when K <= m or the lead carries all of the sampler. *)
Definition tail_sampler c : V -> R := off (sampler c) (mem (lead c)).
Definition has_sampled c : bool := (m < K)%N && (tot vs (tail_sampler c) != 0).

(* law of the sampled token: the sampler off the lead, renormalised (where there is no sampled slot: unused) *)
Definition qtilde c : V -> R := if has_sampled c then nrm vs (tail_sampler c) else sampler c.

(* residual mass of the draft, as a tail sum *)
Definition residual_mass c : R := tot vs (off (draft c) (mem (lead c))).

(* The proxy: the score factor of the sampled slot. *)
Definition proxy c : R :=
  if m is m'.+1 then Num.min (draft c (rank_token c m')) (residual_mass c) else draft c (rank_token c 0) + eps.

(* the fill: the best of the rest, as many as the pool has room for *)
Definition fill_tokens c y : seq V := take (pool_width - m.+1) [seq v <- drop m (ranking c) | v != y].

Definition scored c v : V * R := (v, draft c v).
(* a pool whose sampled slot is scored by the given factor, and RheoSampling's *)
Definition pool_with (factor : context V -> V -> R) c y : seq (V * R) :=
  if has_sampled c then map (scored c) (lead c) ++ (y, factor c y) :: map (scored c) (fill_tokens c y)
  else map (scored c) (take K (ranking c)).
Definition rheo_pool := pool_with (fun c _ => proxy c).
Definition rheo_slot c : nat := if has_sampled c then m else pool_width.
Definition rheo_width c : nat := pool_width.

Hypothesis vsP : vocabulary vs.
Hypothesis draft_dist : forall c, dist vs (draft c).
Hypothesis sampler_dist : forall c, dist vs (sampler c).

Lemma perm_ranking c : perm_eq (ranking c) vs. Proof. by rewrite perm_sort. Qed.
Lemma size_ranking c : size (ranking c) = size vs. Proof. exact: perm_size (perm_ranking c). Qed.
Lemma uniq_ranking c : uniq (ranking c). Proof. by rewrite (perm_uniq (perm_ranking c)); case: vsP. Qed.
Lemma mem_ranking c v : v \in ranking c.
Proof. by rewrite (perm_mem (perm_ranking c)); case: vsP => _ ->. Qed.

Lemma ranking_sorted c : sorted (fun u v => draft c v <= draft c u) (ranking c).
Proof. by apply: sort_sorted => u v; exact: le_total. Qed.

Lemma rank_le c i j : (i <= j < size vs)%N -> draft c (rank_token c j) <= draft c (rank_token c i).
Proof.
move=> /andP [ij js]; have tr : transitive (fun u v => draft c v <= draft c u).
  by move=> u v w /= h h'; exact: le_trans h' h.
apply: (sorted_leq_nth tr _ v0 (ranking_sorted c)) => //.
- by rewrite inE size_ranking (leq_ltn_trans ij).
- by rewrite inE size_ranking.
Qed.

Lemma not_lead c v : v \in drop m (ranking c) -> v \notin lead c.
Proof.
move=> vd; apply/negP => vl; have := uniq_ranking c; rewrite -(cat_take_drop m (ranking c)) cat_uniq.
by move=> /and3P [_ /hasP h _]; apply: h; exists v.
Qed.

Lemma lead_or_drop c v : v \notin lead c -> v \in drop m (ranking c).
Proof. by have := mem_ranking c v; rewrite -{1}(cat_take_drop m (ranking c)) mem_cat => /orP [->|]. Qed.

Lemma fill_rest c y v : v \in fill_tokens c y -> v \in drop m (ranking c) /\ v != y.
Proof. by move=> /mem_take; rewrite mem_filter => /andP []. Qed.

(* sampled-outranks-fill (paper Lemma 1). In a pool the sampled slot's factor is at least every fill's, whatever the
   sampled token y is. *)
Theorem sampled_outranks_fill c y v : 0 <= eps -> v \in fill_tokens c y -> draft c v <= proxy c.
Proof.
move=> e0 /fill_rest [vd _]; have vl := not_lead vd; have d0 w : 0 <= draft c w by case: (draft_dist c).
have vs_v : (index v (ranking c) < size vs)%N by rewrite -(size_ranking c) index_mem mem_ranking.
have vE : v = rank_token c (index v (ranking c)) by rewrite /rank_token nth_index ?mem_ranking.
have mv : (m <= index v (ranking c))%N.
  by rewrite leqNgt; apply: contra vl => lt; rewrite /lead in_take ?mem_ranking.
rewrite /proxy; case e: m => [|m'].
  by rewrite {1}vE ler_paddr // rank_le.
rewrite le_minr; apply/andP; split.
  by rewrite {1}vE rank_le // vs_v andbT -ltnS -e ltnW // ltnS.
rewrite /residual_mass totE // (bigD1 v) //= /off /= (negbTE vl) ler_addl sumr_ge0 // => w _.
by case: ifP.
Qed.

Lemma has_sampled_lt c : has_sampled c -> (m < pool_width)%N.
Proof.
case/andP => mK; rewrite /pool_width leq_min mK /= => nz; rewrite ltnNge; apply: contra nz => le.
rewrite totE // big1 // => v _; rewrite /tail_sampler /off /lead take_oversize ?size_ranking //.
by rewrite /= mem_ranking.
Qed.

Lemma size_lead c : has_sampled c -> size (lead c) = m.
Proof.
move=> /has_sampled_lt; rewrite leq_min => /andP [_ lt]; apply: size_takel.
by rewrite size_ranking ltnW.
Qed.

Lemma size_fill c y : has_sampled c -> size (fill_tokens c y) = (pool_width - m.+1)%N.
Proof.
move=> h; apply: size_takel; rewrite size_filter.
have u : uniq (drop m (ranking c)) by exact: drop_uniq (uniq_ranking c).
have c1 : (count (fun v => v == y) (drop m (ranking c)) <= 1)%N by rewrite count_uniq_mem //; case: (_ \in _).
have := count_predC (fun v => v == y) (drop m (ranking c)); rewrite size_drop size_ranking => cE.
have -> : count (fun v => v != y) (drop m (ranking c)) = count (predC (fun v => v == y)) (drop m (ranking c)) by [].
have le : (pool_width <= size vs)%N by exact: geq_minr.
rewrite -(leq_add2l (count (fun v => v == y) (drop m (ranking c)))) cE.
apply: leq_trans (leq_add c1 (leqnn _)) _; rewrite add1n.
have lt := has_sampled_lt h; rewrite -subSn // subSS; exact: leq_sub2r.
Qed.

Section Factor.
Variable factor : context V -> V -> R.

Lemma size_pool c y : size (pool_with factor c y) = pool_width.
Proof.
rewrite /pool_with; case h: (has_sampled c).
  rewrite size_cat /= !size_map size_lead // size_fill //; have lt := has_sampled_lt h.
  by rewrite addnS -addSn subnKC.
by rewrite size_map size_take_min size_ranking.
Qed.

Lemma slot_lead c y i : has_sampled c -> (i < m)%N ->
  slot_of v0 (pool_with factor) c y i = scored c (rank_token c i).
Proof.
move=> h lt; rewrite /slot_of /pool_with h nth_cat size_map size_lead // lt.
by rewrite (nth_map v0) ?size_lead // /lead nth_take.
Qed.

Lemma slot_smp c y : has_sampled c -> slot_of v0 (pool_with factor) c y m = (y, factor c y).
Proof. by move=> h; rewrite /slot_of /pool_with h nth_cat size_map size_lead // ltnn subnn. Qed.

Lemma slot_fill c y i : has_sampled c -> (m < i < pool_width)%N ->
  exists2 v, v \in fill_tokens c y & slot_of v0 (pool_with factor) c y i = scored c v.
Proof.
move=> h /andP [mi ik]; rewrite /slot_of /pool_with h nth_cat size_map size_lead // ltnNge (ltnW mi) /=.
have -> : (i - m = (i - m.+1).+1)%N by rewrite -subSn // subSS.
have sz : (i - m.+1 < size (fill_tokens c y))%N by rewrite size_fill // ltn_sub2r ?(leq_ltn_trans mi ik).
rewrite /= (nth_map v0) //; by exists (nth v0 (fill_tokens c y) (i - m.+1)); rewrite ?mem_nth.
Qed.

Lemma slot_none c y i : ~~ has_sampled c -> (i < pool_width)%N ->
  exists v, slot_of v0 (pool_with factor) c y i = scored c v.
Proof.
move=> h lt; rewrite /slot_of /pool_with (negbTE h) (nth_map v0); first by eexists.
by rewrite size_take_min size_ranking.
Qed.
End Factor.

Lemma qtilde_dist c : dist vs (qtilde c).
Proof.
rewrite /qtilde; case: ifP => // /andP [_ nz]; apply: left_dist => //.
by apply: contra nz => /eqP e; rewrite /tail_sampler tot_off ?e ?subrr //; case: (sampler_dist c).
Qed.

Lemma qtilde_notlead c y : has_sampled c -> qtilde c y != 0 -> y \notin lead c.
Proof.
move=> h; apply: contraNN => yl; by rewrite /qtilde h /nrm /tail_sampler /off /= yl mul0r.
Qed.

Lemma pool_tokens_uniq c y : qtilde c y != 0 -> uniq [seq x.1 | x <- rheo_pool c y].
Proof.
move=> qy; rewrite /rheo_pool /pool_with; case h: (has_sampled c); last first.
  by rewrite -map_comp map_id_in ?take_uniq ?uniq_ranking.
have id l : [seq x.1 | x <- map (scored c) l] = l by rewrite -map_comp map_id_in.
rewrite map_cat /= !id cat_uniq /= take_uniq ?uniq_ranking //= (negbTE (qtilde_notlead h qy)) /=.
apply/and3P; split.
- by apply/hasPn => v /fill_rest [vd _]; exact: not_lead.
- by apply/negP => /fill_rest []; rewrite eqxx.
- by apply: take_uniq; apply: filter_uniq; apply: drop_uniq; exact: uniq_ranking.
Qed.

(* The paper writes eps > 0; eps = 0 is enough. For m = 0 the factor q(x_1) + eps must not exceed 1. *)
Definition eps_ok := 0 <= eps /\ (m = 0%N -> forall c, draft c (rank_token c 0) + eps <= 1).

Lemma proxy_range c : eps_ok -> 0 <= proxy c <= 1.
Proof.
case=> e0 e1; have d0 v : 0 <= draft c v by case: (draft_dist c).
have d1 v : draft c v <= 1 by exact: (dist_le1 vsP _ (draft_dist _)).
rewrite /proxy; case e: m => [|m']; first by rewrite addr_ge0 // e1.
rewrite le_minr d0 le_minl d1 /= andbT /residual_mass totE // sumr_ge0 // => v _; exact: off_ge0.
Qed.

Lemma rheo_pool_ok : eps_ok -> pool_ok vs v0 rheo_pool rheo_slot rheo_width qtilde.
Proof.
move=> eo; have d01 c v : 0 <= draft c v <= 1.
  by apply/andP; split; [case: (draft_dist c) | exact: (dist_le1 vsP _ (draft_dist _))].
split.
- exact: size_pool.
- move=> c y y' i; rewrite /rheo_slot; case h: (has_sampled c) => lt; first by rewrite /rheo_pool !slot_lead.
  by rewrite /slot_of /rheo_pool /pool_with h.
- move=> c y; rewrite /rheo_slot /rheo_width; case h: (has_sampled c); last by rewrite ltnn.
  by rewrite /rheo_pool slot_smp.
- move=> c y y'; rewrite /rheo_slot; case h: (has_sampled c); first by rewrite /rheo_pool !slot_smp.
  by rewrite /slot_of /rheo_pool /pool_with h.
- move=> c y i; rewrite /rheo_slot /rheo_width; case h: (has_sampled c) => lt; last first.
    by case/andP: lt => /ltn_trans lt /lt; rewrite ltnn.
  have [v vf ->] := slot_fill (fun c _ => proxy c) y h lt.
  by rewrite slot_smp //=; apply: sampled_outranks_fill vf; case: eo.
- move=> c y i; rewrite /rheo_width => lt; case h: (has_sampled c); last first.
    by have [v ->] := slot_none (fun c _ => proxy c) y (negbT h) lt; exact: d01.
  have [im|mi|->] := ltngtP i m.
  + by rewrite /rheo_pool slot_lead //; exact: d01.
  + by have [v _ ->] := slot_fill (fun c _ => proxy c) y h (introT andP (conj mi lt)); exact: d01.
  + by rewrite /rheo_pool slot_smp //; exact: proxy_range.
- exact: pool_tokens_uniq.
- exact: qtilde_dist.
Qed.

Lemma rheo_lead_first : lead_first v0 rheo_pool rheo_slot rheo_width.
Proof.
move=> c y i; rewrite /rheo_slot /rheo_width; case h: (has_sampled c) => /andP [im mw]; last by rewrite ltnn in mw.
rewrite /rheo_pool slot_smp // slot_lead //= /proxy; move: im mw; case: (m) => [//|m'] im mw.
rewrite le_minl rank_le // -ltnS im /=.
by apply: leq_trans (ltnW mw) (geq_minr _ _).
Qed.

(* ---- the drafting of RheoSampling with beam W, depth D, budget B ---- *)
Variables (W D B : nat).
Definition rheo_tree (root : context V) : reads R V :=
  eagerR v0 rheo_pool rheo_slot rheo_width W D root B.
Definition rheo_kept (root : context V) (Y : context V -> V) : seq (node R V) :=
  eagerT v0 rheo_pool rheo_width W D root Y B.

(* scores-never-increase (paper Lemma 2). A child's path score is at most its parent's, and a kept node's parent is
   kept: T_R is closed under ancestors. *)
Theorem scores_never_increase root Y n : eps_ok -> n \in rheo_kept root Y ->
  exists P i, [/\ P \in rootn R root :: rheo_kept root Y, n = kid v0 rheo_pool P (Y (toks P)) i
     & score n <= score P].
Proof.
move=> eo nt; have ok := rheo_pool_ok eo; have nin := mem_take_ranked nt.
have [P [i [Pin _ _ h nE]]] := tree_parent nin.
have sP : 0 <= score P by case/andP: (layer_score ok (layerP Pin)).
exists P, i; split=> //; last by rewrite nE; exact: (kid_score_le ok).
move: Pin; rewrite !in_cons => /orP [->//|Pin]; apply/orP; right.
apply: (mem_take_before _ _ _ nt); first by rewrite mem_ranked.
  by rewrite nE; exact: (prio_parent ok).
by rewrite nE; apply/eqP => /(congr1 size); rewrite size_rcons => /eqP; rewrite ltn_eqF.
Qed.

(* ---- lossless ---- *)
Variable p : context V -> V -> R.
Hypothesis p_dist : forall c, dist vs (p c).

(* lossless (paper Theorem 1, Eq. (3)), rheo: for every budget B, beam W, depth D, pool size K and m, every draft,
   sampler and target over any finite vocabulary: one cycle, continued by the target, has the target's law. *)
Theorem lossless_rheo root s : eps_ok ->
  Er vs qtilde (rheo_tree root) (fun T =>
    cycle vs (rheo_rule vs p qtilde) (target p) (hist v0 rheo_slot T) root s) = target p root s.
Proof. by move=> eo; apply: lossless_rheo_pools => //; exact: rheo_pool_ok. Qed.

(* lossless, rrsw. *)
Theorem lossless_rrsw root s : eps_ok ->
  Er vs qtilde (rheo_tree root) (fun T =>
    cycle vs (rrsw_rule vs p qtilde) (target p) (hist v0 rheo_slot T) root s) = target p root s.
Proof.
by move=> eo; apply: lossless_rrsw_pools => //; [exact: rheo_pool_ok | exact: rheo_lead_first].
Qed.

(* ---- decoding: cycle after cycle, each growing a new tree ---- *)
Section Decoding.
Variable rule : context V -> seq (slotted V) -> prog R V (outcome V).
Fixpoint decoding n (c : context V) (s : seq V) : R :=
  if s is [::] then 1 else
  if n is n'.+1 then
    Er vs qtilde (rheo_tree c) (fun T => cycle vs rule (decoding n') (hist v0 rheo_slot T) c s)
  else 0.

Lemma decoding_lossless n c s : (size s <= n)%N ->
  (forall root s, Er vs qtilde (rheo_tree root) (fun T =>
     cycle vs rule (target p) (hist v0 rheo_slot T) root s) = target p root s) ->
  decoding n c s = target p c s.
Proof.
move=> le h; elim: n c s le => [|n IH] c [|v s] // le.
rewrite -[RHS](h c (v :: s)).
apply: (@Er_ext _ _ _ vsP _ _ (fun T => cycle vs rule (decoding n) (hist v0 rheo_slot T) c (v :: s))) => T.
by apply: cycle_ext => c' s' lt; apply: IH; rewrite -ltnS (leq_trans lt).
Qed.
End Decoding.

(* lossless, for whole texts: the first tokens of decoding have the target's law (n bounds the cycles run). *)
Theorem lossless_decoding_rheo n root s : eps_ok -> (size s <= n)%N ->
  decoding (rheo_rule vs p qtilde) n root s = target p root s.
Proof. by move=> eo le; apply: decoding_lossless => // r t; exact: lossless_rheo. Qed.

Theorem lossless_decoding_rrsw n root s : eps_ok -> (size s <= n)%N ->
  decoding (rrsw_rule vs p qtilde) n root s = target p root s.
Proof. by move=> eo le; apply: decoding_lossless => // r t; exact: lossless_rrsw. Qed.
End Rheo.
