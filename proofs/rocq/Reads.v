(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   Programs that draw sampled tokens at contexts. Drawing when a context is read is drawing everything beforehand
   (deferred decisions), so two programs with the same runs have the same law. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Growth Priority.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Reads.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Variable q : context V -> V -> R.  (* law of the sampled token *)
Implicit Types (c : context V) (y v : V).
Local Notation node := (node R V).

(* A program ends with a list of nodes, or reads the sampled token at a context and goes on. *)
Inductive reads := Done of seq node | Read of context V & (V -> reads).

(* ---- laws of such programs ---- *)
Fixpoint Er (r : reads) (F : seq node -> R) : R := match r with
  | Done t => F t
  | Read c k => tot vs (fun y => q c y * Er (k y) F)
  end.

(* One assignment of sampled tokens to all contexts gives one run. *)
Fixpoint run (Y : context V -> V) (r : reads) : seq node := match r with
  | Done t => t
  | Read c k => run Y (k (Y c))
  end.

(* no context is read twice, and all that are read are shorter than N *)
Fixpoint once (N : nat) (used : seq (context V)) (r : reads) : Prop := match r with
  | Done _ => True
  | Read c k => [/\ c \notin used, (size c < N)%N & forall y, q c y != 0 -> once N (c :: used) (k y)]
  end.

Definition upd (Y : context V -> V) c y : context V -> V := fun c' => if c' == c then y else Y c'.

(* independent draws at each context of a list *)
Fixpoint Eall (cs : seq (context V)) Y (f : (context V -> V) -> R) : R :=
  if cs is c :: cs' then tot vs (fun y => q c y * Eall cs' (upd Y c y) f) else f Y.

Hypothesis qd : forall c, dist vs (q c).

Definition ext (f : (context V -> V) -> R) := forall Y Y', Y =1 Y' -> f Y = f Y'.

