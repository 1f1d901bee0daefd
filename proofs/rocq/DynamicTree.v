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

(* ---- eager and lazy make the same tree from the same assignment ---- *)
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

Lemma uniq_inj (T1 T2 : eqType) (f : T1 -> T2) (l : seq T1) : uniq (map f l) -> {in l &, injective f}.
Proof.
elim: l => [//|a l IH] /= /andP [na ul] x y; rewrite !in_cons => /orP [/eqP ->|xl] /orP [/eqP ->|yl] // e.
- by rewrite e map_f in na.
- by rewrite -e map_f in na.
- exact: IH.
Qed.

Section Oracle.
Variable Y : context V -> V.
Definition kidY P i := kid P (Y (toks P)) i.
Definition kidsY P := kids P (Y (toks P)).

(* The unpruned tree of this assignment, and its B nodes of highest priority. *)
Fixpoint layer d : seq node := if d is d'.+1 then flatten [seq kidsY P | P <- expand (layer d')] else [:: rootn].
Definition tree : seq node := flatten [seq layer d | d <- iota 1 D].
Definition eagerT B := take B (sort prio tree).

Lemma mem_expand L n : n \in expand L -> n \in L.
Proof. by move=> /mem_take; rewrite mem_sort. Qed.

Lemma mem_layer d n : n \in layer d.+1 ->
  exists P i, [/\ P \in expand (layer d), (i < width (toks P))%N & n = kidY P i].
Proof. by move=> /flatten_mapP [P Pin /kidsP [i h ->]]; exists P, i. Qed.

Lemma layer_kid d P i : P \in expand (layer d) -> (i < width (toks P))%N -> kidY P i \in layer d.+1.
Proof. by move=> Pin h; apply/flatten_mapP; exists P => //; apply/kidsP; exists i. Qed.

Lemma layer_depth d n : n \in layer d -> depth n = d.
Proof.
elim: d n => [|d IH] n; first by rewrite inE => /eqP ->.
by move=> /mem_layer [P [i [/mem_expand /IH <- _ ->]]]; exact: depth_kid.
Qed.

Lemma layer_size d n : n \in layer d -> size (toks n) = (size root + d)%N.
Proof.
elim: d n => [|d IH] n; first by rewrite inE addn0 => /eqP ->.
by move=> /mem_layer [P [i [/mem_expand /IH e _ ->]]]; rewrite size_rcons e addnS.
Qed.

Lemma layer_score d n : n \in layer d -> 0 <= score n <= 1.
Proof.
elim: d n => [|d IH] n; first by rewrite inE => /eqP ->; rewrite /= ler01 lexx.
move=> /mem_layer [P [i [/mem_expand /IH /andP [h0 h1] h ->]]].
by rewrite kid_score_ge0 //= (le_trans (kid_score_le _ h h0)).
Qed.

Lemma flat_uniq Ps : uniq (map posn Ps) -> uniq (map posn (flatten [seq kidsY P | P <- Ps])).
Proof.
elim: Ps => [//|P Ps IH] /= /andP [nP uPs]; rewrite map_cat cat_uniq kids_uniq IH // andbT /=.
apply/hasPn => _ /mapP [n /flatten_mapP [P' P'in /kidsP [i _ ->]] ->].
apply/mapP => -[n' /kidsP [i' _ ->] /= /rcons_inj [e _]].
by move: nP; rewrite -e map_f.
Qed.

