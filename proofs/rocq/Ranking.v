(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   Under one assignment of sampled tokens to all contexts, the lazy growth pops exactly the ranking of the eager tree. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Growth Priority Reads DynamicTree.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Lemma uniq_inj (T1 T2 : eqType) (f : T1 -> T2) (l : seq T1) : uniq (map f l) -> {in l &, injective f}.
Proof.
elim: l => [//|a l IH] /= /andP [na ul] x y; rewrite !in_cons => /orP [/eqP ->|xl] /orP [/eqP ->|yl] // e.
- by rewrite e map_f in na.
- by rewrite -e map_f in na.
- exact: IH.
Qed.

Section Ranking.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Implicit Types (c : context V) (y v : V).
Implicit Types (n x P : node R V) (t L U : seq (node R V)).
Variables (v0 : V) (pool : context V -> V -> seq (V * R)) (smp width : context V -> nat).
Variable q : context V -> V -> R.
Variables (W D : nat) (root : context V).
Hypothesis ok : pool_ok vs v0 pool smp width q.
Load TreeNames.
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
elim: d => [//|d IH]; apply: flat_uniq; rewrite /DynamicTree.expand map_take take_uniq //.
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
move=> Pin; rewrite /DynamicTree.expanded; case dD: (depth P < D)%N => //=.
rewrite -[if _ then _ else _]/([seq x <- take k.+1 (rootn :: ranked) | depth x == depth P]).
have : P \in [seq x <- take k.+1 (rootn :: ranked) | depth x == depth P] by rewrite mem_filter eqxx.
rewrite filter_take ranked_filter 1?ltnW //; set X := sort prio _; set j := count _ _ => Pj.
have PX : P \in X by exact: mem_take Pj.
rewrite /DynamicTree.expand -/X; have [Wj|jW] := leqP W j; first by rewrite take_take.
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
rewrite /DynamicTree.sibling => Pin; case e: [seq _ <- _ | _] => [//|n l] [<-].
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
by rewrite /DynamicTree.sibling; case: [seq _ <- _ | _] => [//|n l] _; eexists.
Qed.

(* what popping adds under this assignment *)
Definition fill n : node := if in_sampled_slot n then settok n (Y (parent n)) else n.

Lemma fill_kid P y i : (i < width (toks P))%N -> y = Y (toks P) \/ (i <= smp (toks P))%N ->
  fill (kid P y i) = kidY P i.
Proof.
move=> h hy; rewrite /fill in_sampled_kid parent_kid; case: eqP => [e|ne].
  have sc : score (kid P y i) = score (kid P (Y (toks P)) i) by apply: kid_score; rewrite e leqnn.
  have tk : (slot_of (toks P) (Y (toks P)) i).1 = Y (toks P) by rewrite e (pool_smp ok) // -e.
  by rewrite /settok parent_kid sc /kidY [RHS]/DynamicTree.kid tk.
case: hy => [->//|]; rewrite leq_eqVlt => /orP [/eqP //|lt]; exact: kid_lead.
Qed.

Lemma fill_posn n : posn (fill n) = posn n. Proof. by rewrite /fill; case: ifP. Qed.
Lemma fill_score n : score (fill n) = score n. Proof. by rewrite /fill; case: ifP. Qed.

Lemma availP k P n : P \in rootn :: tree -> n \in avail (take k ranked) P ->
  exists y i, [/\ (i < width (toks P))%N, n = kid P y i & y = Y (toks P) \/ (i <= smp (toks P))%N].
Proof.
move=> Pin; rewrite /DynamicTree.avail; case e: (sibling _ _) => [y|].
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
  apply: heap_in => //; rewrite /DynamicTree.avail e (siblingE Pin e) zE; apply/kidsP; by exists i.
have le : (i <= smp (toks P))%N.
  rewrite leqNgt; apply/negP => si; have [|y] := @sibling_some k P; last by rewrite e.
  apply: before.
  - by rewrite mem_ranked tree_kid // (ltn_trans si).
  - by rewrite zE; apply: prio_sampled; rewrite ?si.
  - by rewrite zE; apply/eqP => /rcons_inj [ii]; rewrite ii ltnn in si.
exists (kid P v0 i); last by rewrite zE fill_kid //; right.
apply: heap_in; last by rewrite zE.
rewrite /DynamicTree.avail e; apply/mapP; exists i => //; by rewrite mem_iota /= add0n leq_min ltnS le.
Qed.

Definition stepT t := if pick t is Some x then rcons t (fill x) else t.

Lemma pickP t x : pick t = Some x -> x \in heap t /\ forall n, n \in heap t -> prio x n.
Proof.
rewrite /DynamicTree.pick; case e: (sort prio (heap t)) => [//|a l] [<-].
have mem n : (n \in heap t) = (n \in a :: l) by rewrite -e mem_sort.
split=> [|n]; rewrite mem ?in_cons ?eqxx // => /orP [/eqP ->|nl]; first exact: prio_refl.
have := sort_sorted prio_total (heap t); rewrite e /= => so.
exact: (allP (order_path_min prio_trans so)).
Qed.

Lemma pick_none t : pick t = None -> heap t = [::].
Proof.
rewrite /DynamicTree.pick; case e: (sort prio (heap t)) => [|//] _.
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
End Ranking.
