(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   The pruned dynamic tree is lossless: a corollary of eager-equals-lazy and adapted-growth, for any pools that meet
   the conditions. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Growth StepCondition Priority Reads DynamicTree Ranking EagerLazy.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Lossless.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Implicit Types (c : context V) (y v : V).
Implicit Types (n x P : node R V) (t L U : seq (node R V)).
Variables (v0 : V) (pool : context V -> V -> seq (V * R)) (smp width : context V -> nat).
Variable q : context V -> V -> R.
Variables (W D : nat) (root : context V).
Hypothesis ok : pool_ok vs v0 pool smp width q.
Load TreeNames.
Load RankingNames.
Local Notation slot_token_inj := (slot_token_inj ok).
Local Notation lead_unsampled := (lead_unsampled ok).
Local Notation toks_inj := (toks_inj ok).
Local Notation picked := (picked ok).
Local Notation step_drawn_ranked := (step_drawn_ranked ok).
Local Notation step_fixed_ranked := (step_fixed_ranked ok).
Local Notation exists_supp := (exists_supp vsP ok).
Local Notation eager_equals_lazy := (eager_equals_lazy vsP W D root ok).
Local Notation in_support := (in_support q).

(* ---- from the lazy growth to the tree that is verified ---- *)
Definition entry n : slotted V := (token n, (slotn n, in_sampled_slot n)).
(* The kept nodes, as children of their contexts: what verification sees. *)
Definition hist t : history V slot_info := [seq (parent n, entry n) | n <- t].

Fixpoint lazyG (k : nat) t : growth R V slot_info :=
  if k is k'.+1 then
    if pick t is Some x then
      if in_sampled_slot x then
        Drawn (parent x) (q (parent x)) (slotn x, true) (fun y => lazyG k' (rcons t (settok x y)))
      else Fixed (parent x) (token x, (slotn x, false)) (lazyG k' (rcons t x))
    else Stop _ _ _
  else Stop _ _ _.

Lemma hist_rcons t n : hist (rcons t n) = rcons (hist t) (parent n, entry n).
Proof. by rewrite /hist map_rcons. Qed.

Lemma entry_settok x y : in_sampled_slot x -> entry (settok x y) = (y, (slotn x, true)).
Proof. by move=> sx; rewrite /entry token_settok in_sampled_settok sx. Qed.

Lemma grow_lazy k t F : grow vs (lazyG k t) (hist t) F = Er (lazyR k t) (fun t => F (hist t)).
Proof.
elim: k t => [//|k IH] t /=; case: (pick t) => [x|//].
case sx: (in_sampled_slot x) => /=.
  by apply: eq_tot => // y; rewrite -IH hist_rcons entry_settok // parent_settok.
by rewrite -IH hist_rcons /entry sx.
Qed.

Lemma children_hist t c : children (hist t) c = [seq entry n | n <- t & parent n == c].
Proof. by rewrite /children /hist filter_map -!map_comp. Qed.

Lemma mem_children t c (z : slotted V) : z \in children (hist t) c ->
  exists n, [/\ n \in t, parent n = c & z = entry n].
Proof. by rewrite children_hist => /mapP [n]; rewrite mem_filter => /andP [/eqP pn nt] ->; exists n. Qed.

(* for rrsw: lead slots come before the sampled one *)
Definition lead_first := forall c y i, (i < smp c < width c)%N -> (slot_of c y (smp c)).2 <= (slot_of c y i).2.

Section Sound.
Variables (ok_fixed : seq (slotted V) -> slotted V -> Prop).
Variables (ok_drawn : context V -> seq (slotted V) -> nat -> Prop).
Hypothesis fixed_ok : forall Y k x, in_support Y -> pick (take k (ranked Y)) = Some x -> ~~ in_sampled_slot x ->
  ok_fixed (children (hist (take k (ranked Y))) (parent x)) (entry x).
Hypothesis drawn_ok : forall Y k x, in_support Y -> pick (take k (ranked Y)) = Some x -> in_sampled_slot x ->
  ok_drawn (parent x) (children (hist (take k (ranked Y))) (parent x)) (slotn x).

Lemma lazy_sound k' k Y : in_support Y ->
  sound q ok_fixed ok_drawn root (hist (take k (ranked Y))) (lazyG k' (take k (ranked Y))).
Proof.
elim: k' k Y => [//|k' IH] k Y supp /=; case e: (pick _) => [x|//].
have [P [y' [i [xE Pt fE h [lt fin fnot hc]]]]] := picked supp e.
have px : parent x = toks P by rewrite xE parent_kid.
have sl : slotn x = i by rewrite xE slotn_kid.
have tree_in : in_tree root (hist (take k (ranked Y))) (parent x).
  rewrite px; move: Pt; rewrite in_cons => /orP [/eqP ->|Pt]; [by left|right].
  have /treeP [d _ /mem_layer [P' [i' [_ _ PE]]]] := mem_take_ranked Pt.
  exists (parent P), (token P); split; first by rewrite PE parent_kid token_kid.
  rewrite children_hist /tokens -map_comp; apply/mapP; exists P => //.
  by rewrite mem_filter eqxx.
have slot_new : slotn x \notin map (@slot V) (children (hist (take k (ranked Y))) (parent x)).
  apply/negP => /mapP [_ /mem_children [n [nt pn ->]] /= ss].
  have [i' [_ nE ne _]] := hc n nt (etrans pn px).
  by apply: ne; rewrite -sl ss nE /slot /= slotn_kid.
case sx: (in_sampled_slot x); last first.
  have xf : fill Y x = x by rewrite /Ranking.fill sx.
  split=> //.
  - split=> //.
    apply/negP => /mapP [_ /mem_children [n [nt pn ->]] /= tt].
    have [i' [h' nE ne _]] := hc n nt (etrans pn px); apply: ne.
    move: tt; rewrite -xf fE nE !token_kid => /esym; exact: slot_token_inj (supp _) h' h.
  - by have := fixed_ok supp e; rewrite sx /entry sx; apply.
  - have := IH k.+1 Y supp; rewrite -(step_fixed_ranked e) ?sx // hist_rcons /entry sx; exact.
have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
split=> //.
- split=> //; apply/negP => /hasP [_ /mem_children [n [nt pn ->]]]; rewrite /is_sampled /=.
  have [i' [_ -> _ /(_ iS) l]] := hc n nt (etrans pn px).
  by rewrite in_sampled_kid ltn_eqF.
- exact: drawn_ok.
- move=> y qy; split.
    apply/negP => /mapP [_ /mem_children [n [nt pn ->]] /= tt].
    have [i' [_ nE _ /(_ iS) l]] := hc n nt (etrans pn px).
    move: qy; rewrite tt nE token_kid px lead_unsampled ?eqxx // l -iS h //.
  have := IH k.+1 _ (upd_supp supp qy); rewrite -(step_drawn_ranked y supp e sx).
  by rewrite hist_rcons entry_settok // parent_settok.
Qed.
End Sound.

Lemma lazy_sound_rheo k : sound q (@rheo_fixed V) (rheo_drawn q) root [::] (lazyG k [::]).
Proof.
have [Y supp] : exists Y, in_support Y.
  by exists (fun c => xchoose (exists_supp c)) => c; exact: (xchooseP (exists_supp c)).
have := @lazy_sound (@rheo_fixed V) (rheo_drawn q) _ _ k 0 Y supp; rewrite take0; apply=> //.
move=> {supp Y} Y j x supp e sx z /mem_children [n [nt pn ->]].
have [P [y' [i [xE Pt fE h [_ _ _ hc]]]]] := picked supp e.
have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
have px : parent x = toks P by rewrite xE parent_kid.
have [i' [_ -> _ /(_ iS) l]] := hc n nt (etrans pn px).
by rewrite /entry token_kid px lead_unsampled // l -iS.
Qed.

Lemma lazy_sound_rrsw k : lead_first -> sound q (@rrsw_fixed V) (rrsw_drawn q) root [::] (lazyG k [::]).
Proof.
move=> lf; have [Y supp] : exists Y, in_support Y.
  by exists (fun c => xchoose (exists_supp c)) => c; exact: (xchooseP (exists_supp c)).
have := @lazy_sound (@rrsw_fixed V) (rrsw_drawn q) _ _ k 0 Y supp; rewrite take0; apply=> //.
- move=> {supp Y} Y j x supp e sx z /mem_children [n [nt pn ->]].
  have [P [y' [i [xE Pt fE h [_ fin fnot hc]]]]] := picked supp e.
  have px : parent x = toks P by rewrite xE parent_kid.
  have [i' [h' nE ne _]] := hc n nt (etrans pn px).
  rewrite /is_sampled /slot /= {1}nE in_sampled_kid => /eqP iS; rewrite nE xE !slotn_kid iS.
  rewrite ltnNge leq_eqVlt; apply/negP => /orP [/eqP ii|lt]; first by apply: ne; rewrite iS.
  move/negP: fnot; apply; rewrite fE; apply: mem_take_before nt.
  + by rewrite -fE.
  + have sP : 0 <= score P by case/andP: (layer_score (layerP (mem_top Pt))).
    rewrite nE iS /prio /lex /= ler_wpmul2l ?lf ?lt -?iS //= !depth_kid leqnn /= lexle_rcons.
    by rewrite iS (ltnW lt) implybT.
  + by rewrite nE; apply/eqP => /rcons_inj [ii]; rewrite ii iS ltnn in lt.
- move=> {supp Y} Y j x supp e sx z /mem_children [n [nt pn ->]].
  have [P [y' [i [xE Pt fE h [_ _ _ hc]]]]] := picked supp e.
  have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
  have px : parent x = toks P by rewrite xE parent_kid.
  have [i' [_ -> _ /(_ iS) l]] := hc n nt (etrans pn px).
  by rewrite xE /slot /= !slotn_kid iS ltnNge (ltnW l).
Qed.

(* lossless (paper Theorem 1, Eq. (3)), for every budget B and every sequence s: the cycle that verifies the pruned
   dynamic tree with rheo has the target's law. *)
Theorem lossless_rheo_pools (p : context V -> V -> R) B s : (forall c, dist vs (p c)) ->
  Er (eagerR B) (fun T => cycle vs (rheo_rule vs p q) (target p) (hist T) root s) = target p root s.
Proof.
move=> dp; rewrite eager_equals_lazy -(grow_lazy B [::] (fun h => cycle vs (rheo_rule vs p q) (target p) h root s)).
exact: (adapted_growth_rheo vsP dp (pool_dist ok) s (lazy_sound_rheo B)).
Qed.

(* lossless, under rrsw. *)
Theorem lossless_rrsw_pools (p : context V -> V -> R) B s : (forall c, dist vs (p c)) -> lead_first ->
  Er (eagerR B) (fun T => cycle vs (rrsw_rule vs p q) (target p) (hist T) root s) = target p root s.
Proof.
move=> dp lf; rewrite eager_equals_lazy -(grow_lazy B [::] (fun h => cycle vs (rrsw_rule vs p q) (target p) h root s)).
exact: (adapted_growth_rrsw vsP dp (pool_dist ok) s (lazy_sound_rrsw B lf)).
Qed.
End Lossless.