Lemma run_ext r Y Y' : Y =1 Y' -> run Y r = run Y' r.
Proof. by move=> e; elim: r => [//|c k IH] /=; rewrite e IH. Qed.

Lemma Eall_base cs Y Y' f : ext f -> Y =1 Y' -> Eall cs Y f = Eall cs Y' f.
Proof.
move=> ef; elim: cs Y Y' => [|c cs IH] Y Y' e /=; first exact: ef.
by apply: eq_tot => // y; rewrite (IH _ (upd Y' c y)) // => c'; rewrite /upd e.
Qed.

Lemma Eall_const cs Y a : Eall cs Y (fun _ => a) = a.
Proof.
elim: cs Y => [//|c cs IH] Y /=; rewrite totE //; under eq_bigr do rewrite IH.
by rewrite -mulr_suml (dist_sum vsP (qd c)) mul1r.
Qed.

Lemma Eall_eq cs Y f g : uniq cs ->
  (forall Y', (forall c, c \notin cs -> Y' c = Y c) -> (forall c, c \in cs -> q c (Y' c) != 0) -> f Y' = g Y') ->
  Eall cs Y f = Eall cs Y g.
Proof.
elim: cs Y => [|c cs IH] Y /= => [_|/andP [nc uc]] h; first exact: h.
apply: eq_tot => // y; have [->|qy] := eqVneq (q c y) 0; first by rewrite !mul0r.
congr (_ * _); apply: IH => // Y' out inn; apply: h => c'.
  by rewrite in_cons negb_or => /andP [cc cin]; rewrite out // /upd (negbTE cc).
by rewrite in_cons => /orP [/eqP ->|]; [rewrite out // /upd eqxx | exact: inn].
Qed.

Lemma Eall_pull cs Y f c : ext f -> uniq cs -> c \in cs ->
  Eall cs Y f = tot vs (fun y => q c y * Eall [seq c' <- cs | c' != c] (upd Y c y) f).
Proof.
move=> ef; elim: cs Y => [//|a cs IH] Y /= /andP [na uc]; rewrite in_cons.
have [-> _|ca /= cin] := eqVneq c a.
  apply: eq_tot => // y; congr (_ * Eall _ _ _); apply/esym/all_filterP/allP => b bin /=.
  by apply: contraNneq na => <-.
rewrite /= !totE //; under eq_bigr do rewrite IH // totE // mulr_sumr.
rewrite exchange_big /=; apply: eq_bigr => y _; rewrite totE // mulr_sumr.
apply: eq_bigr => w _; rewrite mulrCA; congr (_ * (_ * _)); apply: Eall_base => // b.
by rewrite /upd; case: (eqVneq b c) => [->|//]; rewrite (negbTE ca).
Qed.

(* Deferred decisions: drawing when a context is read is drawing everything beforehand. *)
Lemma deferred N (cs used : seq (context V)) r F Y : uniq cs -> (forall c, (size c < N)%N -> c \in cs) ->
  once N used r -> Er r F = Eall [seq c <- cs | c \notin used] Y (fun Y => F (run Y r)).
Proof.
move=> uc inN; elim: r used Y => [t|c k IH] used Y /=; first by rewrite Eall_const.
case=> cu cN hk; have ec : ext (fun Y => F (run Y (k (Y c)))) by move=> Y1 Y2 e; rewrite e (run_ext _ e).
rewrite (@Eall_pull _ _ _ c) ?filter_uniq ?mem_filter ?cu ?inN //.
apply: eq_tot => // y; have [->|qy] := eqVneq (q c y) 0; first by rewrite !mul0r.
congr (_ * _); rewrite (IH y (c :: used) (upd Y c y) (hk y qy)).
have -> : [seq c' <- [seq c <- cs | c \notin used] | c' != c] = [seq c' <- cs | c' \notin c :: used].
  by rewrite -filter_predI; apply: eq_filter => c' /=; rewrite in_cons negb_or.
apply: Eall_eq; first exact: filter_uniq.
move=> Y' out _; rewrite out; last by rewrite mem_filter in_cons eqxx.
by rewrite /upd eqxx.
Qed.

(* all contexts shorter than N *)
Fixpoint contexts N : seq (context V) :=
  if N is N'.+1 then [::] :: [seq v :: c | v <- vs, c <- contexts N'] else [::].

Lemma mem_contexts N c : (size c < N)%N -> c \in contexts N.
Proof.
elim: N c => [//|N IH] [|v c] //= h; rewrite in_cons; apply/orP; right.
by apply/allpairsP; exists (v, c); split=> //=; [case: vsP => _ -> | exact: IH].
Qed.

(* Two programs with the same runs have the same law. *)
Lemma same_runs N r1 r2 F1 F2 : once N [::] r1 -> once N [::] r2 ->
  (forall Y, (forall c, q c (Y c) != 0) -> F1 (run Y r1) = F2 (run Y r2)) -> Er r1 F1 = Er r2 F2.
Proof.
move=> o1 o2 h; pose cs := undup (contexts N).
have uc : uniq cs by exact: undup_uniq.
have inN c : (size c < N)%N -> c \in cs by move=> lt; rewrite mem_undup mem_contexts.
have [Y Yq] : exists Y : context V -> V, forall c, q c (Y c) != 0.
  have ex c : exists v, q c v != 0.
    apply/existsP; apply: contraT; rewrite negb_exists => /forallP z.
    have := dist_sum vsP (qd c); rewrite big1; last by move=> v _; apply/eqP; have := z v; rewrite negbK.
    by move=> /eqP; rewrite eq_sym oner_eq0.
  by exists (fun c => xchoose (ex c)) => c; exact: (xchooseP (ex c)).
rewrite !(@deferred N cs [::] _ _ Y) //; apply: Eall_eq; first exact: filter_uniq.
move=> Y' out inn; apply: h => c; have [cin|cout] := boolP (c \in [seq c <- cs | c \notin [::]]).
  exact: inn.
by rewrite out.
Qed.

Lemma Er_ext r F G : F =1 G -> Er r F = Er r G.
Proof. by move=> e; elim: r => [t|c k IH] /=; [exact: e | apply: eq_tot => // y; rewrite IH]. Qed.

Lemma Er_scale r F a : Er r (fun t => F t * a) = Er r F * a.
Proof.
elim: r => [//|c k IH] /=; rewrite !totE // mulr_suml; apply: eq_bigr => y _.
by rewrite IH mulrA.
Qed.
End Reads.
