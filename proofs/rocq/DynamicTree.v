(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   The beam-limited dynamic tree. Eager: expand the W best nodes of each depth, down to depth D, drawing at every
   expansion, then keep the B nodes of highest priority. Lazy: best first, drawing a sampled token only when its
   slot is reached. slot-determinism, eager-equals-lazy and lossless (Theorem 1) for any pools whose scores meet
   the stated conditions; Rheo.v shows that RheoSampling's pools meet them. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Growth StepCondition.
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

Section DynamicTree.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Implicit Types (c : context V) (y v : V).

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

(* programs that draw sampled tokens *)
Inductive reads := Done of seq node | Read of context V & (V -> reads).

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

Section Reads.
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
End Reads.
End DynamicTree.
