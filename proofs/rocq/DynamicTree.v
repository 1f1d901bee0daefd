(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   The beam-limited dynamic tree. Eager: expand the W best nodes of each depth, down to depth D, drawing at every
   expansion, then keep the B nodes of highest priority. Lazy: best first, drawing a sampled token only when its
   slot is reached. Both are stated for any pools; pool_ok says what the theorems ask of them. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Growth Priority Reads.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section DynamicTree.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Implicit Types (c : context V) (y v : V).
Implicit Types (n x P : node R V) (t L U : seq (node R V)).
Local Notation node := (node R V).
Local Notation reads := (reads R V).

(* ---- pools ---- *)
(* pool c y: token and score factor of each slot at context c when the sampled token is y; smp c: the number of the
   sampled slot (beyond the pool if there is none). *)
Variables (v0 : V) (pool : context V -> V -> seq (V * R)) (smp width : context V -> nat).
Variable q : context V -> V -> R.  (* law of the sampled token *)
Variables (W D : nat) (root : context V).

Definition slot_of c y i : V * R := nth (v0, 0) (pool c y) i.

(* What the theorems ask of the pools. *)
Record pool_ok := PoolOk {
  pool_size : forall c y, size (pool c y) = width c;
  (* before the sampled slot nothing depends on the sampled token, *)
  pool_lead : forall c y y' i, (i < smp c)%N -> slot_of c y i = slot_of c y' i;
  (* the sampled slot holds it, *)
  pool_smp : forall c y, (smp c < width c)%N -> (slot_of c y (smp c)).1 = y;
  (* its factor does not depend on it, *)
  pool_proxy : forall c y y', (slot_of c y (smp c)).2 = (slot_of c y' (smp c)).2;
  (* and is at least every fill's, whatever it is: sampled-outranks-fill; *)
  pool_outranks : forall c y i, (smp c < i < width c)%N -> (slot_of c y i).2 <= (slot_of c y (smp c)).2;
  (* factors lie between 0 and 1: scores-never-increase; *)
  pool_factor : forall c y i, (i < width c)%N -> 0 <= (slot_of c y i).2 <= 1;
  (* siblings carry distinct tokens; *)
  pool_uniq : forall c y, q c y != 0 -> uniq [seq x.1 | x <- pool c y];
  pool_dist : forall c, dist vs (q c)
}.

Definition rootn : node := (root, [::], 1).
Definition kid P y i : node :=
  (rcons (toks P) (slot_of (toks P) y i).1, rcons (posn P) i, score P * (slot_of (toks P) y i).2).
Definition kids P y : seq node := mkseq (kid P y) (width (toks P)).
Definition parent n : context V := take (size (toks n)).-1 (toks n).
Definition token n : V := last v0 (toks n).
Definition slotn n : nat := last 0%N (posn n).
Definition in_sampled_slot n := slotn n == smp (parent n).

(* ---- eager ---- *)
Definition expand L := take W (sort prio L).

Fixpoint expandR (Ps acc : seq node) (k : seq node -> reads) : reads :=
  if Ps is P :: Ps' then
    if (smp (toks P) < width (toks P))%N
    then Read (toks P) (fun y => expandR Ps' (acc ++ kids P y) k)
    else expandR Ps' (acc ++ kids P v0) k
  else k acc.

(* d more depths; L: the last one; U: all nodes so far; B: the budget *)
Fixpoint buildR d L U (B : nat) : reads :=
  if d is d'.+1 then expandR (expand L) [::] (fun L' => buildR d' L' (U ++ L') B)
  else Done (take B (sort prio U)).

Definition eagerR B := buildR D [:: rootn] [::] B.

(* ---- lazy ---- *)
(* t: the nodes popped so far, oldest first. The token of the sampled child of P, if popped. *)
Definition sibling t P : option V :=
  if [seq n <- t | posn n == rcons (posn P) (smp (toks P))] is n :: _ then Some (token n) else None.

(* the children of P that are in the heap or were: fills only after the sampled one was popped *)
Definition avail t P : seq node :=
  if sibling t P is Some y then kids P y else mkseq (kid P v0) (minn (smp (toks P)).+1 (width (toks P))).

(* a popped node is expanded while at most W nodes were popped at its depth, itself included *)
Definition expanded t P : bool :=
  (depth P < D)%N && (P \in take W [seq x <- rootn :: t | depth x == depth P]).

Definition heap t : seq node :=
  [seq n <- flatten [seq avail t P | P <- rootn :: t & expanded t P] | posn n \notin map posn t].

Definition pick t : option node := ohead (sort prio (heap t)).

Definition settok n y : node := (rcons (parent n) y, posn n, score n).

Fixpoint lazyR (k : nat) t : reads :=
  if k is k'.+1 then
    if pick t is Some x then
      if in_sampled_slot x then Read (parent x) (fun y => lazyR k' (rcons t (settok x y)))
      else lazyR k' (rcons t x)
    else Done t
  else Done t.

(* ---- the children of a node ---- *)
Hypothesis ok : pool_ok.

Lemma parent_kid P y i : parent (kid P y i) = toks P.
Proof. by rewrite /parent /toks /= size_rcons /= -cats1 take_size_cat. Qed.

Lemma slotn_kid P y i : slotn (kid P y i) = i. Proof. by rewrite /slotn last_rcons. Qed.

Lemma token_kid P y i : token (kid P y i) = (slot_of (toks P) y i).1.
Proof. by rewrite /token last_rcons. Qed.

Lemma depth_kid P y i : depth (kid P y i) = (depth P).+1. Proof. by rewrite /depth size_rcons. Qed.

Lemma in_sampled_kid P y i : in_sampled_slot (kid P y i) = (i == smp (toks P)).
Proof. by rewrite /in_sampled_slot slotn_kid parent_kid. Qed.

Lemma kidsP P y n : reflect (exists2 i, (i < width (toks P))%N & n = kid P y i) (n \in kids P y).
Proof.
apply: (iffP mapP) => [[i]|[i]]; last by move=> h ->; exists i; rewrite ?mem_iota.
by rewrite mem_iota /= add0n => h ->; exists i.
Qed.

Lemma kids_uniq P y : uniq (map posn (kids P y)).
Proof. by rewrite -map_comp map_inj_uniq ?iota_uniq // => i j /= /rcons_inj []. Qed.

Lemma kid_lead P y y' i : (i < smp (toks P))%N -> kid P y i = kid P y' i.
Proof. by move=> h; rewrite /kid (pool_lead ok y y' h). Qed.

Lemma kid_score P y y' i : (i <= smp (toks P))%N -> score (kid P y i) = score (kid P y' i).
Proof.
rewrite leq_eqVlt => /orP [/eqP ->|h]; last by rewrite (kid_lead y y' h).
by rewrite /score /= (pool_proxy ok _ y y').
Qed.

Lemma kid_score_ge0 P y i : (i < width (toks P))%N -> 0 <= score P -> 0 <= score (kid P y i).
Proof. by move=> h h0; rewrite mulr_ge0 //; case/andP: (pool_factor ok y h). Qed.

(* scores-never-increase (paper Lemma 2): a child's path score is at most its parent's, so the parent has priority. *)
Lemma kid_score_le P y i : (i < width (toks P))%N -> 0 <= score P -> score (kid P y i) <= score P.
Proof.
move=> h h0; rewrite -[X in _ <= X]mulr1 ler_wpmul2l //.
by case/andP: (pool_factor ok y h).
Qed.

Lemma prio_parent P y i : (i < width (toks P))%N -> 0 <= score P -> prio P (kid P y i).
Proof.
move=> h h0; rewrite /prio /lex kid_score_le //= depth_kid leqnSn ltnn /=.
by rewrite implybT.
Qed.

Lemma prio_sampled P y i : (smp (toks P) < i < width (toks P))%N -> 0 <= score P ->
  prio (kid P y (smp (toks P))) (kid P y i).
Proof.
move=> h h0; rewrite /prio /lex /= ler_wpmul2l ?(pool_outranks ok) //= !depth_kid leqnn /= lexle_rcons.
by rewrite (ltnW (proj1 (andP h))) implybT.
Qed.

End DynamicTree.
