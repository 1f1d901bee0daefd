(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   Finite probability, exactly, over any real field.

   A vocabulary is a finite type V with an explicit enumeration vs: its order is the order of token ids, and
   because sums run along it every definition below also computes over the rationals (Refutations.v).
   A randomised algorithm is a program; its law is its expectation functional E. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* the list vs enumerates the vocabulary *)
Definition vocabulary (V : finType) (vs : seq V) := uniq vs /\ forall v, v \in vs.

Section Probability.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Implicit Types (p q r f g : V -> R) (u v w y : V).

Definition tot f : R := foldr (fun v s => f v + s) 0 vs.
Definition pos (x : R) : R := Num.max 0 x.
Definition nrm f : V -> R := fun v => f v / tot f.
Definition zero f u : V -> R := fun v => if v == u then 0 else f v.

Definition dist f := (forall v, 0 <= f v) /\ tot f = 1.
(* a distribution, or the zero function that nrm makes of an empty residual *)
Definition dist0 f := dist f \/ forall v, f v = 0.

(* ---- sums ---- *)
Hypothesis vsP : vocabulary vs.

Lemma totE f : tot f = \sum_v f v.
Proof.
have -> : tot f = \sum_(v <- vs) f v by rewrite unlock.
apply: perm_big; apply: uniq_perm; [by case: vsP | exact: index_enum_uniq|].
by move=> v; rewrite mem_index_enum; case: vsP => _ ->.
Qed.

Lemma eq_tot f g : f =1 g -> tot f = tot g.
Proof. by move=> e; rewrite !totE; apply: eq_bigr => v _. Qed.

Lemma nrm_ext f g : f =1 g -> nrm f =1 nrm g.
Proof. by move=> e v; rewrite /nrm (eq_tot e) e. Qed.

Lemma sum_at (h : V -> R) u : \sum_v (v == u)%:R * h v = h u.
Proof.
rewrite (bigD1 u) //= eqxx mul1r big1 ?addr0 // => v /negbTE ->.
by rewrite mul0r.
Qed.

Lemma sum_at' (h : V -> R) u : \sum_v h v * (v == u)%:R = h u.
Proof. by under eq_bigr do rewrite mulrC; rewrite sum_at. Qed.

