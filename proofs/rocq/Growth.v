(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   adapted-growth, the general theorem: a tree grown one node at a time by an arbitrary policy, verified by any
   layer rule that meets the step condition, loses nothing. Then: rheo and rrsw meet the step condition. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Growth.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.

(* A context is a token sequence. The node c ++ u of the tree is the child u of c. *)
Definition context := seq V.
(* A child: its token, and whatever a rule may want to know of it (its slot, its kind). *)
Variable info : Type.
Definition child := (V * info)%type.
(* What is revealed so far: each node with its parent context, oldest first. *)
Definition history := seq (context * child).
Implicit Types (c : context) (h : history) (cs : seq child) (s : seq V) (u v y : V).

Definition children h c : seq child := [seq x.2 | x <- h & x.1 == c].
Definition tokens cs : seq V := map fst cs.

(* The target, and a layer rule: the verification of the children revealed at a context. *)
Variable p : context -> V -> R.
Variable rule : context -> seq child -> prog R V (outcome V).

Definition emit c cs v := E vs (rule c cs) (@emits R V v).
Definition enter c cs u := E vs (rule c cs) (@enters R V u).
Definition fresh c cs v := E vs (rule c cs) (fun o => (o == (false, v))%:R).

(* The law of the next tokens under the target, *)
Fixpoint target c s : R := if s is v :: s' then p c v * target (rcons c v) s' else 1.

(* and of one cycle that verifies the tree h, starting at c: descend into an accepted child, or end the cycle with
   a fresh token; next tell what comes after the end of the cycle. *)
Fixpoint cycle (next : context -> seq V -> R) h c s : R :=
  if s is v :: s' then
    enter c (children h c) v * cycle next h (rcons c v) s'
    + fresh c (children h c) v * next (rcons c v) s'
  else 1.

(* ---- growth: an adaptive process that reveals nodes ---- *)
(* Each constructor is one decision of the policy. It can depend on everything revealed so far, tokens included,
   because what follows a drawn token is a function of it. Stopping depends on the same. *)
Inductive growth :=
| Stop
| Fixed of context & child & growth               (* a child whose token is known *)
| Drawn of context & (V -> R) & info & (V -> growth).  (* a child whose token is drawn from this law *)

Fixpoint grow g h (F : history -> R) : R := match g with
  | Stop => F h
  | Fixed c x g' => grow g' (rcons h (c, x)) F
  | Drawn c d i k => tot vs (fun y => d y * grow (k y) (rcons h (c, (y, i))) F)
  end.

(* The step condition: one more child changes neither the probability of any token nor the probability of
   entering a child that was there; exactly if its token is known, on average if it is drawn. *)
Definition step_fixed c cs x :=
  (forall v, emit c (rcons cs x) v = emit c cs v) /\
  (forall u, u \in tokens cs -> enter c (rcons cs x) u = enter c cs u).
Definition step_drawn c cs (d : V -> R) i :=
  (forall v, tot vs (fun y => d y * emit c (rcons cs (y, i)) v) = emit c cs v) /\
  (forall u, u \in tokens cs -> tot vs (fun y => d y * enter c (rcons cs (y, i)) u) = enter c cs u).

Section Root.
Variable root : context.
Definition in_tree h c := c = root \/ exists c' u, c = rcons c' u /\ u \in tokens (children h c').

(* Every decision adds a child to a node of the tree, and the rule meets the step condition there. *)
Fixpoint lawful h g : Prop := match g with
  | Stop => True
  | Fixed c x g' => [/\ in_tree h c, step_fixed c (children h c) x & lawful (rcons h (c, x)) g']
  | Drawn c d i k => [/\ in_tree h c, tot vs d = 1, step_drawn c (children h c) d i
      & forall y, d y != 0 -> lawful (rcons h (c, (y, i))) (k y)]
  end.

Lemma children_rcons h c x c' :
  children (rcons h (c, x)) c' = if c == c' then rcons (children h c') x else children h c'.
Proof. by rewrite /children filter_rcons /=; case: eqP => // _; rewrite map_rcons. Qed.

(* below a node only if the node is there *)
Definition closed h := forall c u, rcons c u <> root -> u \notin tokens (children h c) ->
  children h (rcons c u) = [::].

Lemma closed_nil : closed [::]. Proof. by []. Qed.

Lemma closed_rcons h c x : closed h -> in_tree h c -> closed (rcons h (c, x)).
Proof.
move=> ch it c' u nr nu; rewrite children_rcons.
have nu' : u \notin tokens (children h c').
  apply: contra nu => h'; rewrite children_rcons; case: eqP => // _.
  by rewrite /tokens map_rcons mem_rcons in_cons h' orbT.
case: eqP => [e|_]; last exact: ch.
case: it => [cr|[c1 [u1 [c1E u1in]]]]; first by case: nr; rewrite -e.
by move: c1E u1in; rewrite e => /rcons_inj [<- <-] h'; rewrite h' in nu'.
Qed.

Hypothesis rule_nil : forall c v, emit c [::] v = p c v.

Lemma emitE c cs v : emit c cs v = enter c cs v + fresh c cs v.
Proof.
rewrite /emit /enter /fresh -[X in X + _]mul1r -[X in _ + X]mul1r -E_linear //.
by apply: E_ext => // -[[] w]; rewrite /emits /enters !xpair_eqE /= !mul1r ?addr0 ?add0r.
Qed.

Lemma cycle_deeper h c x c0 s : (size c < size c0)%N ->
  cycle target (rcons h (c, x)) c0 s = cycle target h c0 s.
Proof.
elim: s c0 => [//|v s IH] c0 lt /=; rewrite children_rcons.
case: eqP => [e|_]; first by rewrite e ltnn in lt.
by rewrite IH // size_rcons ltnW.
Qed.

Lemma cycle_below h c0 s : closed h -> (size root <= size c0)%N -> children h c0 = [::] ->
  cycle target h c0 s = target c0 s.
Proof.
move=> ch; elim: s c0 => [//|v s IH] c0 lt e /=.
have lt' : (size root < size (rcons c0 v))%N by rewrite size_rcons.
rewrite IH ?(ltnW lt') //; first by rewrite -mulrDl -emitE e rule_nil.
by apply: ch; rewrite ?e // => e'; rewrite e' ltnn in lt'.
Qed.

Lemma cycle_drawn h c d i s c0 : closed h -> in_tree h c -> (size root <= size c0)%N ->
  tot vs d = 1 -> step_drawn c (children h c) d i ->
  \sum_y d y * cycle target (rcons h (c, (y, i))) c0 s = cycle target h c0 s.
Proof.
move=> ch it lt0 d1 [sE sD]; elim: s c0 lt0 => [|v s IH] c0 lt0 /=.
  by under eq_bigr do rewrite mulr1; rewrite -(totE vsP).
have lt' : (size root < size (rcons c0 v))%N by rewrite size_rcons.
under eq_bigr do rewrite children_rcons.
case: eqP => [e|ne]; last first.
  under eq_bigr do rewrite mulrDr mulrCA.
  by rewrite big_split /= -mulr_sumr IH ?(ltnW lt') // -mulr_suml -(totE vsP) d1 mul1r.
rewrite -e; set cs := children h c in sE sD *; subst c0.
under eq_bigr do rewrite cycle_deeper ?size_rcons //.
have em : \sum_y d y * (enter c (rcons cs (y, i)) v + fresh c (rcons cs (y, i)) v)
    = enter c cs v + fresh c cs v.
  by rewrite -emitE -sE totE //; apply: eq_bigr => y _; rewrite emitE.
have [vin|vout] := boolP (v \in tokens cs); last first.
  rewrite cycle_below ?(ltnW lt') //; last by apply: ch => // e'; rewrite e' ltnn in lt'.
  rewrite -mulrDl -em mulr_suml; apply: eq_bigr => y _; by rewrite -mulrDl mulrA.
have en : \sum_y d y * enter c (rcons cs (y, i)) v = enter c cs v by rewrite -sD // totE.
have fr : \sum_y d y * fresh c (rcons cs (y, i)) v = fresh c cs v.
  move: em; under eq_bigr do rewrite mulrDr; rewrite big_split /= en; exact: addrI.
rewrite -en -fr !mulr_suml -big_split /=; apply: eq_bigr => y _.
by rewrite mulrDr !mulrA.
Qed.

Lemma cycle_fixed h c x s c0 : closed h -> in_tree h c -> (size root <= size c0)%N ->
  step_fixed c (children h c) x -> cycle target (rcons h (c, x)) c0 s = cycle target h c0 s.
Proof.
case: x => x i ch it lt0 [sE sD].
rewrite -[RHS](cycle_drawn (d := fun y => (y == x)%:R) (c := c) (i := i)) //.
- by rewrite -[LHS](sum_at (fun y => cycle target (rcons h (c, (y, i))) c0 s) x).
- by rewrite totE // -[RHS](sum_is R x); apply: eq_bigr => y _; rewrite eq_sym.
split=> [v|u uin]; rewrite totE //.
- by rewrite -sE; exact: (sum_at (fun y => emit c (rcons (children h c) (y, i)) v) x).
- by rewrite -sD //; exact: (sum_at (fun y => enter c (rcons (children h c) (y, i)) u) x).
Qed.

Lemma grow_lossless h g s : closed h -> lawful h g ->
  grow g h (fun h => cycle target h root s) = cycle target h root s.
Proof.
elim: g h => [//|c x g IH|c d i k IH] h ch /=.
- by case=> it st /IH ->; [exact: cycle_fixed | exact: closed_rcons].
- case=> it d1 st hk; rewrite -(cycle_drawn s ch it (leqnn _) d1 st) totE //.
  apply: eq_bigr => y _; have [->|nz] := eqVneq (d y) 0; first by rewrite !mul0r.
  by rewrite IH //; [exact: closed_rcons | exact: hk].
Qed.

(* adapted-growth. The cycle, continued by the target, emits the target's law: for every sequence s the
   probability that the tokens after root begin with s is the target's. *)
Theorem adapted_growth g s : lawful [::] g ->
  grow g [::] (fun h => cycle target h root s) = target root s.
Proof. by move=> lg; rewrite grow_lossless // cycle_below. Qed.
End Root.

(* ---- the same with the policy as a function of what is revealed ---- *)
Inductive decision := Halt | Fix of context & child | Draw_at of context & (V -> R) & info.
Definition policy := history -> decision.

(* at most n nodes *)
Fixpoint unfold (n : nat) (pol : policy) h : growth :=
  if n is n'.+1 then match pol h with
    | Halt => Stop
    | Fix c x => Fixed c x (unfold n' pol (rcons h (c, x)))
    | Draw_at c d i => Drawn c d i (fun y => unfold n' pol (rcons h (c, (y, i))))
  end else Stop.

(* the histories that can occur *)
Inductive reachable (pol : policy) : history -> Prop :=
| reach_nil : reachable pol [::]
| reach_fix h c x : reachable pol h -> pol h = Fix c x -> reachable pol (rcons h (c, x))
| reach_draw h c d i y : reachable pol h -> pol h = Draw_at c d i -> d y != 0 ->
    reachable pol (rcons h (c, (y, i))).

Definition lawful_policy root (pol : policy) := forall h, reachable pol h -> match pol h with
  | Halt => True
  | Fix c x => in_tree root h c /\ step_fixed c (children h c) x
  | Draw_at c d i => [/\ in_tree root h c, tot vs d = 1 & step_drawn c (children h c) d i]
  end.

(* adapted-growth, for policies. *)
Theorem adapted_growth_policy n pol root s : (forall c v, emit c [::] v = p c v) ->
  lawful_policy root pol ->
  grow (unfold n pol [::]) [::] (fun h => cycle target h root s) = target root s.
Proof.
move=> rn lp; apply: adapted_growth => //.
have : reachable pol [::] by constructor.
elim: n [::] => [//|n IH] h rh /=; move: (lp h rh); case e: (pol h) => [|c x|c d i] //.
- by case=> it st; split=> //; apply: IH; apply: reach_fix rh e.
- case=> it d1 st; split=> // y dy; apply: IH; exact: reach_draw rh e dy.
Qed.

(* ---- several cycles: decoding ---- *)
(* Each cycle grows a new tree from the context reached; n bounds the number of cycles. *)
Fixpoint decode n (g : context -> growth) c s : R :=
  if s is [::] then 1 else
  if n is n'.+1 then grow (g c) [::] (fun h => cycle (decode n' g) h c s) else 0.

Lemma grow_ext g h F F' : F =1 F' -> grow g h F = grow g h F'.
Proof.
move=> e; elim: g h => [|c x g IH|c d i k IH] h /=; [exact: e|exact: IH|].
by apply: eq_tot => // y; rewrite IH.
Qed.

Lemma cycle_ext next next' h c s :
  (forall c s', (size s' < size s)%N -> next c s' = next' c s') ->
  cycle next h c s = cycle next' h c s.
Proof.
elim: s c => [//|v s IH] c e /=; rewrite e ?ltnSn // IH // => c' s' lt.
by apply: e; exact: leqW.
Qed.

(* adapted-growth, for decoding by cycles: the first tokens have the target's law. *)
Theorem adapted_growth_decode n g c s : (forall c v, emit c [::] v = p c v) ->
  (forall c, lawful c [::] (g c)) -> (size s <= n)%N -> decode n g c s = target c s.
Proof.
move=> rn lg; elim: n c s => [|n IH] c [|v s] // le.
rewrite -[RHS](adapted_growth rn (v :: s) (lg c)).
apply: (@grow_ext (g c) [::] (fun h => cycle (decode n g) h c (v :: s))) => h.
by apply: cycle_ext => c' s' lt; apply: IH; rewrite -ltnS (leq_trans lt).
Qed.
End Growth.
