(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   pruned-optimum: in a pruned dynamic tree a transport plan chosen for the number of survivors seen is lossy. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Acceptance Optimum Growth StepCondition Priority Reads DynamicTree Ranking EagerLazy Lossless Rheo Refutations.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* ---- what all runs of a program have in common ---- *)
Section AllRuns.
Variables (R : realFieldType) (V : finType) (vs : seq V) (q : context V -> V -> R).
Hypothesis vsP : vocabulary vs.
Fixpoint all_runs (r : reads R V) (P : pred (seq (node R V))) : bool := match r with
  | Done t => P t
  | Read c k => all (fun y => all_runs (k y) P) vs
  end.

Lemma Er_all r P F G : all_runs r P -> (forall t, P t -> F t = G t) -> Er vs q r F = Er vs q r G.
Proof.
move=> h e; elim: r h => [t|c k IH] /=; first exact: e.
by move=> /allP h; apply: eq_tot => // y; rewrite IH // h //; case: vsP => _ ->.
Qed.

Lemma Er_add r F G : Er vs q r (fun t => F t + G t) = Er vs q r F + Er vs q r G.
Proof.
elim: r => [//|c k IH] /=; rewrite !totE // -big_split /=; apply: eq_bigr => y _.
by rewrite IH mulrDr.
Qed.
End AllRuns.

Lemma vocab3P : vocabulary vocab3.
Proof. by split=> // -[[|[|[|]]] i] //; rewrite !inE -!val_eqE. Qed.

Lemma sum3 (R : realFieldType) (f : 'I_3 -> R) : \sum_v f v = f a3 + (f b3 + f c3).
Proof. by rewrite -(totE vocab3P) /tot /= addr0. Qed.

Lemma forall3 (P : 'I_3 -> Prop) : P a3 -> P b3 -> P c3 -> forall v, P v.
Proof.
move=> ha hb hc [[|[|[|//]]] i].
- by have -> : Ordinal i = a3 by exact: val_inj.
- by have -> : Ordinal i = b3 by exact: val_inj.
- by have -> : Ordinal i = c3 by exact: val_inj.
Qed.

(* ---- the instance: V = 3, m = 0, K = 2, W = 1, D = 2, R = 2 ---- *)
Definition prune_draft (c : context [finType of 'I_3]) : 'I_3 -> rat :=
  if c == [::] then (@row 3 [:: 2; 1; 1] 4)%N
  else if c == [:: a3] then (@row 3 [:: 1; 0; 0] 1)%N else (@row 3 [:: 1; 1; 1] 3)%N.
Definition prune_p : 'I_3 -> rat := (@row 3 [:: 1; 1; 0] 2)%N.   (* the target at the root *)
Definition prune_q : 'I_3 -> rat := qtilde vocab3 prune_draft prune_draft 0 2 [::].
Definition prune_tree := rheo_tree vocab3 a3 prune_draft prune_draft 0 2 0 1 2 2 [::].

(* The candidates of the root layer when n of them survive and the sampled token is y. *)
Definition prune_candidates (n : nat) (y : 'I_3) : seq 'I_3 :=
  take n [seq x.1 | x <- rheo_pool vocab3 a3 prune_draft prune_draft 0 2 0 [::] y].

(* A plan for n survivors that accepts the most: no rule for these candidates accepts more. *)
Definition plan := 'I_3 -> outcome [finType of 'I_3] -> rat.
Definition optimal_plan (n : nat) (l : plan) :=
  layer_rule prune_q (prune_candidates n) prune_p l /\
  forall l', layer_rule prune_q (prune_candidates n) prune_p l' -> rule_acceptance prune_q l' <= rule_acceptance prune_q l.

(* The root layer of a kept tree, and the law of the first token when the plan for the number seen is used. *)
Definition root_layer (T : seq (node [realFieldType of rat] [finType of 'I_3])) : nat * 'I_3 :=
  let cs := children (hist a3 (rheo_slot vocab3 prune_draft prune_draft 0 2) T) [::] in
  (size cs, head a3 (sampled (candidates cs))).
Definition prune_law (l : nat -> plan) (s : seq 'I_3) : rat :=
  Er vocab3 (qtilde vocab3 prune_draft prune_draft 0 2) prune_tree (fun T =>
    let: (n, y) := root_layer T in l n y (true, head a3 s) + l n y (false, head a3 s)).

Definition layers := [:: (1%N, a3); (2%N, b3); (2%N, c3)].

Lemma prune_law_eq l v : prune_law l [:: v] =
  1 / 2%:R * (l 1%N a3 (true, v) + l 1%N a3 (false, v))
  + (1 / 4%:R * (l 2%N b3 (true, v) + l 2%N b3 (false, v))
    + 1 / 4%:R * (l 2%N c3 (true, v) + l 2%N c3 (false, v))).
Proof.
pose em (x : nat * 'I_3) := l x.1 x.2 (true, v) + l x.1 x.2 (false, v).
pose at_ x (T : seq (node [realFieldType of rat] [finType of 'I_3])) : rat := (root_layer T == x)%:R.
transitivity (Er vocab3 (qtilde vocab3 prune_draft prune_draft 0 2) prune_tree (fun T =>
    at_ (1%N, a3) T * em (1%N, a3) + (at_ (2%N, b3) T * em (2%N, b3) + at_ (2%N, c3) T * em (2%N, c3)))).
  apply: (@Er_all _ _ _ _ vocab3P _ (fun T => root_layer T \in layers)); first by vm_compute.
  move=> T; rewrite /at_ !inE /em => /or3P [] /eqP ->.
  - have -> : ((1%N, a3) == (2%N, b3)) = false by []. 
    have -> : ((1%N, a3) == (2%N, c3)) = false by [].
    by rewrite eqxx mul1r !mul0r !addr0.
  - have -> : ((2%N, b3) == (1%N, a3)) = false by [].
    have -> : ((2%N, b3) == (2%N, c3)) = false by [].
    by rewrite eqxx mul1r !mul0r addr0 add0r.
  - have -> : ((2%N, c3) == (1%N, a3)) = false by [].
    have -> : ((2%N, c3) == (2%N, b3)) = false by [].
    by rewrite eqxx mul1r !mul0r !add0r.
rewrite !(Er_add _ vocab3P) !(Er_scale vocab3P).
by congr (_ * _ + (_ * _ + _ * _)); apply/eqP; vm_compute.
Qed.

(* ---- two plans, for comparison ---- *)
Definition fixed_plan (f : 'I_3 -> outcome [finType of 'I_3]) : plan := fun y o => (o == f y)%:R.

Lemma fixed_plan_rule (q p : 'I_3 -> rat) (C : 'I_3 -> seq 'I_3) (f : 'I_3 -> outcome [finType of 'I_3]) :
  (forall y, (f y).1 -> (f y).2 \in C y) ->
  (forall v, q a3 * ((f a3).2 == v)%:R + (q b3 * ((f b3).2 == v)%:R + q c3 * ((f c3).2 == v)%:R) = p v) ->
  layer_rule q C p (fixed_plan f).
Proof.
have e y v : fixed_plan f y (true, v) + fixed_plan f y (false, v) = ((f y).2 == v)%:R.
  rewrite /fixed_plan; case: (f y) => [[] w]; rewrite !xpair_eqE /= ?addr0 ?add0r eq_sym //.
move=> hC hp; split.
- by move=> y o; rewrite ler0n.
- by move=> y _; under eq_bigr do rewrite e; rewrite sum_is.
- move=> y u nu; rewrite /fixed_plan; case: eqP => // h; move: (hC y); rewrite -h => /(_ isT).
  by rewrite (negbTE nu).
- by move=> v; under eq_bigr do rewrite e; rewrite sum3.
Qed.

Lemma fixed_plan_acceptance (f : 'I_3 -> outcome [finType of 'I_3]) : rule_acceptance prune_q (fixed_plan f) =
  prune_q a3 * (f a3).1%:R + (prune_q b3 * (f b3).1%:R + prune_q c3 * (f c3).1%:R).
Proof.
rewrite /rule_acceptance sum3; have e y : \sum_u fixed_plan f y (true, u) = (f y).1%:R.
  rewrite /fixed_plan; case: (f y) => [[] w].
    by rewrite -[RHS](sum_is _ w); apply: eq_bigr => u _; rewrite xpair_eqE eq_sym.
  by rewrite big1 // => u _; rewrite xpair_eqE.
by rewrite !e.
Qed.

Definition plan1 (y : 'I_3) : outcome [finType of 'I_3] :=
  if y == a3 then (true, a3) else if y == b3 then (true, b3) else (false, b3).
Definition plan2 (y : 'I_3) : outcome [finType of 'I_3] := if y == a3 then (true, b3) else (true, a3).

Lemma plan1_rule : layer_rule prune_q (prune_candidates 1) prune_p (fixed_plan plan1).
Proof. by apply: fixed_plan_rule; apply: forall3 => //; apply/eqP; vm_compute. Qed.

Lemma plan2_rule : layer_rule prune_q (prune_candidates 2) prune_p (fixed_plan plan2).
Proof. by apply: fixed_plan_rule; apply: forall3 => //; try by [vm_compute]; apply/eqP; vm_compute. Qed.

Lemma prune_qE : [/\ prune_q a3 = 1 / 2%:R, prune_q b3 = 1 / 4%:R & prune_q c3 = 1 / 4%:R].
Proof. by split; apply/eqP; vm_compute. Qed.

(* ---- the argument ---- *)
Section Argument.
Variables (q p : 'I_3 -> rat) (C1 C2 : 'I_3 -> seq 'I_3) (h : rat) (l1 l2 : plan).
Hypotheses (h0 : 0 < h) (h4 : h + h + (h + h) = 1).
Hypotheses (qa : q a3 = h + h) (qb : q b3 = h) (qc : q c3 = h).
Hypotheses (pa : p a3 = h + h) (pb : p b3 = h + h) (pc : p c3 = 0).
Hypotheses (C1a : C1 a3 = [:: a3]) (C1c : C1 c3 = [:: c3]) (C2c : C2 c3 = [:: c3; a3]).
Hypotheses (r1 : layer_rule q C1 p l1) (r2 : layer_rule q C2 p l2).
Hypotheses (best1 : h + h + h <= rule_acceptance q l1) (best2 : 1 <= rule_acceptance q l2).

Lemma q_ge0 y : 0 <= q y.
Proof. by move: y; apply: forall3; rewrite ?qa ?qb ?qc ?addr_ge0 // ltW. Qed.

Lemma q_neq0 y : q y != 0.
Proof. by move: y; apply: forall3; rewrite ?qa ?qb ?qc gt_eqF // addr_gt0. Qed.

(* a rule cannot accept the third token, which the target excludes *)
Lemma no_third C (l : plan) : layer_rule q C p l -> l c3 (true, c3) = 0.
Proof.
move=> [ln _ _ lp]; have g y : 0 <= q y * (l y (true, c3) + l y (false, c3)).
  by apply: mulr_ge0; [exact: q_ge0 | apply: addr_ge0].
have := lp c3; rewrite pc => /eqP; rewrite psumr_eq0; last by move=> y _; exact: g.
move=> /allP /(_ c3 (mem_index_enum _)) /=; rewrite mulf_eq0 (negbTE (q_neq0 _)) /=.
by rewrite paddr_eq0 //; case/andP => /eqP.
Qed.

Lemma accepted_le1 C (l : plan) y : layer_rule q C p l -> \sum_u l y (true, u) <= 1.
Proof.
move=> [ln l1' _ _]; rewrite -(l1' y (q_neq0 y)); apply: ler_sum => v _; by rewrite ler_addl.
Qed.

Lemma first_drawn : 1 <= l1 a3 (true, a3).
Proof.
have b1 := accepted_le1 b3 r1; have z := no_third r1; case: r1 => [n1 _ c1 _].
move: best1; rewrite /rule_acceptance sum3.
have -> : \sum_u l1 a3 (true, u) = l1 a3 (true, a3).
  by rewrite sum3 (c1 a3 b3) ?C1a // (c1 a3 c3) ?C1a // !addr0.
have -> : \sum_u l1 c3 (true, u) = 0.
  by rewrite sum3 z (c1 c3 a3) ?C1c // (c1 c3 b3) ?C1c // !addr0.
rewrite mulr0 addr0 qa qb => k.
have : h + h <= (h + h) * l1 a3 (true, a3).
  rewrite -(ler_add2r h); apply: le_trans k _; rewrite ler_add2l.
  rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l b1; exact: ltW.
by rewrite -[X in X <= _]mulr1 ler_pmul2l // addr_gt0.
Qed.

Lemma third_drawn : 1 <= l2 c3 (true, a3).
Proof.
have b1 := accepted_le1 b3 r2; have a1 := accepted_le1 a3 r2; have z := no_third r2; case: r2 => [n2 _ c2 _].
move: best2; rewrite /rule_acceptance sum3.
have -> : \sum_u l2 c3 (true, u) = l2 c3 (true, a3).
  by rewrite sum3 z (c2 c3 b3) ?C2c ?addr0.
rewrite qa qb qc => k.
have : h <= h * l2 c3 (true, a3).
  have hh : 0 <= h + h by rewrite addr_ge0 // ltW.
  have e : (h + h) * (\sum_u l2 a3 (true, u)) <= h + h.
    by rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l a1.
  have f : h * (\sum_u l2 b3 (true, u)) <= h.
    by rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l b1; exact: ltW.
  rewrite -(ler_add2l h) -(ler_add2l (h + h)) h4; apply: le_trans k _.
  by apply: ler_add => //; rewrite ler_add2r.
by rewrite -[X in X <= _]mulr1 ler_pmul2l.
Qed.

Definition mixed v : rat :=
  (h + h) * (l1 a3 (true, v) + l1 a3 (false, v))
  + (h * (l2 b3 (true, v) + l2 b3 (false, v)) + h * (l2 c3 (true, v) + l2 c3 (false, v))).

(* the first token is a with probability 3/4 at least, instead of 1/2 *)
Lemma mixed_first : p a3 + h <= mixed a3.
Proof.
have A1 := first_drawn; have A2 := third_drawn.
case: r1 => [n1 _ _ _]; case: r2 => [n2 _ _ _]; rewrite pa; apply: ler_add.
  rewrite -[X in X <= _]mulr1; apply: ler_wpmul2l; first by rewrite addr_ge0 // ltW.
  by apply: le_trans A1 _; rewrite ler_addl.
rewrite -[X in X <= _]add0r; apply: ler_add.
  by apply: mulr_ge0; [exact: ltW | apply: addr_ge0].
rewrite -[X in X <= _]mulr1; apply: ler_wpmul2l; first exact: ltW.
by apply: le_trans A2 _; rewrite ler_addl.
Qed.

Lemma mixed_sum : mixed a3 + (mixed b3 + mixed c3) = 1.
Proof.
case: r1 => [_ s1 _ _]; case: r2 => [_ s2 _ _]; rewrite -(sum3 mixed) /mixed !big_split.
by rewrite -!mulr_sumr s1 ?s2 ?q_neq0 // !mulr1.
Qed.

Lemma mixed_off : h + h <= `|mixed a3 - p a3| + (`|mixed b3 - p b3| + `|mixed c3 - p c3|).
Proof.
have dA : h <= mixed a3 - p a3 by rewrite ler_subr_addl mixed_first.
apply: ler_add; first by apply: le_trans dA _; exact: ler_norm.
apply: le_trans (ler_norm_add _ _); rewrite -normrN; apply: le_trans (ler_norm _).
suff -> : - (mixed b3 - p b3 + (mixed c3 - p c3)) = mixed a3 - p a3 by [].
have P1 : p a3 + (p b3 + p c3) = 1 by rewrite pa pb pc addr0.
apply/eqP; rewrite eq_sym -subr_eq0 opprK; apply/eqP.
by rewrite [X in _ + X]addrACA [LHS]addrACA -!opprD mixed_sum P1 subrr.
Qed.
Lemma mixed_tv (law : seq 'I_3 -> rat) : (forall v, law [:: v] = mixed v) ->
  (h + h) / 2%:R <= total_variation vocab3 1 law (fun s => p (head a3 s)).
Proof.
move=> e; rewrite /total_variation /= !e addr0.
by apply: ler_wpmul2r mixed_off; rewrite invr_ge0.
Qed.
End Argument.

(* pruned-optimum. Whatever plans of most acceptance are used for one and for two survivors, the output is off by total
   variation 1/4 at least. *)
Theorem pruned_optimum l : optimal_plan 1 (l 1%N) -> optimal_plan 2 (l 2%N) ->
  1 / 4%:R <= total_variation vocab3 1 (prune_law l) (fun s => prune_p (head a3 s)).
Proof.
move=> [r1 o1] [r2 o2]; pose h : rat := 1 / 4%:R.
have h0 : 0 < h by vm_compute.
have h4 : h + h + (h + h) = 1 by apply/eqP; vm_compute.
have hh : 1 / 2%:R = h + h by apply/eqP; vm_compute.
have [qa qb qc] := prune_qE.
have pa : prune_p a3 = h + h by apply/eqP; vm_compute.
have pb : prune_p b3 = h + h by apply/eqP; vm_compute.
have pc : prune_p c3 = 0 by apply/eqP; vm_compute.
have C1a : prune_candidates 1 a3 = [:: a3] by apply/eqP; vm_compute.
have C1c : prune_candidates 1 c3 = [:: c3] by apply/eqP; vm_compute.
have C2c : prune_candidates 2 c3 = [:: c3; a3] by apply/eqP; vm_compute.
have best1 : h + h + h <= rule_acceptance prune_q (l 1%N).
  apply: le_trans (o1 _ plan1_rule); rewrite fixed_plan_acceptance qa qb qc; by vm_compute.
have best2 : 1 <= rule_acceptance prune_q (l 2%N).
  apply: le_trans (o2 _ plan2_rule); rewrite fixed_plan_acceptance qa qb qc; by vm_compute.
rewrite hh in qa.
have e v : prune_law l [:: v] = mixed h (l 1%N) (l 2%N) v by rewrite prune_law_eq hh.
have := mixed_tv h0 h4 qa qb qc pa pb pc C1a C1c C2c r1 r2 best1 best2 e.
by rewrite (_ : (h + h) / 2%:R = 1 / 4%:R) //; apply/eqP; vm_compute.
Qed.
