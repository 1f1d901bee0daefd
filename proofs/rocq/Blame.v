(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   blame: where a design that is not lossless first goes wrong. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Growth.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Blame.
Variables (R : realFieldType) (V : finType) (vs : seq V) (info : eqType).
Hypothesis vsP : vocabulary vs.
Variable p : context V -> V -> R.
Variable rule : context V -> seq (child V info) -> prog R V (outcome V).
Hypothesis rule_nil : forall c v, emit vs rule c [::] v = p c v.
Variable root : context V.

(* A design by its outcomes: how probable each is, and for every k the slot and the token of its (k+1)-th node. What a
   slot claims is a decision of a policy: the token is known, or has a law. Nothing is asked of how slots are chosen. *)
Variables (Omega : finType) (w : Omega -> R) (slots : eqType) (claim : slots -> decision R V info).
Variables (slot_at : nat -> Omega -> slots) (token_at : nat -> Omega -> V).

Definition add_node (h : history V info) (d : decision R V info) y : history V info := match d with
  | Halt => h
  | Fix c x => rcons h (c, x)
  | Draw_at c _ i => rcons h (c, (y, i))
  end.
Fixpoint tree_of k o : history V info :=
  if k is k'.+1 then add_node (tree_of k' o) (claim (slot_at k' o)) (token_at k' o) else [::].

(* what is emitted at budget k, continued by the target *)
Definition emitted k s : R := \sum_o w o * cycle vs rule (target p) (tree_of k o) root s.

(* the same tree T_k, and the same slot next *)
Definition alike k o : pred Omega := fun o' => (tree_of k o' == tree_of k o) && (slot_at k o' == slot_at k o).
(* given these, the token of a sampled slot has the law that the slot claims *)
Definition faithful_at k o : bool := match claim (slot_at k o) with
  | Draw_at c d i =>
      [forall y, \sum_(o' | alike k o o' && (token_at k o' == y)) w o' == d y * \sum_(o' | alike k o o') w o']
  | _ => true
  end.
(* the new node hangs on the tree, and the layer rule meets the step condition there *)
Definition rule_holds_at k o : Prop := match claim (slot_at k o) with
  | Halt => True
  | Fix c x => in_tree root (tree_of k o) c /\ step_fixed vs rule c (children (tree_of k o) c) x
  | Draw_at c d i => [/\ in_tree root (tree_of k o) c, tot vs d = 1
      & step_drawn vs rule c (children (tree_of k o) c) d i]
  end.

Lemma tree_closed k o : (forall j, (j < k)%N -> rule_holds_at j o) -> closed root (tree_of k o).
Proof.
elim: k => [_|k IH h] /=; first exact: closed_nil.
have ch := IH (fun j jk => h j (ltnW jk)); have := h k (ltnSn k); rewrite /rule_holds_at.
case: (claim _) => [|c x|c d i] //=.
- by case=> it _; exact: closed_rcons.
- by case=> it _ _; exact: closed_rcons.
Qed.

Lemma alike_refl k o : alike k o o. Proof. by rewrite /alike !eqxx. Qed.

Lemma alike_same k o o' : alike k o o' -> alike k o =1 alike k o'.
Proof. by move=> /andP [/eqP e1 /eqP e2] x; rewrite /alike e1 e2. Qed.

(* sums agree if they agree over the outcomes that look alike *)
Lemma sum_alike k (F G : Omega -> R) :
  (forall o, \sum_(o' | alike k o o') F o' = \sum_(o' | alike k o o') G o') -> \sum_o F o = \sum_o G o.
Proof.
move=> h; pose first o := odflt o [pick o' | alike k o o'].
have fP o : alike k o (first o).
  by rewrite /first; case: pickP => //= z; have := z o; rewrite alike_refl.
have fE o o' : (first o == first o') = alike k o o'.
  apply/eqP/idP => [e|a].
    have a := fP o; rewrite e in a.
    by rewrite (alike_same a) -(alike_same (fP o')) alike_refl.
  rewrite /first (eq_pick (alike_same a)); case: pickP => // z.
  by have := z o'; rewrite alike_refl.
rewrite (partition_big first xpredT) // [RHS](partition_big first xpredT) //=; apply: eq_bigr => j _.
case: (pickP (fun o => first o == j)) => [o /eqP oj|none]; last by rewrite !big_pred0.
have e o' : (first o' == j) = alike k o o' by rewrite -oj eq_sym fE.
by rewrite !(eq_bigl _ _ e).
Qed.

(* One more node changes nothing where the slots are faithful and the rule meets its condition. *)
Lemma emitted_step k s : (forall o, w o != 0 -> faithful_at k o) ->
  (forall j o, (j <= k)%N -> w o != 0 -> rule_holds_at j o) -> emitted k.+1 s = emitted k s.
Proof.
move=> hf hr; rewrite /emitted; apply: (sum_alike (k := k)) => o0.
case: (pickP (fun o => alike k o0 o && (w o != 0))) => [o /andP [a wo]|none]; last first.
  by rewrite !big1 // => o ho; have := none o; rewrite ho /= => /negbFE /eqP ->; rewrite mul0r.
rewrite !(eq_bigl _ _ (alike_same a)) {o0 a}.
have ch : closed root (tree_of k o) by apply: tree_closed => j jk; apply: hr (ltnW jk) wo.
have := hf o wo; have := hr k o (leqnn k) wo; rewrite /rule_holds_at /faithful_at.
set h := tree_of k o; set cl := claim (slot_at k o) => hold faith.
transitivity (\sum_(o' | alike k o o') w o' * cycle vs rule (target p) (add_node h cl (token_at k o')) root s).
  by apply: eq_bigr => o' /andP [/eqP e1 /eqP e2] /=; rewrite e1 e2.
transitivity (\sum_(o' | alike k o o') w o' * cycle vs rule (target p) h root s); last first.
  by apply: eq_bigr => o' /andP [/eqP e1 _]; rewrite e1.
case: cl hold faith => [|c x|c d i] //=.
  by case=> it st _; apply: eq_bigr => o' _; rewrite (cycle_fixed vsP rule_nil s ch it (leqnn _) st).
case=> it d1 st /forallP fa; rewrite -mulr_suml (partition_big (token_at k) xpredT) //=.
rewrite -(cycle_drawn vsP rule_nil s ch it (leqnn _) d1 st) mulr_sumr; apply: eq_bigr => y _.
rewrite mulrA [_ * d y]mulrC -(eqP (fa y)) mulr_suml.
by apply: eq_bigr => o' /andP [_ /eqP ->].
Qed.

(* blame. At the smallest lossy budget B, if the rule meets its condition wherever a node was added, there is a sampled
   slot whose token, given T_{B-1} and that this slot is next, does not have the law that the slot claims. *)
Theorem blame B s : \sum_o w o = 1 ->
  (forall k o, (k < B)%N -> w o != 0 -> rule_holds_at k o) ->
  (forall k, (k < B)%N -> emitted k s = target p root s) -> emitted B s != target p root s ->
  exists o c d i y, [/\ w o != 0, claim (slot_at B.-1 o) = Draw_at c d i
    & \sum_(o' | alike B.-1 o o' && (token_at B.-1 o' == y)) w o' != d y * \sum_(o' | alike B.-1 o o') w o'].
Proof.
move=> w1 hr below lossy.
have [k kB] : exists k, B = k.+1.
  case: B hr below lossy => [|k] _ _; last by exists k.
  rewrite /emitted /= -mulr_suml w1 mul1r (cycle_below (root := root) vsP rule_nil) ?eqxx //.
move: hr below lossy; rewrite kB /= => hr below lossy.
have : ~~ [forall o, (w o != 0) ==> faithful_at k o].
  apply: contra lossy => /forallP fa; apply/eqP; rewrite emitted_step ?below // => o wo.
  by have := fa o; rewrite wo.
rewrite negb_forall => /existsP [o]; rewrite negb_imply => /andP [wo].
rewrite /faithful_at; case e: (claim _) => [|c x|c d i] //.
by rewrite negb_forall => /existsP [y ne]; exists o, c, d, i, y.
Qed.

(* If every slot is faithful, the layer rule is to blame. *)
Theorem blame_rule B s : \sum_o w o = 1 -> (forall k o, (k < B)%N -> w o != 0 -> faithful_at k o) ->
  emitted B s != target p root s -> ~ (forall k o, (k < B)%N -> w o != 0 -> rule_holds_at k o).
Proof.
move=> w1 hf lossy hr; move: lossy => /eqP; apply.
elim: B hf hr => [|k IH] hf hr; last first.
  rewrite emitted_step; [|by move=> o; exact: hf|by move=> j o jk; exact: hr].
  by apply: IH => j o jk; [apply: hf | apply: hr]; exact: ltnW.
by rewrite /emitted /= -mulr_suml w1 mul1r (cycle_below (root := root) vsP rule_nil).
Qed.
End Blame.
