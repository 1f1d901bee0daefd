(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   rheo and rrsw meet the step condition of adapted-growth, and under which policies. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Growth.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section StepCondition.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.

(* A child carries its slot number and whether that is the sampled slot of its pool. *)
Definition slot_info := (nat * bool)%type.
Definition slotted := child V slot_info.
Implicit Types (x : slotted) (cs : seq slotted) (u v y : V) (t : nat).
Definition slot x := x.2.1.
Definition is_sampled x := x.2.2.

(* Verification runs through the children in slot order, in whatever order they were revealed. *)
Definition in_slot_order cs := sort (fun a b => slot a <= slot b)%N cs.
Definition cand_of x : cand V := (x.1, is_sampled x).
Definition candidates cs : seq (cand V) := map cand_of (in_slot_order cs).

(* target and law of the sampled token, at every context *)
Variables p q : context V -> V -> R.

Definition rheo_rule (c : context V) cs := rheo vs (p c) (q c) (candidates cs).
Definition rrsw_rule (c : context V) cs := rrsw vs (p c) (q c) (candidates cs).
Definition topk_rule (c : context V) cs := topk vs (p c) (candidates cs).

(* ---- policies that a rule can bear ---- *)
(* Siblings have distinct tokens and slots, there is one sampled slot at most, and its token is drawn from q.
   ok_fixed, ok_drawn: what the rule asks of the children already there (and, for fixed, the new one). *)
Section Sound.
Variable ok_fixed : seq slotted -> slotted -> Prop.
Variable ok_drawn : context V -> seq slotted -> nat -> Prop.
Variable root : context V.
Fixpoint sound (h : history V slot_info) (g : growth R V slot_info) : Prop := match g with
  | Stop => True
  | Fixed c x g' => let cs := children h c in
      [/\ in_tree root h c, [/\ ~~ is_sampled x, x.1 \notin tokens cs & slot x \notin map slot cs],
          ok_fixed cs x & sound (rcons h (c, x)) g']
  | Drawn c d i k => let cs := children h c in
      [/\ in_tree root h c, [/\ d =1 q c, i.2, ~~ has is_sampled cs & i.1 \notin map slot cs],
          ok_drawn c cs i.1
        & forall y, d y != 0 -> y \notin tokens cs /\ sound (rcons h (c, (y, i))) (k y)]
  end.
End Sound.

(* rheo: what is revealed before the sampled slot cannot be sampled (lead, not fill). *)
Definition rheo_fixed cs x := True.
Definition rheo_drawn c cs t := forall x, x \in cs -> q c x.1 = 0.
(* rrsw: moreover, no candidate that it tests before the sampled one is revealed after it. *)
Definition rrsw_fixed cs x := forall z, z \in cs -> is_sampled z -> (slot z < slot x)%N.
Definition rrsw_drawn c cs t := forall x, x \in cs -> (t < slot x)%N -> q c x.1 = 0.

Hypothesis dp : forall c, dist vs (p c).

(* ---- rheo ---- *)
Lemma sampled_map cs : sampled (map cand_of cs) = [seq x.1 | x <- cs & is_sampled x].
Proof. by rewrite /sampled filter_map -map_comp; apply: eq_map. Qed.

Lemma others_map cs : others (map cand_of cs) = [seq x.1 | x <- cs & ~~ is_sampled x].
Proof. by rewrite /others filter_map -map_comp; apply: eq_map. Qed.

Lemma perm_slot_order cs : perm_eq (in_slot_order cs) cs.
Proof. by rewrite perm_sort. Qed.

Lemma sampled_candidates cs : (count is_sampled cs <= 1)%N ->
  sampled (candidates cs) = [seq x.1 | x <- cs & is_sampled x].
Proof.
move=> le; rewrite sampled_map; congr (map _ _).
by apply: perm_small_eq; rewrite ?size_filter // perm_filter // perm_slot_order.
Qed.

Lemma mem_others_candidates cs : others (candidates cs) =i [seq x.1 | x <- cs & ~~ is_sampled x].
Proof. by move=> v; rewrite others_map; apply: perm_mem; rewrite perm_map // perm_filter // perm_slot_order. Qed.

Lemma rheo_step_fixed c cs x : (count is_sampled cs <= 1)%N ->
  ~~ is_sampled x -> x.1 \notin tokens cs -> step_fixed vs rheo_rule c cs x.
Proof.
move=> le nx xin; have le' : (count is_sampled (rcons cs x) <= 1)%N.
  by rewrite -cats1 count_cat /= (negbTE nx) !addn0.
have sE : sampled (candidates (rcons cs x)) = sampled (candidates cs).
  by rewrite !sampled_candidates // filter_rcons (negbTE nx).
have oE u : u \in tokens cs -> (u \in others (candidates (rcons cs x))) = (u \in others (candidates cs)).
  move=> uin; rewrite !mem_others_candidates filter_rcons nx map_rcons mem_rcons in_cons.
  by case: eqP => // ux; rewrite -ux uin in xin.
have sz : (size (sampled (candidates cs)) <= 1)%N by rewrite sampled_candidates // size_map size_filter.
rewrite /step_fixed /emit /enter /rheo_rule.
case e: (sampled (candidates cs)) sz => [|y [|//]] _; split=> [v|u uin].
- by rewrite !layer_lossless_rheo_none ?sE.
- by rewrite !rheo_law0 ?sE // !sum_enters oE.
- by rewrite !(rheo_law1 _ _ _ _ (y := y)) ?sE.
- rewrite !(rheo_law1 _ _ _ _ (y := y)) ?sE //; by rewrite !sum_enters oE.
Qed.

Lemma rheo_step_drawn c cs (d : V -> R) t : dist vs (q c) -> d =1 q c -> ~~ has is_sampled cs ->
  rheo_drawn c cs t -> step_drawn vs rheo_rule c cs d (t, true).
Proof.
move=> dq dE ns q0.
have cn : count is_sampled cs = 0%N by apply/eqP; rewrite -leqn0 leqNgt -has_count.
have fn : [seq x <- cs | is_sampled x] = [::] by apply/eqP; rewrite -size_eq0 size_filter cn.
have sE y : sampled (candidates (rcons cs (y, (t, true)))) = [:: y].
  by rewrite sampled_candidates ?filter_rcons /= ?fn // -cats1 count_cat cn.
have s0 : sampled (candidates cs) = [::] by rewrite sampled_candidates ?fn ?cn.
have oE y u : (u \in others (candidates (rcons cs (y, (t, true))))) = (u \in tokens cs).
  by rewrite mem_others_candidates filter_rcons /= (_ : [seq x <- cs | _] = cs) //; apply/all_filterP; rewrite all_predC.
have o0 u : (u \in others (candidates cs)) = (u \in tokens cs).
  by rewrite mem_others_candidates (_ : [seq x <- cs | _] = cs) //; apply/all_filterP; rewrite all_predC.
have pc := dp c.
rewrite /step_drawn /emit /enter /rheo_rule; split=> [v|u uin].
- rewrite layer_lossless_rheo_none // -[RHS](layer_lossless_rheo vsP (cs := fun y => candidates (rcons cs (y, (t, true)))) v pc dq) //.
  by apply: eq_tot => // y; rewrite dE.
- have qu : q c u = 0 by move: uin => /mapP [x xin ->]; exact: q0.
  rewrite totE //; under eq_bigr do rewrite dE.
  rewrite (rheo_law vsP (fun _ => @enters R V u)) // rheo_law0 //.
  rewrite [X in X + _]big1 ?add0r; last first.
    move=> y _; rewrite /enters xpair_eqE /=; case: eqP => [->|]; rewrite ?mulr0 // mulr1.
    by rewrite qu (min_idPr _) //; case: pc.
  rewrite sum_enters o0 uin mulr1.
  under eq_bigr do rewrite sum_enters oE uin mulr1.
  rewrite -mulr_suml; have := min_residual vsP u pc dq.
  by rewrite qu (min_idPr _) ?add0r //; case: pc.
Qed.

Lemma count_children_rcons h c0 (x : slotted) c :
  count is_sampled (children (rcons h (c0, x)) c) =
  (count is_sampled (children h c) + ((c0 == c) && is_sampled x))%N.
Proof. by rewrite children_rcons; case: eqP; rewrite ?addn0 //= -cats1 count_cat /= addn0. Qed.

Hypothesis dq : forall c, dist vs (q c).

(* adapted-growth: rheo meets the step condition under every policy that reveals fills after the sampled slot. *)
Theorem adapted_growth_rheo root g s : sound rheo_fixed rheo_drawn root [::] g ->
  grow vs g [::] (fun h => cycle vs rheo_rule (target p) h root s) = target p root s.
Proof.
move=> sg; apply: adapted_growth => //.
  by move=> c v; rewrite /emit /rheo_rule layer_lossless_rheo_none.
have : forall c, (count is_sampled (children [::] c : seq slotted) <= 1)%N by [].
elim: g [::] sg => [//|c x g IH|c d [t b] k IH] h /=.
- case=> it [nx xin _] _ sg le; split=> //; first exact: rheo_step_fixed.
  by apply: IH => // c'; rewrite count_children_rcons (negbTE nx) andbF addn0.
- case=> it [dE /= -> ns _] q0 hk le; split=> //.
  + by rewrite (eq_tot vsP dE); case: (dq c).
  + exact: rheo_step_drawn.
  + move=> y dy; case: (hk y dy) => _ sg; apply: IH => // c'.
    rewrite count_children_rcons andbT; case: eqP => [<-|_]; last by rewrite addn0.
    by move: ns; rewrite has_count -leqNgt leqn0 => /eqP ->.
Qed.

(* ---- rrsw ---- *)
Lemma sorted_split cs x : sorted (fun a b => slot a <= slot b)%N cs -> uniq (map slot cs) -> x \in cs ->
  cs = [seq z <- cs | slot z < slot x]%N ++ x :: [seq z <- cs | slot x < slot z]%N.
Proof.
have tr : transitive (fun a b => slot a <= slot b)%N by move=> a b c; exact: leq_trans.
elim: cs => [//|a cs IH] /= so /andP [an un]; rewrite in_cons.
have amin z : z \in cs -> (slot a < slot z)%N.
  move=> zin; rewrite ltn_neqAle (allP (order_path_min tr so) z zin) andbT.
  by apply: contra an => /eqP ->; exact: map_f.
case: eqP => [-> _|_ /= xin].
  rewrite ltnn /=; have -> : [seq z <- cs | slot z < slot a]%N = [::].
    by apply/eqP; rewrite -size_eq0 size_filter -leqn0 leqNgt -has_count; apply/hasPn => z /amin h; rewrite -leqNgt ltnW.
  by congr (_ :: _); apply/esym/all_filterP/allP.
rewrite (amin _ xin) [(slot x < slot a)%N]ltnNge (ltnW (amin _ xin)) /=; congr (_ :: _).
by apply: IH => //; exact: path_sorted so.
Qed.

Definition before cs t := [seq x.1 | x <- in_slot_order [seq z <- cs | slot z < t]%N].
Definition after cs t := [seq x.1 | x <- in_slot_order [seq z <- cs | t < slot z]%N].

Lemma mem_before cs t v : (v \in before cs t) = (v \in [seq x.1 | x <- cs & (slot x < t)%N]).
Proof. by apply: perm_mem; rewrite perm_map // perm_slot_order. Qed.

Lemma mem_after cs t v : (v \in after cs t) = (v \in [seq x.1 | x <- cs & (t < slot x)%N]).
Proof. by apply: perm_mem; rewrite perm_map // perm_slot_order. Qed.

Lemma candidates_split cs y t : (count is_sampled cs <= 1)%N -> uniq (map slot cs) ->
  (y, (t, true)) \in cs ->
  candidates cs = [seq (u, false) | u <- before cs t] ++ (y, true) :: [seq (u, false) | u <- after cs t].
Proof.
move=> le un yin; have so : sorted (fun a b => slot a <= slot b)%N (in_slot_order cs).
  by apply: sort_sorted => a b; exact: leq_total.
have un' : uniq (map slot (in_slot_order cs)) by rewrite (perm_uniq (perm_map slot (perm_slot_order cs))).
have yin' : (y, (t, true)) \in in_slot_order cs by rewrite (perm_mem (perm_slot_order cs)).
have fs P : [seq z <- in_slot_order cs | P z] = in_slot_order [seq z <- cs | P z].
  apply: filter_sort; [by move=> a b; exact: leq_total | by move=> a b c; exact: leq_trans].
have only z : z \in cs -> slot z != t -> is_sampled z = false.
  move=> zin zt; apply/negP => zs; move: le; rewrite -size_filter.
  have : (y, (t, true)) \in [seq x <- cs | is_sampled x] by rewrite mem_filter.
  have : z \in [seq x <- cs | is_sampled x] by rewrite mem_filter zs.
  case: [seq _ <- _ | _] => [|a [|b l]] //; rewrite !inE => /eqP za /eqP ya _.
  by move: zt; rewrite za -ya eqxx.
rewrite /candidates {1}(sorted_split so un' yin') map_cat /= !fs /before /after -!map_comp.
congr (_ ++ _ :: _); apply/eq_in_map => z; rewrite (perm_mem (perm_slot_order _)) mem_filter => /andP [lt zin];
  rewrite /cand_of /= only // ?(ltn_eqF lt) //.
by rewrite eq_sym ltn_eqF.
Qed.

Lemma sampled_child cs : has is_sampled cs -> exists y t, (y, (t, true)) \in cs.
Proof. by case/hasP => -[y [t b]] yin /= bt; exists y, t; move: yin; rewrite /is_sampled /= in bt; rewrite bt. Qed.

Lemma rrsw_step_fixed c cs x : (count is_sampled cs <= 1)%N -> uniq (map slot cs) ->
  ~~ is_sampled x -> x.1 \notin tokens cs -> slot x \notin map slot cs -> rrsw_fixed cs x ->
  step_fixed vs rrsw_rule c cs x.
Proof.
move=> le un nx xin sx ok; have le' : (count is_sampled (rcons cs x) <= 1)%N.
  by rewrite -cats1 count_cat /= (negbTE nx) !addn0.
have un' : uniq (map slot (rcons cs x)) by rewrite map_rcons rcons_uniq sx.
have pc := dp c; rewrite /step_fixed /emit /enter /rrsw_rule.
have [ns|hs] := boolP (~~ has is_sampled cs).
  have fn : [seq x <- cs | is_sampled x] = [::] by apply/eqP; rewrite -size_eq0 size_filter -leqn0 leqNgt -has_count.
  have s0 : sampled (candidates cs) = [::] by rewrite sampled_candidates ?fn.
  have s1 : sampled (candidates (rcons cs x)) = [::] by rewrite sampled_candidates // filter_rcons (negbTE nx) fn.
  split=> [v|u uin]; first by rewrite !layer_lossless_rrsw_none.
  rewrite !rrsw_law0 // !sum_enters // !mem_others_candidates filter_rcons nx map_rcons mem_rcons in_cons.
  by case: eqP => // ux; rewrite -ux uin in xin.
have [y [t yin]] := sampled_child (negbNE hs).
have lt : (t < slot x)%N by exact: (ok _ yin).
have bE : before (rcons cs x) t = before cs t by rewrite /before filter_rcons ltnNge (ltnW lt).
rewrite (candidates_split le un yin) (candidates_split le' un' (y := y) (t := t)); last first.
  by rewrite mem_rcons in_cons yin orbT.
rewrite bE; split=> [v|u uin]; rewrite !rrsw_law1 ?sampled_det // !others_det.
rewrite !sum_enters !mem_after filter_rcons lt map_rcons mem_rcons in_cons.
by case: eqP => // ux; rewrite -ux uin in xin.
Qed.

Lemma rrsw_step_drawn c cs (d : V -> R) t : dist vs (q c) -> d =1 q c -> uniq (map slot cs) ->
  ~~ has is_sampled cs -> t \notin map slot cs -> rrsw_drawn c cs t ->
  step_drawn vs rrsw_rule c cs d (t, true).
Proof.
move=> dq' dE un ns tin q0.
have cn : count is_sampled cs = 0%N by apply/eqP; rewrite -leqn0 leqNgt -has_count.
have fn : [seq x <- cs | is_sampled x] = [::] by apply/eqP; rewrite -size_eq0 size_filter cn.
have s0 : sampled (candidates cs) = [::] by rewrite sampled_candidates ?fn ?cn.
have cE y : candidates (rcons cs (y, (t, true))) =
    [seq (u, false) | u <- before cs t] ++ (y, true) :: [seq (u, false) | u <- after cs t].
  rewrite (candidates_split (y := y) (t := t)).
  - by rewrite /before /after !filter_rcons /slot /= ltnn.
  - by rewrite -cats1 count_cat cn.
  - by rewrite map_rcons rcons_uniq tin.
  - by rewrite mem_rcons in_cons eqxx.
have pc := dp c; rewrite /step_drawn /emit /enter /rrsw_rule; split=> [v|u uin].
  rewrite layer_lossless_rrsw_none //.
  rewrite -[RHS](layer_lossless_rrsw vsP (before cs t) (cs := fun y => [seq (u, false) | u <- after cs t]) v pc dq').
    by apply: eq_tot => // y; rewrite dE cE.
  by move=> y _; rewrite sampled_det.
rewrite totE //; under eq_bigr do rewrite dE cE.
rewrite (rrsw_law vsP (before cs t) (fun _ => @enters R V u)) //; last by move=> y _; rewrite sampled_det.
set b := left_after vs (p c) (mem (before cs t)); rewrite rrsw_law0 // [RHS]sum_enters.
have o0 v : (v \in others (candidates cs)) = (v \in tokens cs).
  rewrite mem_others_candidates (_ : [seq x <- cs | _] = cs) //; apply/all_filterP; by rewrite all_predC.
rewrite o0 uin mulr1 -mulr_suml (dist_sum vsP dq') mul1r.
under [X in _ + _ * (_ + X)]eq_bigr do rewrite sum_enters others_det.
rewrite -mulr_suml.
have e1 (g : V -> R) (P : pred V) : \sum_(v | P v) g v * @enters R V u (true, v) = g u * (P u)%:R.
  rewrite big_mkcond -(sum_enters g P u); apply: eq_bigr => v _; rewrite /enters !xpair_eqE.
  by case: (P v); rewrite /= ?mulr0.
rewrite !e1 mulr1.
have b0 v : 0 <= b v by rewrite /b /left_after /nrm divr_ge0 ?off_ge0 //; [case: pc|rewrite totE // sumr_ge0 // => w _; apply: off_ge0; case: pc].
have zb : b u = 0 -> residual vs b (q c) u = 0.
  by move=> bu; rewrite /residual /nrm bu sub0r pos_0 ?mul0r // oppr_le0; case: dq'.
have bu : (1 - mass (p c) (mem (before cs t))) * b u = if u \in before cs t then 0 else p c u.
  by rewrite /b left_mul.
case ub: (u \in before cs t) bu => bu.
  have bu0 : b u = 0 by rewrite /b /left_after /nrm /off /= ub mul0r.
  rewrite zb // bu0 (min_idPl _); last by case: dq'.
  by rewrite !(mul0r, mulr0, addr0, mulr1).
have ua : u \in after cs t.
  move: ub uin; rewrite mem_before mem_after => ub /mapP [x xin ux].
  apply/mapP; exists x => //; rewrite mem_filter xin andbT.
  case: ltngtP => // [lt|e].
    by move: ub => /mapP []; exists x; rewrite ?mem_filter ?lt.
  by rewrite e map_f in tin.
have qu : q c u = 0.
  by move: ua; rewrite mem_after => /mapP [x]; rewrite mem_filter => /andP [lt xin] ->; exact: q0.
rewrite ua qu (min_idPr _) // mulr0 !add0r mulr1 -bu.
have [a1|a1] := eqVneq (mass (p c) (mem (before cs t))) 1; first by rewrite a1 subrr !mul0r.
congr (_ * _); have := min_residual vsP u (left_dist vsP pc a1) dq'.
by rewrite -/b qu (min_idPr _) ?add0r.
Qed.

(* adapted-growth: rrsw meets the step condition if no candidate that it tests before the sampled one is
   revealed after it. *)
Theorem adapted_growth_rrsw root g s : sound rrsw_fixed rrsw_drawn root [::] g ->
  grow vs g [::] (fun h => cycle vs rrsw_rule (target p) h root s) = target p root s.
Proof.
move=> sg; apply: adapted_growth => //.
  by move=> c v; rewrite /emit /rrsw_rule layer_lossless_rrsw_none.
have : forall c, (count is_sampled (children [::] c : seq slotted) <= 1)%N by [].
have : forall c, uniq (map slot (children [::] c : seq slotted)) by [].
elim: g [::] sg => [//|c x g IH|c d [t b] k IH] h /=.
- case=> it [nx xin sx] ok sg un le; split=> //; first exact: rrsw_step_fixed.
  apply: IH => // c'; last by rewrite count_children_rcons (negbTE nx) andbF addn0.
  by rewrite children_rcons; case: eqP => // <-; rewrite map_rcons rcons_uniq sx un.
- case=> it [dE /= -> ns tin] q0 hk un le; split=> //.
  + by rewrite (eq_tot vsP dE); case: (dq c).
  + exact: rrsw_step_drawn.
  + move=> y dy; case: (hk y dy) => _ sg; apply: IH => // c'.
      by rewrite children_rcons; case: eqP => // <-; rewrite map_rcons rcons_uniq tin un.
    rewrite count_children_rcons andbT; case: eqP => [<-|_]; last by rewrite addn0.
    by move: ns; rewrite has_count -leqNgt leqn0 => /eqP ->.
Qed.

(* pure top-K is lossless whatever the candidates and however they were chosen: any children, sampled or not *)
Lemma topk_emit c cs v : emit vs topk_rule c cs v = p c v.
Proof. exact: layer_lossless_topk. Qed.
(* Any growth of the tree whatever: drawn tokens from any law, deterministic ones by any choice. *)
Fixpoint any_growth root (h : history V slot_info) (g : growth R V slot_info) : Prop := match g with
  | Stop => True
  | Fixed c x g' => in_tree root h c /\ any_growth root (rcons h (c, x)) g'
  | Drawn c d i k => [/\ in_tree root h c, tot vs d = 1
      & forall y, d y != 0 -> any_growth root (rcons h (c, (y, i))) (k y)]
  end.

Lemma topk_enter c cs u : enter vs topk_rule c cs u = p c u * (u \in tokens cs)%:R.
Proof.
rewrite /enter /topk_rule topk_law // (sum_enters (p c) (mem (map fst (candidates cs))) u) /=; congr (_ * (nat_of_bool _)%:R).
apply: etrans (perm_mem (perm_map fst (perm_slot_order cs)) u).
by rewrite /candidates -map_comp.
Qed.

(* topk is lossless whatever the candidates and however they were chosen. *)
Theorem adapted_growth_topk root g s : any_growth root [::] g ->
  grow vs g [::] (fun h => cycle vs topk_rule (target p) h root s) = target p root s.
Proof.
move=> ag; apply: adapted_growth => //; first by move=> c v; rewrite topk_emit.
elim: g [::] ag => [//|c x g IH|c d i k IH] h /=.
- case=> it ag; split=> //; last exact: IH.
  split=> [v|u uin]; first by rewrite !topk_emit.
  by rewrite !topk_enter uin /tokens map_rcons mem_rcons in_cons -/(tokens _) uin orbT.
- case=> it d1 hk; split=> //; last by move=> y dy; apply: IH; exact: hk.
  split=> [v|u uin].
    transitivity (tot vs (fun y => d y * p c v)); first by apply: eq_tot => // y; rewrite topk_emit.
    by rewrite topk_emit // totE // -mulr_suml -(totE vsP) d1 mul1r.
  transitivity (tot vs (fun y => d y * p c u)).
    apply: eq_tot => // y; rewrite topk_enter /tokens map_rcons mem_rcons in_cons -/(tokens _) uin orbT mulr1 //.
  by rewrite topk_enter uin mulr1 totE // -mulr_suml -(totE vsP) d1 mul1r.
Qed.
End StepCondition.
