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
End StepCondition.