Lemma sum_is u : \sum_v (u == v)%:R = 1 :> R.
Proof. by rewrite -[RHS](sum_at' (fun=> 1) u); apply: eq_bigr => v _; rewrite mul1r eq_sym. Qed.

(* ---- positive parts ---- *)
Lemma pos_ge0 x : 0 <= pos x. Proof. by rewrite /pos le_maxr lexx. Qed.

Lemma pos_id x : 0 <= x -> pos x = x. Proof. by move=> h; rewrite /pos (max_idPr h). Qed.

Lemma pos_0 x : x <= 0 -> pos x = 0. Proof. by move=> h; rewrite /pos (max_idPl h). Qed.

Lemma pos_sub a b : pos (a - b) - pos (b - a) = a - b.
Proof.
case: (leP a b) => h.
- by rewrite pos_0 ?subr_le0 // pos_id ?subr_ge0 // sub0r opprB.
- by rewrite pos_id ?subr_ge0 1?ltW // pos_0 ?subr_le0 1?ltW // subr0.
Qed.

Lemma min_pos a b : Num.min a b + pos (a - b) = a.
Proof.
case: (leP a b) => h.
- by rewrite pos_0 ?subr_le0 // addr0.
- by rewrite pos_id ?subr_ge0 1?ltW // addrC subrK.
Qed.

Lemma pos_mul a x : 0 <= a -> a * pos x = pos (a * x).
Proof. by move=> h; rewrite /pos maxr_pmulr // mulr0. Qed.

(* the two residual masses agree *)
Lemma sum_pos_sym p q : tot p = tot q -> \sum_v pos (p v - q v) = \sum_v pos (q v - p v).
Proof.
rewrite !totE => e; apply/eqP; rewrite -subr_eq0 -sumrB.
under eq_bigr do rewrite pos_sub.
by rewrite sumrB e subrr.
Qed.

(* ---- distributions ---- *)
Lemma dist_sum f : dist f -> \sum_v f v = 1. Proof. by case=> _; rewrite totE. Qed.

Lemma dist0_ge0 f v : dist0 f -> 0 <= f v. Proof. by case=> [[h _]|->]. Qed.

Lemma dist_le1 f v : dist f -> f v <= 1.
Proof.
move=> df; rewrite -(dist_sum df) (bigD1 v) //= ler_addl.
by apply: sumr_ge0 => w _; case: df.
Qed.

Lemma dist_one f u v : dist f -> f u = 1 -> v != u -> f v = 0.
Proof.
move=> df fu vu; have := dist_sum df.
rewrite (bigD1 u) //= fu -[RHS]addr0 => /addrI /eqP.
rewrite psumr_eq0; last by move=> w _; case: df.
by move=> /allP /(_ v (mem_index_enum v)); rewrite vu /= => /eqP.
Qed.

Lemma nrm_dist0 f : (forall v, 0 <= f v) -> dist0 (nrm f).
Proof.
move=> f0; have [z|nz] := eqVneq (tot f) 0.
  by right=> v; rewrite /nrm z invr0 mulr0.
left; split=> [v|].
- by rewrite /nrm divr_ge0 // totE sumr_ge0.
- by rewrite totE /nrm -mulr_suml -totE mulfV.
Qed.

Lemma nrm_mul f v : (forall v, 0 <= f v) -> tot f * nrm f v = f v.
Proof.
move=> f0; rewrite /nrm mulrC; have [z|nz] := eqVneq (tot f) 0; last by rewrite divfK.
rewrite z mulr0; move: z; rewrite totE => /eqP.
rewrite psumr_eq0; last by move=> w _.
by move=> /allP /(_ v (mem_index_enum v)) /= /eqP.
Qed.
End Probability.

(* ---- programs with explicit randomness, and their exact law ---- *)
Section Programs.
Variables (R : realFieldType) (V : finType) (vs : seq V) (A : Type).
Hypothesis vsP : vocabulary vs.

Inductive prog :=
| Ret of A                        (* stop with a result *)
| Coin of R & prog & prog         (* with this probability the first, else the second *)
| Draw of (V -> R) & (V -> prog). (* draw a token from this law *)

Fixpoint E (c : prog) (f : A -> R) : R := match c with
  | Ret a => f a
  | Coin x c1 c2 => x * E c1 f + (1 - x) * E c2 f
  | Draw d k => tot vs (fun v => d v * E (k v) f)
  end.

Lemma E_ext c f g : f =1 g -> E c f = E c g.
Proof.
move=> e; elim: c => [a|x c1 IH1 c2 IH2|d k IH] /=; first exact: e.
- by rewrite IH1 IH2.
- by apply: eq_tot => // v; rewrite IH.
Qed.

Lemma E_linear c (f g : A -> R) x y : E c (fun a => x * f a + y * g a) = x * E c f + y * E c g.
Proof.
elim: c => [//|z c1 IH1 c2 IH2|d k IH] /=.
- by rewrite IH1 IH2 !mulrDr !(mulrCA z) !(mulrCA (1 - z)) addrACA.
- rewrite !totE // !mulr_sumr -big_split /=; apply: eq_bigr => v _.
  by rewrite IH mulrDr !(mulrCA (d v)).
Qed.

Lemma E_sum (I : finType) c (f : I -> A -> R) : \sum_i E c (f i) = E c (fun a => \sum_i f i a).
Proof.
elim: c => [//|z c1 IH1 c2 IH2|d k IH] /=; first by rewrite -IH1 -IH2 !mulr_sumr -big_split.
rewrite totE //; under eq_bigr do rewrite totE //; rewrite exchange_big /=.
by apply: eq_bigr => v _; rewrite -IH mulr_sumr.
Qed.
End Programs.
Arguments Ret {R V A}.
