(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   The nodes of a draft tree and their priority. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Growth.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* ---- lexicographic orders ---- *)
Section Lex.
Variable T : Type.
Implicit Types (r : rel T) (a b c : T).
Definition lex r1 r2 : rel T := fun a b => r1 a b && (r1 b a ==> r2 a b).

Lemma lex_trans r1 r2 : transitive r1 -> transitive r2 -> transitive (lex r1 r2).
Proof.
move=> t1 t2 b a c /andP [ab /implyP ba] /andP [bc /implyP cb]; rewrite /lex (t1 _ _ _ ab bc) /=.
apply/implyP => ca; apply: (t2 b); [apply: ba; exact: t1 bc ca | apply: cb; exact: t1 ca ab].
Qed.

Lemma lex_total r1 r2 : total r1 -> total r2 -> total (lex r1 r2).
Proof.
move=> t1 t2 a b; rewrite /lex; have := t1 a b; have := t2 a b.
by case: (r1 a b); case: (r1 b a); case: (r2 a b); case: (r2 b a).
Qed.

Lemma lex_anti r1 r2 a b : lex r1 r2 a b -> lex r1 r2 b a -> [/\ r1 a b, r1 b a, r2 a b & r2 b a].
Proof. by move=> /andP [ab /implyP h] /andP [ba /implyP k]; split; [| |exact: h|exact: k]. Qed.
End Lex.

Fixpoint lexle (s t : seq nat) : bool := match s, t with
  | [::], _ => true
  | _ :: _, [::] => false
  | a :: s', b :: t' => (a < b)%N || (a == b) && lexle s' t'
  end.

Lemma lexle_total : total lexle.
Proof.
elim=> [|a s IH] [|b t] //=; case: ltngtP => //= _; exact: IH.
Qed.

Lemma lexle_trans : transitive lexle.
Proof.
move=> t; elim: t => [|b t IH] [|a s] [|c u] //=.
move=> /orP [ab|/andP [/eqP -> st]] /orP [bc|/andP [/eqP <- tu]].
- by rewrite (ltn_trans ab bc).
- by rewrite ab.
- by rewrite bc.
- by rewrite eqxx (IH s u) ?orbT.
Qed.

Lemma lexle_anti s t : lexle s t -> lexle t s -> s = t.
Proof.
elim: s t => [|a s IH] [|b t] //=; case: ltngtP => //= -> h h'; congr (_ :: _); exact: IH.
Qed.

Lemma lexle_rcons s i j : lexle (rcons s i) (rcons s j) = (i <= j)%N.
Proof. by elim: s => [|a s IH] /=; [rewrite andbT orbC -leq_eqVlt | rewrite ltnn eqxx]. Qed.

Section Node.
Variables (R : realFieldType) (V : finType).


(* A node: its context (tokens from the start of the text, itself included), its position (slot numbers from the
   root), its path score. *)
Definition node := (seq V * seq nat * R)%type.
Definition toks (n : node) := n.1.1.
Definition posn (n : node) := n.1.2.
Definition score (n : node) := n.2.
Definition depth (n : node) := size (posn n).
Implicit Types (n x P : node) (t L U : seq node).

(* Priority: path score descending, then depth, then left to right; positions, never tokens. *)
Definition prio : rel node :=
  lex (fun a b => score b <= score a) (lex (fun a b => depth a <= depth b)%N (fun a b => lexle (posn a) (posn b))).

Lemma prio_trans : transitive prio.
Proof.
apply: lex_trans; first by move=> a b c /= h h'; exact: le_trans h' h.
apply: lex_trans; first by move=> a b c; exact: leq_trans.
by move=> a b c; exact: lexle_trans.
Qed.

Lemma prio_total : total prio.
Proof.
apply: lex_total; first by move=> a b; exact: le_total.
apply: lex_total; first by move=> a b; exact: leq_total.
by move=> a b; exact: lexle_total.
Qed.

Lemma prio_refl : reflexive prio. Proof. by move=> a; case/orP: (prio_total a a). Qed.

Lemma prio_anti a b : prio a b -> prio b a -> posn a = posn b.
Proof.
by move=> h h'; case: (lex_anti h h') => _ _ k k'; case: (lex_anti k k') => _ _; exact: lexle_anti.
Qed.

Lemma prio_ext a a' b b' : posn a = posn a' -> score a = score a' -> posn b = posn b' -> score b = score b' ->
  prio a b = prio a' b'.
Proof. by rewrite /prio /lex /depth => -> -> -> ->. Qed.
End Node.
Arguments toks {R V}.
Arguments posn {R V}.
Arguments score {R V}.
Arguments depth {R V}.
Arguments prio {R V}.
Arguments prio_trans {R V}.
Arguments prio_total {R V}.
Arguments prio_refl {R V}.
