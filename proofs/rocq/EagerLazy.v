(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   eager-equals-lazy and slot-determinism, for any pools that meet the conditions. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Growth Priority Reads DynamicTree Ranking.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section EagerLazy.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Implicit Types (c : context V) (y v : V).
Implicit Types (n x P : node R V) (t L U : seq (node R V)).
Variables (v0 : V) (pool : context V -> V -> seq (V * R)) (smp width : context V -> nat).
Variable q : context V -> V -> R.
Variables (W D : nat) (root : context V).
Hypothesis ok : pool_ok vs v0 pool smp width q.
Load TreeNames.
Load RankingNames.

Section Tokens.
Variable Y : context V -> V.
(* ---- tokens ---- *)
Hypothesis supp : forall c, q c (Y c) != 0.

Lemma slot_token_inj c y i i' : q c y != 0 -> (i < width c)%N -> (i' < width c)%N ->
  (slot_of c y i).1 = (slot_of c y i').1 -> i = i'.
Proof.
move=> qy h h'; have sz := pool_size ok c y.
rewrite /DynamicTree.slot_of -!(nth_map _ v0 (fun z : V * R => z.1)) ?sz // => /eqP.
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

Lemma layer_toks_inj d : {in (layer Y) d &, injective toks}.
Proof.
elim: d => [|d IH] n n'; first by rewrite !inE => /eqP -> /eqP ->.
move=> /mem_layer [P [i [Pin h ->]]] /mem_layer [P' [i' [Pin' h' ->]]] /= /rcons_inj [e].
have PP : P = P' by apply: IH e; [exact: mem_expand Pin | exact: mem_expand Pin'].
by subst P' => /(slot_token_inj (supp _) h h') ->.
Qed.

Lemma toks_inj : {in rootn :: (tree Y) &, injective toks}.
Proof.
move=> n n' nin nin' e; have l := layerP nin; have l' := layerP nin'.
have d : depth n = depth n'.
  have := layer_size l; rewrite e (layer_size l') => /eqP; rewrite eqn_add2l => /eqP; exact: esym.
by rewrite -d in l'; exact: (layer_toks_inj l l' e).
Qed.

Lemma child_of k n P : n \in take k (ranked Y) -> P \in rootn :: (tree Y) -> parent n = toks P ->
  exists2 i, (i < width (toks P))%N & n = (kidY Y) P i.
Proof.
move=> /mem_take_ranked /tree_parent [P' [i [P'in _ _ h ->]]] Pin; rewrite parent_kid => e.
by have PP : P' = P by [apply: toks_inj]; exists i; rewrite -?PP.
Qed.

(* all that is needed of a picked node x, at slot i of P *)
Lemma picked k x : pick (take k (ranked Y)) = Some x -> exists P y i,
  [/\ x = kid P y i, P \in rootn :: take k (ranked Y), (fill Y) x = (kidY Y) P i, (i < width (toks P))%N &
    [/\ (size (toks P) < size root + D)%N,
        (fill Y) x \in (ranked Y), (fill Y) x \notin take k (ranked Y)
      & forall n, n \in take k (ranked Y) -> parent n = toks P -> exists i',
        [/\ (i' < width (toks P))%N, n = (kidY Y) P i', i' <> i & (i = smp (toks P) -> (i' < smp (toks P))%N)]]].
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
End Tokens.

(* ---- neither program reads a context twice ---- *)
Definition bound := (size root + D)%N.

Lemma parent_settok x y : parent (settok x y) = parent x.
Proof. by rewrite {1}/parent /toks /= size_rcons /= -cats1 take_size_cat. Qed.

Lemma in_sampled_settok x y : in_sampled_slot (settok x y) = in_sampled_slot x.
Proof. by rewrite /DynamicTree.in_sampled_slot parent_settok. Qed.

Lemma token_settok x y : token (settok x y) = y.
Proof. by rewrite /DynamicTree.token /toks /= last_rcons. Qed.

Lemma upd_supp Y c y : (forall c, q c (Y c) != 0) -> q c y != 0 -> forall c', q c' (upd Y c y c') != 0.
Proof. by move=> h qy c'; rewrite /upd; case: (c' =P c) => [->|_]. Qed.

(* drawing another token at a context not yet read changes nothing so far *)
Lemma ranked_upd Y c y k :
  (forall n, n \in take k (ranked Y) -> parent n = c -> ~~ in_sampled_slot n) ->
  take k (ranked (upd Y c y)) = take k (ranked Y).