Lemma layer_uniq d : uniq (map posn (layer d)).
Proof.
elim: d => [//|d IH]; apply: flat_uniq; rewrite /expand map_take take_uniq //.
by rewrite (perm_uniq (s2 := map posn (layer d))) // perm_map // perm_sort.
Qed.

Lemma treeP n : reflect (exists2 d, (d < D)%N & n \in layer d.+1) (n \in tree).
Proof.
apply: (iffP flatten_mapP) => [[[|d]]|[d dD h]]; rewrite ?mem_iota //; last by exists d.+1; rewrite ?mem_iota.
by rewrite add1n ltnS /= => h nin; exists d.
Qed.

Lemma tree_uniq : uniq (map posn (rootn :: tree)).
Proof.
have h m k : uniq (map posn (flatten [seq layer d | d <- iota m k])).
  elim: k m => [//|k IH] m /=; rewrite map_cat cat_uniq layer_uniq IH andbT /=.
  apply/hasPn => s /mapP [n /flatten_mapP [d]]; rewrite mem_iota => /andP [lt _] nin ->.
  apply/mapP => -[n' n'in e]; have := layer_depth nin; rewrite /depth e -/(depth n') (layer_depth n'in) => md.
  by rewrite md ltnn in lt.
rewrite /= h andbT; apply/mapP => -[n /treeP [d _ /layer_depth nd] e].
by move: nd; rewrite /depth -e.
Qed.

Lemma posn_inj : {in rootn :: tree &, injective posn}.
Proof. exact: uniq_inj tree_uniq. Qed.

Lemma layerP n : n \in rootn :: tree -> n \in layer (depth n).
Proof.
rewrite in_cons => /orP [/eqP ->|/treeP [d _ nin]]; first by rewrite inE.
by rewrite (layer_depth nin).
Qed.

Lemma layer_tree d n : (d <= D)%N -> n \in layer d -> n \in rootn :: tree.
Proof.
case: d => [|d] dD nin; rewrite in_cons; first by move: nin; rewrite inE => ->.
by apply/orP; right; apply/treeP; exists d.
Qed.

Lemma tree_parent n : n \in tree -> exists P i,
  [/\ P \in rootn :: tree, (depth P < D)%N, P \in expand (layer (depth P)), (i < width (toks P))%N & n = kidY P i].
Proof.
case/treeP => d dD /mem_layer [P [i [Pin h ->]]]; exists P, i.
have pd := layer_depth (mem_expand Pin); split=> //; rewrite ?pd //.
exact: layer_tree (ltnW dD) (mem_expand Pin).
Qed.

Lemma tree_kid P i : (depth P < D)%N -> P \in expand (layer (depth P)) -> (i < width (toks P))%N ->
  kidY P i \in tree.
Proof. by move=> dD Pin h; apply/treeP; exists (depth P) => //; exact: layer_kid. Qed.

Definition ranked := sort prio tree.

Lemma mem_ranked n : (n \in ranked) = (n \in tree). Proof. by rewrite mem_sort. Qed.

Lemma ranked_sorted : sorted prio ranked. Proof. by apply: sort_sorted; exact: prio_total. Qed.

Lemma ranked_uniq : uniq (map posn ranked).
Proof.
case/andP: tree_uniq => _ u.
by rewrite (perm_uniq (s2 := map posn tree)) // perm_map // perm_sort.
Qed.

Lemma ranked_filter d : (d <= D)%N -> [seq x <- rootn :: ranked | depth x == d] = sort prio (layer d).
Proof.
have none m k : (d < m)%N || (m + k <= d)%N ->
    flatten [seq [seq x <- layer d' | depth x == d] | d' <- iota m k] = [::].
  move=> h; have : forall d', d' \in iota m k -> [seq x <- layer d' | depth x == d] = [::].
    move=> d'; rewrite mem_iota => /andP [md dk]; apply/eqP; rewrite -size_eq0 size_filter -leqn0 leqNgt -has_count.
    apply/hasPn => x /layer_depth ->; case/orP: h => h.
      by rewrite gtn_eqF // (leq_trans h).
    by rewrite ltn_eqF // (leq_trans dk).
  by elim: (iota m k) => [//|d' l IH] /= e; rewrite e ?in_cons ?eqxx // IH // => z zl; rewrite e // in_cons zl orbT.
have some m k : (m <= d < m + k)%N ->
    flatten [seq [seq x <- layer d' | depth x == d] | d' <- iota m k] = layer d.
  elim: k m => [|k IH] m; first by rewrite addn0 ltnNge => /andP [->].
  move=> /andP []; rewrite leq_eqVlt => /orP [/eqP -> _|md dk] /=.
    rewrite none ?ltnSn // cats0; apply/all_filterP/allP => x /layer_depth ->; exact: eqxx.
  rewrite IH ?md ?addSnnS //; have -> // : [seq x <- layer m | depth x == d] = [::].
  apply/eqP; rewrite -size_eq0 size_filter -leqn0 leqNgt -has_count.
  by apply/hasPn => x /layer_depth ->; rewrite ltn_eqF.
have fE : [seq x <- ranked | depth x == d] =
    sort prio (flatten [seq [seq x <- layer d' | depth x == d] | d' <- iota 1 D]).
  rewrite /ranked filter_sort; [|exact: prio_total|exact: prio_trans].
  by rewrite /tree filter_flatten -map_comp.
case: d none some fE => [|d] none some fE dD /=; rewrite fE; first by rewrite none.
by rewrite some.
Qed.

Lemma filter_take (T : Type) (a : pred T) k (l : seq T) :
  [seq x <- take k l | a x] = take (count a (take k l)) [seq x <- l | a x].
Proof. by rewrite -{3}(cat_take_drop k l) filter_cat -size_filter take_size_cat. Qed.

Lemma mem_take_ranked k n : n \in take k ranked -> n \in tree.
Proof. by move=> /mem_take; rewrite mem_ranked. Qed.

Lemma mem_top k n : n \in rootn :: take k ranked -> n \in rootn :: tree.
Proof. by rewrite !in_cons => /orP [->//|/mem_take_ranked ->]; rewrite orbT. Qed.

Lemma expandedE k P : P \in rootn :: take k ranked ->
  expanded (take k ranked) P = (depth P < D)%N && (P \in expand (layer (depth P))).
Proof.
move=> Pin; rewrite /expanded; case dD: (depth P < D)%N => //=.
rewrite -[if _ then _ else _]/([seq x <- take k.+1 (rootn :: ranked) | depth x == depth P]).
have : P \in [seq x <- take k.+1 (rootn :: ranked) | depth x == depth P] by rewrite mem_filter eqxx.
rewrite filter_take ranked_filter 1?ltnW //; set X := sort prio _; set j := count _ _ => Pj.
have PX : P \in X by exact: mem_take Pj.
rewrite /expand -/X; have [Wj|jW] := leqP W j; first by rewrite take_take.
rewrite take_oversize; last by rewrite size_take_min (leq_trans (geq_minl _ _)) // ltnW.
by rewrite Pj in_take //; apply/esym; move: Pj; rewrite in_take // => h; exact: ltn_trans h jW.
Qed.

Lemma index_lt (x y : node) : x \in ranked -> y \in ranked -> prio x y -> posn x != posn y ->
  (index x ranked < index y ranked)%N.
Proof.
move=> xin yin xy ne; rewrite ltnNge; apply: contra ne => le.
have yx := sorted_leq_index prio_trans prio_refl ranked_sorted _ _ yin xin le.
by apply/eqP; exact: prio_anti.
Qed.

Lemma mem_take_before k (x y : node) : x \in ranked -> prio x y -> posn x != posn y ->
  y \in take k ranked -> x \in take k ranked.
Proof.
move=> xin xy ne yt; have yin := mem_take yt; move: yt; rewrite !in_take //.
by apply: ltn_trans; exact: index_lt.
Qed.

Lemma siblingE k P y : P \in rootn :: tree -> sibling (take k ranked) P = Some y -> y = Y (toks P).
Proof.
rewrite /sibling => Pin; case e: [seq _ <- _ | _] => [//|n l] [<-].
have : n \in [seq n <- take k ranked | posn n == rcons (posn P) (smp (toks P))] by rewrite e in_cons eqxx.
rewrite mem_filter => /andP [/eqP pn /mem_take_ranked /tree_parent [P' [i [P'in _ _ h nE]]]].
move: pn; rewrite nE /= => /rcons_inj [pp ii].
have PP : P' = P by exact: posn_inj.
by rewrite /kidY PP token_kid ii (pool_smp ok) // -ii -PP.
Qed.

Lemma sibling_some k P : kidY P (smp (toks P)) \in take k ranked -> exists y, sibling (take k ranked) P = Some y.
Proof.
move=> h; have : kidY P (smp (toks P)) \in
    [seq n <- take k ranked | posn n == rcons (posn P) (smp (toks P))] by rewrite mem_filter h /= eqxx.
by rewrite /sibling; case: [seq _ <- _ | _] => [//|n l] _; eexists.
Qed.

(* what popping adds under this assignment *)
Definition fill n : node := if in_sampled_slot n then settok n (Y (parent n)) else n.

Lemma fill_kid P y i : (i < width (toks P))%N -> y = Y (toks P) \/ (i <= smp (toks P))%N ->
  fill (kid P y i) = kidY P i.
Proof.
move=> h hy; rewrite /fill in_sampled_kid parent_kid; case: eqP => [e|ne].
  have sc : score (kid P y i) = score (kid P (Y (toks P)) i) by apply: kid_score; rewrite e leqnn.
  have tk : (slot_of (toks P) (Y (toks P)) i).1 = Y (toks P) by rewrite e (pool_smp ok) // -e.
  by rewrite /settok parent_kid sc /kidY [RHS]/kid tk.
case: hy => [->//|]; rewrite leq_eqVlt => /orP [/eqP //|lt]; exact: kid_lead.
Qed.

Lemma fill_posn n : posn (fill n) = posn n. Proof. by rewrite /fill; case: ifP. Qed.
Lemma fill_score n : score (fill n) = score n. Proof. by rewrite /fill; case: ifP. Qed.

Lemma availP k P n : P \in rootn :: tree -> n \in avail (take k ranked) P ->
  exists y i, [/\ (i < width (toks P))%N, n = kid P y i & y = Y (toks P) \/ (i <= smp (toks P))%N].
Proof.
move=> Pin; rewrite /avail; case e: (sibling _ _) => [y|].
  by move=> /kidsP [i h ->]; exists y, i; split=> //; left; exact: siblingE e.
move=> /mapP [i]; rewrite mem_iota /= add0n leq_min ltnS => /andP [le lt] ->.
by exists v0, i; split=> //; right.
Qed.

(* what is in the heap comes later in the ranking *)
Lemma heapP k n : n \in heap (take k ranked) ->
  exists P y i, [/\ n = kid P y i, P \in rootn :: take k ranked, fill n = kidY P i, (i < width (toks P))%N &
    [/\ fill n \in ranked, fill n \notin take k ranked & posn n \notin map posn (take k ranked)]].
Proof.
rewrite mem_filter => /andP [npos /flatten_mapP [P]]; rewrite mem_filter => /andP [ex Pin].
move: ex; rewrite expandedE // => /andP [dD Pex] /(availP (mem_top Pin)) [y [i [h nE hy]]].
have fE : fill n = kidY P i by rewrite nE fill_kid.
exists P, y, i; split=> //; split=> //; first by rewrite fE mem_ranked tree_kid.
by apply: contra npos => fin; rewrite -fill_posn map_f.
Qed.

(* the next in the ranking is in the heap *)
Lemma heap_next k : (k < size ranked)%N ->
  exists2 n, n \in heap (take k ranked) & fill n = nth rootn ranked k.
Proof.
move=> lt; set z := nth rootn ranked k.
have zin : z \in ranked by exact: mem_nth.
have zk : index z ranked = k by rewrite index_uniq // (map_uniq ranked_uniq).
have [P [i [Pin dD Pex h zE]]] := tree_parent (etrans (esym (mem_ranked z)) zin).
have sP : 0 <= score P by case/andP: (layer_score (layerP Pin)).
have before x : x \in ranked -> prio x z -> posn x != posn z -> x \in take k ranked.
  by move=> xin xz ne; rewrite in_take // -[X in (_ < X)%N]zk; exact: index_lt.
have Pt : P \in rootn :: take k ranked.
  move: Pin; rewrite !in_cons => /orP [->//|Pin]; apply/orP; right; apply: before.
  - by rewrite mem_ranked.
  - by rewrite zE; exact: prio_parent.
  - by rewrite zE; apply/eqP => /(congr1 size); rewrite size_rcons => /eqP; rewrite ltn_eqF.
have znot : posn z \notin map posn (take k ranked).
  apply/mapP => -[x xt e]; have xz : x = z.
    apply: posn_inj; rewrite ?in_cons -?mem_ranked ?zin ?(mem_take xt) ?orbT //.
  by move: xt; rewrite xz in_take // zk ltnn.
have exP : expanded (take k ranked) P by rewrite expandedE // dD.
have heap_in n : n \in avail (take k ranked) P -> posn n = posn z -> n \in heap (take k ranked).
  move=> nin e; rewrite mem_filter e znot andTb; apply/flatten_mapP; exists P => //.
  by rewrite mem_filter exP.
case e: (sibling (take k ranked) P) => [y|].
  exists z; last by rewrite zE fill_kid //; left.
  apply: heap_in => //; rewrite /avail e (siblingE Pin e) zE; apply/kidsP; by exists i.
have le : (i <= smp (toks P))%N.
  rewrite leqNgt; apply/negP => si; have [|y] := @sibling_some k P; last by rewrite e.
  apply: before.
  - by rewrite mem_ranked tree_kid // (ltn_trans si).
  - by rewrite zE; apply: prio_sampled; rewrite ?si.
  - by rewrite zE; apply/eqP => /rcons_inj [ii]; rewrite ii ltnn in si.
exists (kid P v0 i); last by rewrite zE fill_kid //; right.
apply: heap_in; last by rewrite zE.
rewrite /avail e; apply/mapP; exists i => //; by rewrite mem_iota /= add0n leq_min ltnS le.
Qed.

Definition stepT t := if pick t is Some x then rcons t (fill x) else t.

Lemma pickP t x : pick t = Some x -> x \in heap t /\ forall n, n \in heap t -> prio x n.
Proof.
rewrite /pick; case e: (sort prio (heap t)) => [//|a l] [<-].
have mem n : (n \in heap t) = (n \in a :: l) by rewrite -e mem_sort.
split=> [|n]; rewrite mem ?in_cons ?eqxx // => /orP [/eqP ->|nl]; first exact: prio_refl.
have := sort_sorted prio_total (heap t); rewrite e /= => so.
exact: (allP (order_path_min prio_trans so)).
Qed.

Lemma pick_none t : pick t = None -> heap t = [::].
Proof.
rewrite /pick; case e: (sort prio (heap t)) => [|//] _.
by apply/eqP; rewrite -size_eq0 -(size_sort prio) e.
Qed.

(* one pop of the lazy growth is one step along the eager ranking *)
Lemma stepT_ranked k : stepT (take k ranked) = take k.+1 ranked.
Proof.
rewrite /stepT; have [lt|ge] := ltnP k (size ranked); last first.
  case e: (pick _) => [x|]; last by rewrite !take_oversize // ltnW.
  have [/heapP [P [y [i [_ _ _ _ [fin fnot _]]]]] _] := pickP e.
  by rewrite take_oversize ?fin in fnot.
have [n nin nE] := heap_next lt.
case e: (pick _) => [x|]; last by rewrite (pick_none e) in nin.
have [xin xmin] := pickP e; have [P [y [i [_ _ _ _ [fin fnot _]]]]] := heapP xin.
rewrite (take_nth rootn lt); congr (rcons _ _).
have zin : nth rootn ranked k \in ranked by exact: mem_nth.
have xn : prio (fill x) (nth rootn ranked k).
  by rewrite -nE (prio_ext (fill_posn x) (fill_score x) (fill_posn n) (fill_score n)); exact: xmin.
have nx : prio (nth rootn ranked k) (fill x).
  apply: (sorted_leq_index prio_trans prio_refl ranked_sorted) => //.
  rewrite index_uniq // ?(map_uniq ranked_uniq) // leqNgt; apply: contra fnot => h.
  by rewrite in_take.
apply: posn_inj; rewrite ?in_cons -?mem_ranked ?fin ?zin ?orbT //.
exact: prio_anti.
Qed.

Lemma run_lazy k t : run Y (lazyR k t) = iter k stepT t.
Proof.
elim: k t => [//|k IH] t; rewrite iterSr /= {2}/stepT.
case e: (pick t) => [x|]; last first.
  by elim: {IH} k => [//|k IH] /=; rewrite -IH /stepT e.
by rewrite /fill; case: (in_sampled_slot x) => /=; rewrite IH.
Qed.

Theorem lazy_is_eager k : run Y (lazyR k [::]) = eagerT k.
Proof.
rewrite run_lazy; elim: k => [|k IH]; first by rewrite /eagerT take0.
by rewrite iterS IH; exact: stepT_ranked.
Qed.

Lemma take_ranked k : take k ranked = iter k stepT [::].
Proof. by elim: k => [|k IH]; rewrite ?take0 // iterS -IH stepT_ranked. Qed.

(* ---- tokens ---- *)
Hypothesis supp : forall c, q c (Y c) != 0.

Lemma slot_token_inj c y i i' : q c y != 0 -> (i < width c)%N -> (i' < width c)%N ->
  (slot_of c y i).1 = (slot_of c y i').1 -> i = i'.
Proof.
move=> qy h h'; have sz := pool_size ok c y.
rewrite /slot_of -!(nth_map _ v0 (fun z : V * R => z.1)) ?sz // => /eqP.
by rewrite nth_uniq ?size_map ?sz ?(pool_uniq ok) // => /eqP.
Qed.

(* a lead token cannot be sampled *)
Lemma lead_unsampled c y i : (i < smp c < width c)%N -> q c (slot_of c y i).1 = 0.
Proof.
move=> /andP [lt h]; apply/eqP; apply/negPn/negP => qx; set x := (slot_of c y i).1 in qx.
have e : i = smp c.
  apply: (slot_token_inj qx) => //; first exact: ltn_trans h.
  by rewrite (pool_smp ok) // (pool_lead ok x y lt).
by rewrite e ltnn in lt.
Qed.

Lemma layer_toks_inj d : {in layer d &, injective toks}.
Proof.
elim: d => [|d IH] n n'; first by rewrite !inE => /eqP -> /eqP ->.
move=> /mem_layer [P [i [Pin h ->]]] /mem_layer [P' [i' [Pin' h' ->]]] /= /rcons_inj [e].
have PP : P = P' by apply: IH e; exact: mem_expand.
by subst P' => /(slot_token_inj (supp _) h h') ->.
Qed.

Lemma toks_inj : {in rootn :: tree &, injective toks}.
Proof.
move=> n n' nin nin' e; have l := layerP nin; have l' := layerP nin'.
have d : depth n = depth n'.
  have := layer_size l; rewrite e (layer_size l') => /eqP; rewrite eqn_add2l => /eqP; exact: esym.
by rewrite -d in l'; exact: (layer_toks_inj l l' e).
Qed.

Lemma child_of k n P : n \in take k ranked -> P \in rootn :: tree -> parent n = toks P ->
  exists2 i, (i < width (toks P))%N & n = kidY P i.
Proof.
move=> /mem_take_ranked /tree_parent [P' [i [P'in _ _ h ->]]] Pin; rewrite parent_kid => e.
by have PP : P' = P by [apply: toks_inj]; exists i; rewrite -?PP.
Qed.

(* all that is needed of a picked node x, at slot i of P *)
Lemma picked k x : pick (take k ranked) = Some x -> exists P y i,
  [/\ x = kid P y i, P \in rootn :: take k ranked, fill x = kidY P i, (i < width (toks P))%N &
    [/\ (size (toks P) < size root + D)%N,
        fill x \in ranked, fill x \notin take k ranked
      & forall n, n \in take k ranked -> parent n = toks P -> exists i',
        [/\ (i' < width (toks P))%N, n = kidY P i', i' <> i & (i = smp (toks P) -> (i' < smp (toks P))%N)]]].
Proof.
move=> e; have [/heapP [P [y [i [xE Pt fE h [fin fnot _]]]]] _] := pickP e.
exists P, y, i; split=> //; have Pin := mem_top Pt; split=> //.
  move: fin; rewrite mem_ranked => /treeP [d dD /layer_depth]; rewrite fE depth_kid => -[pd].
  by rewrite (layer_size (layerP Pin)) ltn_add2l pd.
move=> n nt pn; have [i' h' nE] := child_of nt Pin pn; exists i'; split=> //.
  by move=> ii; rewrite fE -ii -nE nt in fnot.
move=> iE; rewrite ltnNge leq_eqVlt; apply/negP => /orP [/eqP ii|lt].
  by rewrite fE iE ii -nE nt in fnot.
have sP : 0 <= score P by case/andP: (layer_score (layerP Pin)).
move/negP: fnot; apply; rewrite fE iE; apply: mem_take_before nt.
- by rewrite -iE -fE.
- by rewrite nE; apply: prio_sampled; rewrite ?lt.
- by rewrite nE; apply/eqP => /rcons_inj [ii]; rewrite ii ltnn in lt.
Qed.
End Oracle.

(* ---- neither program reads a context twice ---- *)
Definition bound := (size root + D)%N.

Lemma parent_settok x y : parent (settok x y) = parent x.
Proof. by rewrite {1}/parent /toks /= size_rcons /= -cats1 take_size_cat. Qed.

Lemma in_sampled_settok x y : in_sampled_slot (settok x y) = in_sampled_slot x.
Proof. by rewrite /in_sampled_slot parent_settok. Qed.

Lemma token_settok x y : token (settok x y) = y.
Proof. by rewrite /token /toks /= last_rcons. Qed.

Lemma upd_supp Y c y : (forall c, q c (Y c) != 0) -> q c y != 0 -> forall c', q c' (upd Y c y c') != 0.
Proof. by move=> h qy c'; rewrite /upd; case: (c' =P c) => [->|_]. Qed.

(* drawing another token at a context not yet read changes nothing so far *)
Lemma ranked_upd Y c y k :
  (forall n, n \in take k (ranked Y) -> parent n = c -> ~~ in_sampled_slot n) ->
  take k (ranked (upd Y c y)) = take k (ranked Y).
Proof.
elim: k => [|k IH] h; first by rewrite !take0.
have sub n : n \in take k (ranked Y) -> n \in take k.+1 (ranked Y).
  by move=> nin; rewrite -stepT_ranked /stepT; case: (pick _) => // x; rewrite mem_rcons in_cons nin orbT.
rewrite -!stepT_ranked IH; last by move=> n /sub; exact: h.
rewrite /stepT; case e: (pick _) => [x|//]; congr (rcons _ _).
rewrite /fill; case sx: (in_sampled_slot x) => //; congr (settok _ _).
rewrite /upd; case: eqP => // px.
have := h (fill Y x); rewrite -stepT_ranked /stepT e mem_rcons in_cons eqxx /fill sx parent_settok in_sampled_settok.
by rewrite px sx => /(_ isT erefl).
Qed.

Lemma step_fixed_ranked Y k x : pick (take k (ranked Y)) = Some x -> ~~ in_sampled_slot x ->
  rcons (take k (ranked Y)) x = take k.+1 (ranked Y).
Proof. by move=> e nx; rewrite -stepT_ranked /stepT e /fill (negbTE nx). Qed.

Lemma step_drawn_ranked Y k x y : (forall c, q c (Y c) != 0) -> pick (take k (ranked Y)) = Some x ->
  in_sampled_slot x ->
  rcons (take k (ranked Y)) (settok x y) = take k.+1 (ranked (upd Y (parent x) y)).
Proof.
move=> supp e sx; have [P [y' [i [xE _ _ _ [_ _ _ hc]]]]] := picked supp e.
have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
rewrite -stepT_ranked ranked_upd; last first.
  move=> n nin; rewrite xE parent_kid => pn; have [i' [_ -> _ /(_ iS) lt]] := hc n nin pn.
  by rewrite in_sampled_kid neq_ltn lt.
by rewrite /stepT e /fill sx /upd eqxx.
Qed.

Lemma lazy_once k' k Y used : (forall c, q c (Y c) != 0) ->
  (forall c, c \in used -> exists n, [/\ n \in take k (ranked Y), in_sampled_slot n & parent n = c]) ->
  once bound used (lazyR k' (take k (ranked Y))).
Proof.
elim: k' k Y used => [//|k' IH] k Y used supp hu /=; case e: (pick _) => [x|//].
case sx: (in_sampled_slot x); last first.
  rewrite (step_fixed_ranked e) ?sx //; apply: IH => // c /hu [n [nin sn pn]]; exists n; split=> //.
  by rewrite -(step_fixed_ranked e) ?sx // mem_rcons in_cons nin orbT.
have [P [y' [i [xE Pt _ _ [lt _ _ hc]]]]] := picked supp e.
have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
have px : parent x = toks P by rewrite xE parent_kid.
split; last 1 first.
- move=> y qy /=; rewrite (step_drawn_ranked y supp e sx); apply: IH; first exact: upd_supp.
  rewrite -(step_drawn_ranked y supp e sx) => c; rewrite in_cons => /orP [/eqP ->|/hu [n [nin sn pn]]].
    exists (settok x y); rewrite mem_rcons in_cons eqxx in_sampled_settok parent_settok; by split.
  by exists n; rewrite mem_rcons in_cons nin orbT.
- apply/negP => /hu [n [nin sn pn]]; have [i' [_ nE _ /(_ iS) lt']] := hc n nin (etrans pn px).
  by move: sn; rewrite nE in_sampled_kid ltn_eqF.
- by rewrite px.
Qed.

Lemma pool_unsampled c y y' : (width c <= smp c)%N -> pool c y = pool c y'.
Proof.
move=> h; apply: (@eq_from_nth _ (v0, 0)); rewrite !(pool_size ok) // => i lt.
exact: (pool_lead ok y y' (leq_trans lt h)).
Qed.

Lemma exists_supp c : exists y, q c y != 0.
Proof.
apply/existsP; apply: contraT; rewrite negb_exists => /forallP z.
have := dist_sum vsP (pool_dist ok c); rewrite big1; last by move=> v _; apply/eqP; have := z v; rewrite negbK.
by move=> /eqP; rewrite eq_sym oner_eq0.
Qed.

Lemma kids_toks P y : q (toks P) y != 0 \/ (width (toks P) <= smp (toks P))%N -> uniq (map toks (kids P y)).
Proof.
move=> h; have u : uniq [seq x.1 | x <- pool (toks P) y].
  case: h => [h|h]; first exact: pool_uniq.
  have [y' qy'] := exists_supp (toks P); rewrite (pool_unsampled y y' h); exact: pool_uniq.
rewrite -map_comp map_inj_in_uniq ?iota_uniq // => i i'; rewrite !mem_iota /= !add0n => h1 h2 /rcons_inj [].
have sz := pool_size ok (toks P) y.
rewrite /slot_of -!(nth_map _ v0 (fun z : V * R => z.1)) ?sz // => /eqP.
by rewrite nth_uniq ?size_map ?sz // => /eqP.
Qed.

Lemma once_expand Ps acc k used j : (j < bound)%N -> uniq (map toks Ps) ->
  (forall P, P \in Ps -> size (toks P) = j /\ toks P \notin used) ->
  (forall c, c \in used -> (size c <= j)%N) ->
  uniq (map toks acc) -> (forall n, n \in acc -> size (toks n) = j.+1 /\ parent n \notin map toks Ps) ->
  (forall L used', uniq (map toks L) -> (forall n, n \in L -> size (toks n) = j.+1) ->
     (forall c, c \in used' -> (size c <= j)%N) -> once bound used' (k L)) ->
  once bound used (expandR Ps acc k).
Proof.
move=> jb; elim: Ps acc used => [|P Ps IH] acc used /=.
  by move=> _ _ hu ua ha hk; apply: hk => // n /ha [].
move=> /andP [nP uPs] hP hu ua ha hk; have [szP Pu] := hP P (mem_head _ _).
have uacc y : q (toks P) y != 0 \/ (width (toks P) <= smp (toks P))%N ->
    uniq (map toks (acc ++ kids P y)).
  move=> h; rewrite map_cat cat_uniq ua kids_toks // andbT; apply/hasPn => s /mapP [n /kidsP [i _ ->] ->].
  apply/mapP => -[n' /ha [_ np] e]; move: np; rewrite /parent -e -/(parent (kid P y i)) parent_kid.
  by rewrite in_cons eqxx.
have hacc y n : n \in acc ++ kids P y -> size (toks n) = j.+1 /\ parent n \notin map toks Ps.
  rewrite mem_cat => /orP [/ha [-> h]|/kidsP [i _ ->]].
    by split=> //; move: h; rewrite in_cons negb_or => /andP [].
  by rewrite parent_kid size_rcons szP.
case: ifP => lt; last first.
  apply: IH => //; [|apply: uacc; right; by rewrite leqNgt lt|exact: hacc].
  by move=> P' P'in; apply: hP; rewrite in_cons P'in orbT.
split=> //; first by rewrite szP.
move=> y qy; apply: IH => //.
- move=> P' P'in; have [|sz' nu] := hP P'; first by rewrite in_cons P'in orbT.
  split=> //; rewrite in_cons negb_or nu andbT; apply: contra nP => /eqP <-; exact: map_f.
- by move=> c; rewrite in_cons => /orP [/eqP ->|/hu //]; rewrite szP.
- by apply: uacc; left.
- exact: hacc.
Qed.

Lemma once_build d L U B used j : (j + d)%N = bound -> uniq (map toks L) ->
  (forall n, n \in L -> size (toks n) = j) -> (forall c, c \in used -> (size c < j)%N) ->
  once bound used (buildR d L U B).
Proof.
elim: d L U used j => [//|d IH] L U used j jd uL hL hu /=.
apply: (@once_expand _ _ _ _ j) => //.
- by rewrite -jd addnS ltnS leq_addr.
- by rewrite /expand map_take take_uniq // (perm_uniq (s2 := map toks L)) // perm_map // perm_sort.
- move=> P /mem_expand Pin; rewrite hL //; split=> //; apply/negP => /hu.
  by rewrite hL // ltnn.
- by move=> c /hu /ltnW.
- move=> L' used' uL' hL' hu'; apply: (IH _ _ _ j.+1) => //; by rewrite addSnnS.
Qed.

Lemma eager_once B : once bound [::] (eagerR B).
Proof. by apply: (@once_build _ _ _ _ _ (size root)) => // n; rewrite inE => /eqP ->. Qed.

Lemma run_expand Y Ps acc k : run Y (expandR Ps acc k) = run Y (k (acc ++ flatten [seq kidsY Y P | P <- Ps])).
Proof.
elim: Ps acc => [|P Ps IH] acc /=; first by rewrite cats0.
case: ifP => lt /=; rewrite IH -catA //.
by rewrite /kidsY /kids /kid /slot_of (pool_unsampled v0 (Y (toks P))) // leqNgt lt.
Qed.

Lemma run_build Y d m U B : run Y (buildR d (layer Y m) U B) =
  take B (sort prio (U ++ flatten [seq layer Y d' | d' <- iota m.+1 d])).
Proof.
elim: d m U => [|d IH] m U; first by rewrite cats0.
by rewrite [buildR _ _ _ _]/= run_expand cat0s (IH m.+1) /= catA.
Qed.

Lemma run_eager Y B : run Y (eagerR B) = eagerT Y B.
Proof. by rewrite /eagerR (run_build Y D 0). Qed.

(* eager-equals-lazy: build-all-then-prune and best-first growth that draws only when a sampled slot is reached give
   every property F of the tree the same expectation. *)
Theorem eager_equals_lazy B F : Er (eagerR B) F = Er (lazyR B [::]) F.
Proof.
apply: (same_runs (pool_dist ok) (N := bound)); first exact: eager_once.
  have [Y supp] : exists Y : context V -> V, forall c, q c (Y c) != 0.
    by exists (fun c => xchoose (exists_supp c)) => c; exact: (xchooseP (exists_supp c)).
  by have := @lazy_once B 0 Y [::] supp; rewrite take0; apply.
by move=> Y _; rewrite run_eager lazy_is_eager.
Qed.

(* ---- slot-determinism (paper Lemma 4) ---- *)
Definition in_support (Y : context V -> V) := forall c, q c (Y c) != 0.

(* slot-determinism, parts 1 and 2. Over all unpruned trees (assignments in the support) with the same T_k: there is
   a (k+1)-th node in all or in none; it is in the same slot; if the slot is lead or fill it is the same node,
   token included; if it is the sampled slot, its token is the one drawn at its parent. *)
Theorem slot_determinism Y Y' k : eagerT Y k = eagerT Y' k ->
  (eagerT Y k.+1 = eagerT Y k /\ eagerT Y' k.+1 = eagerT Y' k) \/
  (exists x, if in_sampled_slot x
     then eagerT Y k.+1 = rcons (eagerT Y k) (settok x (Y (parent x))) /\
          eagerT Y' k.+1 = rcons (eagerT Y' k) (settok x (Y' (parent x)))
     else eagerT Y k.+1 = rcons (eagerT Y k) x /\ eagerT Y' k.+1 = rcons (eagerT Y' k) x).
Proof.
rewrite /eagerT -/(ranked Y) -/(ranked Y') => e; rewrite -!stepT_ranked /stepT -e.
case: (pick _) => [x|]; [right; exists x|by left].
by rewrite /fill; case: (in_sampled_slot x).
Qed.

Lemma Er_ext r F G : F =1 G -> Er r F = Er r G.
Proof. by move=> e; elim: r => [t|c k IH] /=; [exact: e | apply: eq_tot => // y; rewrite IH]. Qed.

Lemma Er_scale r F a : Er r (fun t => F t * a) = Er r F * a.
Proof.
elim: r => [//|c k IH] /=; rewrite !totE // mulr_suml; apply: eq_bigr => y _.
by rewrite IH mulrA.
Qed.

Lemma lazy_split k j t F : Er (lazyR (k + j) t) F = Er (lazyR k t) (fun t' => Er (lazyR j t') F).
Proof.
elim: k t => [//|k IH] t; rewrite addSn /=; case e: (pick t) => [x|].
  case: (in_sampled_slot x) => //=; apply: eq_tot => // y; by rewrite IH.
by case: j {IH} => [//|j] /=; rewrite e.
Qed.

Lemma lazy_size k t : forall F G, (forall t', (size t' <= size t + k)%N -> F t' = G t') ->
  Er (lazyR k t) F = Er (lazyR k t) G.
Proof.
elim: k t => [|k IH] t F G h /=; first by apply: h; rewrite addn0.
case: (pick t) => [x|] /=; last by apply: h; rewrite leq_addr.
case: (in_sampled_slot x) => /=.
  by apply: eq_tot => // y; rewrite (IH _ F G) // => t' le; apply: h; rewrite size_rcons addSnnS in le.
by apply: IH => t' le; apply: h; rewrite size_rcons addSnnS in le.
Qed.

(* slot-determinism, part 3. Let t be a possible T_k whose next node is in a sampled slot. Given T_k = t, the token of
   the next node has law q at its parent. *)
Theorem slot_determinism_law k t x v : size t = k -> pick t = Some x -> in_sampled_slot x ->
  Er (eagerR k.+1) (fun T => (T == rcons t (settok x v))%:R) =
  Er (eagerR k) (fun T => (T == t)%:R) * q (parent x) v.
Proof.
move=> sz e sx; rewrite !eager_equals_lazy -addn1 lazy_split -Er_scale; apply: lazy_size => t' le.
have inj y : (settok x y == settok x v) = (y == v).
  apply/eqP/eqP => [h|-> //]; by rewrite -(token_settok x y) h token_settok.
have [->|ne] := eqVneq t' t.
  rewrite /= e sx mul1r /= -[RHS](sum_at' (q (parent x)) v) totE //.
  by apply: eq_bigr => y _; rewrite eqseq_rcons eqxx inj.
rewrite mul0r /=; case: (pick t') => [x'|]; last first.
  rewrite /= (_ : (t' == _) = false) //; apply/eqP => h.
  by move: le; rewrite h size_rcons sz add0n ltnn.
case: (in_sampled_slot x') => /=; last by rewrite eqseq_rcons (negbTE ne).
by rewrite totE // big1 // => y _; rewrite eqseq_rcons (negbTE ne) mulr0.
Qed.

(* ---- from the lazy growth to the tree that is verified ---- *)
Definition entry n : slotted V := (token n, (slotn n, in_sampled_slot n)).
(* The kept nodes, as children of their contexts: what verification sees. *)
Definition hist t : history V slot_info := [seq (parent n, entry n) | n <- t].

Fixpoint lazyG (k : nat) t : growth R V slot_info :=
  if k is k'.+1 then
    if pick t is Some x then
      if in_sampled_slot x then
        Drawn (parent x) (q (parent x)) (slotn x, true) (fun y => lazyG k' (rcons t (settok x y)))
      else Fixed (parent x) (token x, (slotn x, false)) (lazyG k' (rcons t x))
    else Stop _ _ _
  else Stop _ _ _.

Lemma hist_rcons t n : hist (rcons t n) = rcons (hist t) (parent n, entry n).
Proof. by rewrite /hist map_rcons. Qed.

Lemma entry_settok x y : in_sampled_slot x -> entry (settok x y) = (y, (slotn x, true)).
Proof. by move=> sx; rewrite /entry token_settok in_sampled_settok sx. Qed.

Lemma grow_lazy k t F : grow vs (lazyG k t) (hist t) F = Er (lazyR k t) (fun t => F (hist t)).
Proof.
elim: k t => [//|k IH] t /=; case: (pick t) => [x|//].
case sx: (in_sampled_slot x) => /=.
  by apply: eq_tot => // y; rewrite -IH hist_rcons entry_settok // parent_settok.
by rewrite -IH hist_rcons /entry sx.
Qed.

Lemma children_hist t c : children (hist t) c = [seq entry n | n <- t & parent n == c].
Proof. by rewrite /children /hist filter_map -!map_comp. Qed.

Lemma mem_children t c (z : slotted V) : z \in children (hist t) c ->
  exists n, [/\ n \in t, parent n = c & z = entry n].
Proof. by rewrite children_hist => /mapP [n]; rewrite mem_filter => /andP [/eqP pn nt] ->; exists n. Qed.

(* for rrsw: lead slots come before the sampled one *)
Definition lead_first := forall c y i, (i < smp c < width c)%N -> (slot_of c y (smp c)).2 <= (slot_of c y i).2.

Section Sound.
Variables (ok_fixed : seq (slotted V) -> slotted V -> Prop).
Variables (ok_drawn : context V -> seq (slotted V) -> nat -> Prop).
Hypothesis fixed_ok : forall Y k x, in_support Y -> pick (take k (ranked Y)) = Some x -> ~~ in_sampled_slot x ->
  ok_fixed (children (hist (take k (ranked Y))) (parent x)) (entry x).
Hypothesis drawn_ok : forall Y k x, in_support Y -> pick (take k (ranked Y)) = Some x -> in_sampled_slot x ->
  ok_drawn (parent x) (children (hist (take k (ranked Y))) (parent x)) (slotn x).

Lemma lazy_sound k' k Y : in_support Y ->
  sound q ok_fixed ok_drawn root (hist (take k (ranked Y))) (lazyG k' (take k (ranked Y))).
Proof.
elim: k' k Y => [//|k' IH] k Y supp /=; case e: (pick _) => [x|//].
have [P [y' [i [xE Pt fE h [lt fin fnot hc]]]]] := picked supp e.
have px : parent x = toks P by rewrite xE parent_kid.
have sl : slotn x = i by rewrite xE slotn_kid.
have tree_in : in_tree root (hist (take k (ranked Y))) (parent x).
  rewrite px; move: Pt; rewrite in_cons => /orP [/eqP ->|Pt]; [by left|right].
  have /treeP [d _ /mem_layer [P' [i' [_ _ PE]]]] := mem_take_ranked Pt.
  exists (parent P), (token P); split; first by rewrite PE parent_kid token_kid.
  rewrite children_hist /tokens -map_comp; apply/mapP; exists P => //.
  by rewrite mem_filter eqxx.
have slot_new : slotn x \notin map (@slot V) (children (hist (take k (ranked Y))) (parent x)).
  apply/negP => /mapP [_ /mem_children [n [nt pn ->]] /= ss].
  have [i' [_ nE ne _]] := hc n nt (etrans pn px).
  by apply: ne; rewrite -sl ss nE /slot /= slotn_kid.
case sx: (in_sampled_slot x); last first.
  have xf : fill Y x = x by rewrite /fill sx.
  split=> //.
  - split=> //.
    apply/negP => /mapP [_ /mem_children [n [nt pn ->]] /= tt].
    have [i' [h' nE ne _]] := hc n nt (etrans pn px); apply: ne.
    move: tt; rewrite -xf fE nE !token_kid => /esym; exact: slot_token_inj (supp _) h' h.
  - by have := fixed_ok supp e; rewrite sx /entry sx; apply.
  - have := IH k.+1 Y supp; rewrite -(step_fixed_ranked e) ?sx // hist_rcons /entry sx; exact.
have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
split=> //.
- split=> //; apply/negP => /hasP [_ /mem_children [n [nt pn ->]]]; rewrite /is_sampled /=.
  have [i' [_ -> _ /(_ iS) l]] := hc n nt (etrans pn px).
  by rewrite in_sampled_kid ltn_eqF.
- exact: drawn_ok.
- move=> y qy; split.
    apply/negP => /mapP [_ /mem_children [n [nt pn ->]] /= tt].
    have [i' [_ nE _ /(_ iS) l]] := hc n nt (etrans pn px).
    move: qy; rewrite tt nE token_kid px lead_unsampled ?eqxx // l -iS h //.
  have := IH k.+1 _ (upd_supp supp qy); rewrite -(step_drawn_ranked y supp e sx).
  by rewrite hist_rcons entry_settok // parent_settok.
Qed.
End Sound.

Lemma lazy_sound_rheo k : sound q (@rheo_fixed V) (rheo_drawn q) root [::] (lazyG k [::]).
Proof.
have [Y supp] : exists Y, in_support Y.
  by exists (fun c => xchoose (exists_supp c)) => c; exact: (xchooseP (exists_supp c)).
have := @lazy_sound (@rheo_fixed V) (rheo_drawn q) _ _ k 0 Y supp; rewrite take0; apply=> //.
move=> {supp Y} Y j x supp e sx z /mem_children [n [nt pn ->]].
have [P [y' [i [xE Pt fE h [_ _ _ hc]]]]] := picked supp e.
have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
have px : parent x = toks P by rewrite xE parent_kid.
have [i' [_ -> _ /(_ iS) l]] := hc n nt (etrans pn px).
by rewrite /entry token_kid px lead_unsampled // l -iS.
Qed.

Lemma lazy_sound_rrsw k : lead_first -> sound q (@rrsw_fixed V) (rrsw_drawn q) root [::] (lazyG k [::]).
Proof.
move=> lf; have [Y supp] : exists Y, in_support Y.
  by exists (fun c => xchoose (exists_supp c)) => c; exact: (xchooseP (exists_supp c)).
have := @lazy_sound (@rrsw_fixed V) (rrsw_drawn q) _ _ k 0 Y supp; rewrite take0; apply=> //.
- move=> {supp Y} Y j x supp e sx z /mem_children [n [nt pn ->]].
  have [P [y' [i [xE Pt fE h [_ fin fnot hc]]]]] := picked supp e.
  have px : parent x = toks P by rewrite xE parent_kid.
  have [i' [h' nE ne _]] := hc n nt (etrans pn px).
  rewrite /is_sampled /slot /= {1}nE in_sampled_kid => /eqP iS; rewrite nE xE !slotn_kid iS.
  rewrite ltnNge leq_eqVlt; apply/negP => /orP [/eqP ii|lt]; first by apply: ne; rewrite iS.
  move/negP: fnot; apply; rewrite fE; apply: mem_take_before nt.
  + by rewrite -fE.
  + have sP : 0 <= score P by case/andP: (layer_score (layerP (mem_top Pt))).
    rewrite nE iS /prio /lex /= ler_wpmul2l ?lf ?lt -?iS //= !depth_kid leqnn /= lexle_rcons.
    by rewrite iS (ltnW lt) implybT.
  + by rewrite nE; apply/eqP => /rcons_inj [ii]; rewrite ii iS ltnn in lt.
- move=> {supp Y} Y j x supp e sx z /mem_children [n [nt pn ->]].
  have [P [y' [i [xE Pt fE h [_ _ _ hc]]]]] := picked supp e.
  have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
  have px : parent x = toks P by rewrite xE parent_kid.
  have [i' [_ -> _ /(_ iS) l]] := hc n nt (etrans pn px).
  by rewrite xE /slot /= !slotn_kid iS ltnNge (ltnW l).
Qed.

(* lossless (paper Theorem 1, Eq. (3)), for every budget B and every sequence s: the cycle that verifies the pruned
   dynamic tree with rheo has the target's law. *)
Theorem lossless_rheo_pools (p : context V -> V -> R) B s : (forall c, dist vs (p c)) ->
  Er (eagerR B) (fun T => cycle vs (rheo_rule vs p q) (target p) (hist T) root s) = target p root s.
Proof.
move=> dp; rewrite eager_equals_lazy -(grow_lazy B [::] (fun h => cycle vs (rheo_rule vs p q) (target p) h root s)).
exact: (adapted_growth_rheo vsP dp (pool_dist ok) s (lazy_sound_rheo B)).
Qed.

(* lossless, under rrsw. *)
Theorem lossless_rrsw_pools (p : context V -> V -> R) B s : (forall c, dist vs (p c)) -> lead_first ->
  Er (eagerR B) (fun T => cycle vs (rrsw_rule vs p q) (target p) (hist T) root s) = target p root s.
Proof.
move=> dp lf; rewrite eager_equals_lazy -(grow_lazy B [::] (fun h => cycle vs (rrsw_rule vs p q) (target p) h root s)).
exact: (adapted_growth_rrsw vsP dp (pool_dist ok) s (lazy_sound_rrsw B lf)).
Qed.
End DynamicTree.