Proof.
elim: k => [|k IH] h; first by rewrite !take0.
have sub n : n \in take k (ranked Y) -> n \in take k.+1 (ranked Y).
  by move=> nin; rewrite -stepT_ranked /Ranking.stepT; case: (pick _) => // x; rewrite mem_rcons in_cons nin orbT.
rewrite -!stepT_ranked IH; last by move=> n /sub; exact: h.
rewrite /Ranking.stepT; case e: (pick _) => [x|//]; congr (rcons _ _).
rewrite /Ranking.fill; case sx: (in_sampled_slot x) => //; congr (settok _ _).
rewrite /upd; case: eqP => // px.
have := h (fill Y x); rewrite -stepT_ranked /Ranking.stepT e mem_rcons in_cons eqxx /Ranking.fill sx parent_settok in_sampled_settok.
by rewrite px sx => /(_ isT erefl).
Qed.

Lemma step_fixed_ranked Y k x : pick (take k (ranked Y)) = Some x -> ~~ in_sampled_slot x ->
  rcons (take k (ranked Y)) x = take k.+1 (ranked Y).
Proof. by move=> e nx; rewrite -stepT_ranked /Ranking.stepT e /Ranking.fill (negbTE nx). Qed.

Lemma step_drawn_ranked Y k x y : (forall c, q c (Y c) != 0) -> pick (take k (ranked Y)) = Some x ->
  in_sampled_slot x ->
  rcons (take k (ranked Y)) (settok x y) = take k.+1 (ranked (upd Y (parent x) y)).
Proof.
move=> supp e sx; have [P [y' [i [xE _ _ _ [_ _ _ hc]]]]] := picked supp e.
have iS : i = smp (toks P) by move: sx; rewrite xE in_sampled_kid => /eqP.
rewrite -stepT_ranked ranked_upd; last first.
  move=> n nin; rewrite xE parent_kid => pn; have [i' [_ -> _ /(_ iS) lt]] := hc n nin pn.
  by rewrite in_sampled_kid neq_ltn lt.
by rewrite /Ranking.stepT e /Ranking.fill sx /upd eqxx.
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
  case: h => [h|h]; first exact: (pool_uniq ok h).
  have [y' qy'] := exists_supp (toks P); rewrite (pool_unsampled y y' h); exact: (pool_uniq ok qy').
rewrite -map_comp map_inj_in_uniq ?iota_uniq // => i i'; rewrite !mem_iota /= !add0n => h1 h2 /rcons_inj [].
have sz := pool_size ok (toks P) y.
rewrite /DynamicTree.slot_of -!(nth_map _ v0 (fun z : V * R => z.1)) ?sz // => /eqP.
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
- by rewrite /DynamicTree.expand map_take take_uniq // (perm_uniq (s2 := map toks L)) // perm_map // perm_sort.
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
by rewrite /Ranking.kidsY /DynamicTree.kids /DynamicTree.kid /DynamicTree.slot_of (pool_unsampled v0 (Y (toks P))) // leqNgt lt.
Qed.

Lemma run_build Y d m U B : run Y (buildR d (layer Y m) U B) =
  take B (sort prio (U ++ flatten [seq layer Y d' | d' <- iota m.+1 d])).
Proof.
elim: d m U => [|d IH] m U; first by rewrite cats0.
by rewrite [buildR _ _ _ _]/= run_expand cat0s (IH m.+1) /= catA.
Qed.

Lemma run_eager Y B : run Y (eagerR B) = eagerT Y B.
Proof. by rewrite /DynamicTree.eagerR (run_build Y D 0). Qed.

(* eager-equals-lazy: build-all-then-prune and best-first growth that draws only when a sampled slot is reached give
   every property F of the tree the same expectation. *)
Theorem eager_equals_lazy B F : Er (eagerR B) F = Er (lazyR B [::]) F.
Proof.
apply: (@same_runs _ _ _ vsP _ (pool_dist ok) bound); first exact: eager_once.
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
rewrite /Ranking.eagerT -!/(ranked _) => e; rewrite -!stepT_ranked /Ranking.stepT -e.
case: (pick _) => [x|]; [right; exists x|by left].
by rewrite /Ranking.fill; case: (in_sampled_slot x).
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
End EagerLazy.
