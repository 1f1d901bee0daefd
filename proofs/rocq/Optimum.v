(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   optimal-acceptance: the most that any layer rule can accept. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer Acceptance.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Optimum.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Implicit Types (p q b : V -> R) (u v y : V) (us : seq V).
Local Notation acceptance c := (E vs c (@accepts R V)).

Section Optimal.
Variables (Omega : finType) (w : Omega -> R) (C : Omega -> seq V) (p : V -> R).

(* Any layer rule for this law of candidate sets: given the draw, a law over outcomes that accepts only
   candidates; on average over the draws the output is p. *)
Definition layer_rule (l : Omega -> outcome V -> R) :=
  [/\ forall k o, 0 <= l k o,
      forall k, w k != 0 -> \sum_v (l k (true, v) + l k (false, v)) = 1,
      forall k u, u \notin C k -> l k (true, u) = 0
    & forall v, \sum_k w k * (l k (true, v) + l k (false, v)) = p v].

Definition rule_acceptance (l : Omega -> outcome V -> R) : R := \sum_k w k * (\sum_u l k (true, u)).

(* the capacity of the cut given by a token set T: p(T) + Pr(candidates not inside T) *)
Definition cut (T : pred V) : R := \sum_(v | T v) p v + \sum_(k | ~~ all T (C k)) w k.

(* optimal-acceptance, weak duality: no rule accepts more than any cut. *)
Theorem optimal_acceptance l T : (forall k, 0 <= w k) -> layer_rule l -> rule_acceptance l <= cut T.
Proof.
move=> w0 [l0 l1 lC lp]; rewrite /rule_acceptance /cut.
have -> : \sum_k w k * (\sum_u l k (true, u)) =
   \sum_(u | T u) (\sum_k w k * l k (true, u)) + \sum_k w k * (\sum_(u | ~~ T u) l k (true, u)).
  rewrite exchange_big /= -big_split /=; apply: eq_bigr => k _.
  by rewrite (bigID T) /= mulrDr mulr_sumr.
apply: ler_add.
  apply: ler_sum => u _; rewrite -(lp u); apply: ler_sum => k _.
  by rewrite ler_wpmul2l // ler_addl.
rewrite [X in _ <= X]big_mkcond /=; apply: ler_sum => k _.
have [z|nz] := eqVneq (w k) 0; first by rewrite z mul0r if_same.
case: ifP => [_|/negbFE/allP h].
  rewrite -[X in _ <= X]mulr1 ler_wpmul2l // -(l1 k nz) [X in _ <= X](bigID T) /= ler_paddl //.
    by apply: sumr_ge0 => v _; rewrite addr_ge0.
  by apply: ler_sum => v _; rewrite ler_addl.
rewrite big1 ?mulr0 // => u nu; apply: lC; by apply: contra nu => /h.
Qed.
End Optimal.

(* ---- rheo and rrsw are rules in this sense, for any candidates ---- *)
Section OurRules.
Variables (p q : V -> R).
Hypotheses (dp : dist vs p) (dq : dist vs q).

Definition law_of (c : V -> prog R V (outcome V)) y (o : outcome V) : R := E vs (c y) (fun o' => (o' == o)%:R).

Lemma law_of_rule (C : V -> seq V) c :
  (forall y f, (forall o, 0 <= f o) -> 0 <= E vs (c y) f) ->
  (forall y, q y != 0 -> E vs (c y) (fun _ => 1) = 1) ->
  (forall y u, u \notin C y -> E vs (c y) (@enters R V u) = 0) ->
  (forall v, tot vs (fun y => q y * E vs (c y) (@emits R V v)) = p v) -> layer_rule q C p (law_of c).
Proof.
move=> h0 h1 hC hp.
have e v (x : outcome V) : (x == (true, v))%:R + (x == (false, v))%:R = @emits R V v x.
  by case: x => [[] x]; rewrite /emits /= !xpair_eqE /= ?addr0 ?add0r.
have l1 y v : law_of c y (true, v) + law_of c y (false, v) = E vs (c y) (@emits R V v).
  rewrite -(mul1r (law_of c y (true, v))) -(mul1r (law_of c y (false, v))) -E_linear //.
  by apply: E_ext => // x; rewrite !mul1r e.
split.
- by move=> y o; apply: h0 => o'; rewrite ler0n.
- move=> y qy; under eq_bigr do rewrite l1; rewrite E_sum // -[RHS](h1 y qy).
  by apply: E_ext => // o; exact: sum_is.
- exact: hC.
- by move=> v; under eq_bigr do rewrite l1; rewrite -(totE vsP).
Qed.

Lemma law_of_acceptance c :
  rule_acceptance q (law_of c) = tot vs (fun y => q y * acceptance (c y)).
Proof.
rewrite totE //; apply: eq_bigr => y _; rewrite E_sum //; congr (_ * _); apply: E_ext => // -[[] w].
  by rewrite /accepts /= -[RHS](sum_is R w); apply: eq_bigr => u _; rewrite xpair_eqE.
by rewrite /accepts /= big1 // => u _; rewrite xpair_eqE.
Qed.

Lemma accept_ge0 b y : (forall v, 0 <= b v) -> 0 <= accept b q y.
Proof. by move=> b0; rewrite /accept le_minr ler01 divr_ge0 //; case: dq. Qed.

Lemma accept_le1 b y : accept b q y <= 1. Proof. by rewrite /accept le_minl lexx. Qed.

Lemma accept_total b y : dist vs b -> q y != 0 ->
  accept b q y + (1 - accept b q y) * (\sum_v residual vs b q v) = 1.
Proof.
move=> db qy; case: (residual_dist0 vsP b q) => [d|z].
  by rewrite (dist_sum vsP d) mulr1 addrC subrK.
suff -> : accept b q y = 1 by rewrite subrr mul0r addr0.
have := reject_mul (proj1 db y) (proj1 dq y).
have -> : pos (q y - b y) = 0.
  have : \sum_y pos (q y - b y) = 0.
    rewrite -(sum_pos_sym vsP (p := b)); last by case: db dq => _ -> [_ ->].
    by rewrite big1 // => v _; rewrite -(mass_residual vsP) z mulr0.
  move=> /eqP; rewrite psumr_eq0; last by move=> v _; exact: pos_ge0.
  by move=> /allP /(_ y (mem_index_enum y)) /= /eqP.
by move=> /eqP; rewrite mulf_eq0 (negbTE qy) /= subr_eq0 eq_sym => /eqP.
Qed.

Lemma rheo_layer_rule (cs : V -> seq (cand V)) : (forall y, sampled (cs y) = [:: y]) ->
  layer_rule q (fun y => y :: others (cs y)) p (law_of (fun y => rheo vs p q (cs y))).
Proof.
move=> s; have rE y f := rheo_law1 vsP p q f (s y); have p0 : forall v, 0 <= p v by case: dp.
apply: law_of_rule.
- move=> y f f0; rewrite rE addr_ge0 // mulr_ge0 ?accept_ge0 ?subr_ge0 ?accept_le1 // sumr_ge0 // => v _.
  by rewrite mulr_ge0 //; apply: dist0_ge0; exact: residual_dist0.
- move=> y qy; rewrite rE mulr1; under eq_bigr do rewrite mulr1; exact: accept_total.
- move=> y u; rewrite in_cons negb_or => /andP [uy uo]; rewrite rE.
  rewrite (sum_enters (residual vs p q) (mem (others (cs y))) u) /= (negbTE uo) !mulr0 addr0.
  by rewrite /enters xpair_eqE /= eq_sym (negbTE uy) mulr0.
- by move=> v; apply: layer_lossless_rheo.
Qed.

Lemma rrsw_layer_rule us (post : V -> seq V) :
  layer_rule q (fun y => us ++ y :: post y) p
    (law_of (fun y => rrsw vs p q ([seq (u, false) | u <- us] ++ (y, true) :: [seq (u, false) | u <- post y]))).
Proof.
have p0 : forall v, 0 <= p v by case: dp.
set b := left_after vs p (mem us).
have rE y f : E vs (rrsw vs p q ([seq (u, false) | u <- us] ++ (y, true) :: [seq (u, false) | u <- post y])) f =
   \sum_(v | v \in us) p v * f (true, v) + (1 - mass p (mem us)) *
     (accept b q y * f (true, y) + (1 - accept b q y) * \sum_v residual vs b q v * f (v \in post y, v)).
  by rewrite rrsw_law1 ?sampled_det // others_det.
have m0 : 0 <= 1 - mass p (mem us) by rewrite subr_ge0; exact: (mass_le1 vsP _ dp).
have b0 v : 0 <= b v.
  rewrite /b /left_after /nrm divr_ge0 ?off_ge0 // totE // sumr_ge0 // => w _; exact: off_ge0.
apply: law_of_rule.
- move=> y f f0; rewrite rE addr_ge0 ?sumr_ge0 // => [v _|]; first by rewrite mulr_ge0.
  rewrite mulr_ge0 // addr_ge0 // mulr_ge0 ?accept_ge0 ?subr_ge0 ?accept_le1 // sumr_ge0 // => v _.
  by rewrite mulr_ge0 //; apply: dist0_ge0; exact: residual_dist0.
- move=> y qy; rewrite rE; under eq_bigr do rewrite mulr1.
  rewrite mulr1; under [X in _ + _ * (_ + _ * X)]eq_bigr do rewrite mulr1.
  rewrite -[\sum_(v | _) _]/(mass p (mem us)).
  have [->|a1] := eqVneq (mass p (mem us)) 1; first by rewrite subrr mul0r addr0.
  by rewrite accept_total ?mulr1 1?addrC ?subrK //; exact: left_dist.
- move=> y u; rewrite mem_cat in_cons !negb_or => /and3P [uu uy uo]; rewrite rE.
  rewrite (sum_enters (residual vs b q) (mem (post y)) u) /= (negbTE uo) mulr0 mulr0 addr0.
  rewrite {2}/enters xpair_eqE /= eq_sym (negbTE uy) mulr0 mulr0 addr0 big1 // => v vu.
  by rewrite /enters xpair_eqE /=; case: eqP => [vE|]; rewrite ?mulr0 //; rewrite -vE vu in uu.
- move=> v; apply: layer_lossless_rrsw => // y _; exact: sampled_det.
Qed.
End OurRules.

(* optimal-acceptance: rheo reaches the optimum when the candidates are the lead and the sampled token
   (n = m + 1): its acceptance equals a cut, so no rule for these candidate sets accepts more. *)
Section RheoOptimal.
Variables (p q : V -> R) (us : seq V).
Hypotheses (dp : dist vs p) (dq : dist vs q) (q_lead : forall v, v \in us -> q v = 0).

Definition lead_and_sampled y : seq (cand V) := [seq (u, false) | u <- us] ++ [:: (y, true)].
Definition rheo_cut : pred V := fun v => (v \in us) || (p v <= q v).

Lemma rheo_acceptance_cut :
  tot vs (fun y => q y * acceptance (rheo vs p q (lead_and_sampled y)))
    = cut q (fun y => y :: us) p rheo_cut.
Proof.
have s y : sampled (lead_and_sampled y) = [:: y].
  by rewrite sampled_cat sampled_det.
have o y : others (lead_and_sampled y) = us.
  by rewrite others_cat others_det cats0.
rewrite totE // (rheo_law vsP (fun _ => @accepts R V)) //.
under [X in X + _]eq_bigr do rewrite mulr1.
under [X in _ + X]eq_bigr do rewrite o.
rewrite -mulr_suml.
have -> : (\sum_y pos (q y - p y)) * (\sum_v residual vs p q v * @accepts R V (v \in us, v)) =
  \sum_(v | v \in us) p v.
  rewrite mulr_sumr [RHS]big_mkcond; apply: eq_bigr => v _; rewrite mulrA.
  rewrite -(sum_pos_sym vsP (p := p)) -?(totE vsP); last by case: dp dq => _ -> [_ ->].
  rewrite mass_residual // /accepts /=.
  case: ifP => vu; rewrite ?mulr0 // mulr1 q_lead // subr0 pos_id //; by case: dp.
rewrite /cut addrC.
have -> : \sum_(k | ~~ all rheo_cut (k :: us)) q k = \sum_(k | ~~ rheo_cut k) q k.
  apply: eq_bigl => k /=; have -> : all rheo_cut us by apply/allP => v; rewrite /rheo_cut => ->.
  by rewrite andbT.
rewrite [X in _ + X = _](bigID (mem us)) /= [X in _ + (X + _) = _]big1 ?add0r; last first.
  by move=> v h; rewrite q_lead // (min_idPr _) //; case: dp.
rewrite [X in _ = X + _](bigID (mem us)) /= -[RHS]addrA; congr (_ + _).
  by apply: eq_bigl => v; rewrite /rheo_cut /=; case: (v \in us); rewrite ?andbF ?andbT.
rewrite [LHS](bigID (fun v => rheo_cut v)) /=; congr (_ + _).
  rewrite (eq_bigl (fun v => rheo_cut v && (v \notin us))); last by move=> v; rewrite andbC.
  apply: eq_bigr => v /andP [h /negbTE nv]; move: h; rewrite /rheo_cut nv /= => h; exact/min_idPl.
rewrite (eq_bigl (fun v => ~~ rheo_cut v)); last first.
  by move=> v; rewrite /rheo_cut; case: (v \in us).
apply: eq_bigr => v; rewrite /rheo_cut negb_or -ltNge => /andP [_ /ltW h]; exact/min_idPr.
Qed.

Lemma lead_and_sampled_rule :
  layer_rule q (fun y => y :: us) p (law_of (fun y => rheo vs p q (lead_and_sampled y))).
Proof.
have s y : sampled (lead_and_sampled y) = [:: y] by rewrite sampled_cat sampled_det.
have o y : others (lead_and_sampled y) = us by rewrite others_cat others_det cats0.
by case: (rheo_layer_rule dp dq s) => l0 l1 lC lp; split=> // y u; have := lC y u; rewrite o.
Qed.

Theorem optimal_acceptance_rheo l : layer_rule q (fun y => y :: us) p l ->
  rule_acceptance q l <= tot vs (fun y => q y * acceptance (rheo vs p q (lead_and_sampled y))).
Proof.
by move=> h; rewrite rheo_acceptance_cut; apply: optimal_acceptance => //; case: dq.
Qed.
End RheoOptimal.
(* optimal-acceptance: the optimum is at most the bound of Theorem 3 (so rheo and rrsw are too). *)
Section Bound.
Variables (xs : seq V) (m n : nat) (v0 : V).
Hypothesis xsP : vocabulary xs.
Hypothesis mn : (m < n)%N.
Hypothesis nV : (n <= #|V|)%N.
Variables (p q : V -> R).
Hypotheses (dp : dist vs p) (dq : dist vs q).
Hypothesis q_lead : forall v, v \in lead xs m -> q v = 0.
(* optimal-acceptance: the bound of Theorem 3 holds for every rule, not only rheo. *)
Theorem optimal_acceptance_bound l :
  layer_rule q (fun y => map fst (survivors xs m n y)) p l ->
  rule_acceptance q l <= \sum_(v | v \in take n xs) p v + \sum_(v | v \notin take n xs) Num.min (p v) (q v).
Proof.
move=> hl; have q0 y : 0 <= q y by case: dq.
pose T := fun v => (v \in take n xs) || (p v <= q v).
apply: le_trans (optimal_acceptance T q0 hl) _; rewrite /cut.
have inT y : y \notin lead xs m -> T y -> all T (map fst (survivors xs m n y)).
  move=> yl Ty; have ln u : u \in lead xs m -> u \in take n xs.
    rewrite /lead => h; have := ltnW mn => /subnKC <-; by rewrite takeD mem_cat h.
  apply/allP => u; rewrite /survivors map_cat mem_cat /= in_cons -!map_comp !map_id.
  case/or3P => [/ln h|/eqP -> //|]; first by rewrite /T h.
  rewrite (mem_fills xsP mn u yl) => /and3P [_ _ h]; rewrite /T; apply/orP; left.
  have e : n = n.-1.+1 by case: (n) mn.
  have : u \in take n xs; last by [].
  move: h; case: (y \in _); first by rewrite addn1 -e.
  by rewrite addn0 => h; rewrite e -addn1 takeD mem_cat h.
apply: (@le_trans _ _ (\sum_(v | T v) p v + \sum_(y | ~~ T y) q y)).
  rewrite ler_add2l big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => y _.
  have [Ty|] := boolP (T y); last by case: ifP => /= *; rewrite ?lexx ?q0.
  case: ifP => // na; have [yl|nl] := boolP (y \in lead xs m); first by rewrite q_lead.
  by rewrite inT in na.
rewrite (bigID (mem (take n xs))) /= -addrA le_eqVlt; apply/orP; left; apply/eqP; congr (_ + _).
  by apply: eq_bigl => v; rewrite /T; case: (v \in take n xs); rewrite ?andbF.
rewrite [RHS](bigID (fun v => p v <= q v)) /=; congr (_ + _).
  rewrite (eq_bigl (fun v => (v \notin take n xs) && (p v <= q v))); last first.
    by move=> v; rewrite /T; case: (v \in take n xs); rewrite ?andbF ?andbT.
  by apply: eq_bigr => v /andP [_ h]; apply/esym/min_idPl.
rewrite (eq_bigl (fun v => (v \notin take n xs) && ~~ (p v <= q v))); last first.
  by move=> v; rewrite /T negb_or.
by apply: eq_bigr => v /andP [_]; rewrite -ltNge => /ltW h; apply/esym/min_idPr.
Qed.
End Bound.
(* acceptance-rrsw: the bound of Theorem 3 holds for rrsw too. *)
Theorem acceptance_rrsw_bound (xs : seq V) (m n : nat) p q : vocabulary xs -> (m < n)%N ->
  dist vs p -> dist vs q -> (forall v, v \in lead xs m -> q v = 0) ->
  acceptance_of vs xs m n q (rrsw vs p q) <=
    \sum_(v | v \in take n xs) p v + \sum_(v | v \notin take n xs) Num.min (p v) (q v).
Proof.
move=> xsP mn dp dq ql; rewrite /acceptance_of -law_of_acceptance.
apply: (optimal_acceptance_bound xsP mn dq ql).
have h := rrsw_layer_rule dp dq (lead xs m) (fills xs m n).
have e y : map fst (survivors xs m n y) = lead xs m ++ y :: fills xs m n y.
  by rewrite /survivors map_cat /= -!map_comp !map_id.
by case: h => l0 l1 lC lp; split=> // y u; rewrite e; exact: lC.
Qed.
(* rheo-versus-rrsw: where rrsw cannot accept more. *)
Section Versus.
Variables (xs : seq V) (m n : nat) (v0 : V).
Hypothesis xsP : vocabulary xs.
Hypothesis mn : (m < n)%N.
Hypothesis nV : (n <= #|V|)%N.
Variables (p q : V -> R).
Hypotheses (dp : dist vs p) (dq : dist vs q).
Hypothesis q_lead : forall v, v \in lead xs m -> q v = 0.
Local Notation accepted rule := (acceptance_of vs xs m n q rule).

Lemma versus_no_lead : m = 0%N -> accepted (rrsw vs p q) = accepted (rheo vs p q).
Proof.
move=> m0; have l0 : lead_mass xs m p = 0.
  by rewrite /lead_mass big_pred0 // => v; rewrite /lead m0 take0.
have pt v : ptilde xs m p v = p v by rewrite /ptilde l0 subr0 divr1 /lead m0 take0.
rewrite (acceptance_rrsw vsP v0 xsP mn nV dp dq q_lead); last by rewrite l0 eq_sym oner_eq0.
rewrite (acceptance_rheo vsP v0 xsP mn nV dp dq q_lead) l0 subr0 mul1r; congr (_ + _ + _ * _).
- by apply: eq_bigr => v _; rewrite mul1r.
- exact: residual_ext.
- by apply: eq_bigr => v _; rewrite pt.
Qed.

Lemma versus_no_fill : n = m.+1 -> accepted (rrsw vs p q) <= accepted (rheo vs p q).
Proof.
move=> e; have s y : survivors xs m n y = lead_and_sampled (lead xs m) y.
  by rewrite /survivors /fills e subnn take0.
have sE rule : accepted rule = tot vs (fun y => q y * acceptance (rule (lead_and_sampled (lead xs m) y))).
  by apply: eq_tot => // y; rewrite s.
rewrite !sE -law_of_acceptance; apply: (optimal_acceptance_rheo dp dq q_lead).
have [l0 l1 lC lp] := rrsw_layer_rule dp dq (lead xs m) (fun _ => [::]).
by split=> // y u h; apply: lC; rewrite mem_cat orbC -mem_cat.
Qed.

Lemma versus_no_other : n = #|V| -> 1 <= accepted (rheo vs p q).
Proof.
move=> e; rewrite (acceptance_rheo vsP v0 xsP mn nV dp dq q_lead).
set T := take n.-1 xs; set x := last_token xs n v0.
have nT v : (v \notin T) = (v == x).
  have : v \in rcons T x.
    have n0 : (n.-1 < size xs)%N by rewrite (size_xs xsP); case: (n) mn nV.
    rewrite /x /last_token /T -take_nth // prednK ?(leq_ltn_trans _ mn) // take_oversize ?(size_xs xsP) ?e //.
    by case: xsP.
  rewrite mem_rcons in_cons; case: eqP => [->|_ /= -> //]; by rewrite (last_not_before v0 xsP mn nV).
have p1 : \sum_(v | v \in T) p v + p x = 1.
  rewrite -(dist_sum vsP dp) [RHS](bigD1 x) //= addrC; congr (_ + _).
  by apply: eq_bigl => v; rewrite -nT negbK.
rewrite (eq_bigl (pred1 x) _ nT) big_pred1_eq; case: (leP (p x) (q x)) => h.
  rewrite p1 ler_addl mulr_ge0 //; first by apply: dist0_ge0; exact: residual_dist0.
  by apply: sumr_ge0 => v _; exact: pos_ge0.
have -> : residual vs p q x * (\sum_(v | v \in T) pos (q v - p v)) = p x - q x.
  rewrite mulrC -[RHS]pos_id ?subr_ge0 1?ltW // -(mass_residual vsP p q x); congr (_ * _).
  rewrite totE // (sum_pos_sym vsP (p := p)); last by case: dp dq => _ -> [_ ->].
  rewrite [RHS](bigD1 x) //= pos_0 ?add0r ?subr_le0 1?ltW //.
  by apply: eq_bigl => v; rewrite -nT negbK.
by rewrite -addrA [q x + _]addrC subrK p1.
Qed.

Lemma rrsw_le1 : n = #|V| -> accepted (rrsw vs p q) <= 1.
Proof.
move=> e; apply: le_trans (acceptance_rrsw_bound xsP mn dp dq q_lead) _.
have tk : take n xs = xs by rewrite take_oversize // (size_xs xsP) e.
rewrite tk [X in _ + X]big_pred0 ?addr0 => [|v]; last by case: xsP => _ ->.
by rewrite (eq_bigl xpredT) ?(dist_sum vsP dp) // => v; case: xsP => _ ->.
Qed.

(* rheo-versus-rrsw: rheo accepts at least what rrsw does, unless there are a lead, a fill, and a token that is no
   candidate; *)
Theorem rheo_at_least_rrsw : [|| m == 0%N, n == m.+1 | n == #|V|] ->
  accepted (rrsw vs p q) <= accepted (rheo vs p q).
Proof.
case/or3P => /eqP e; first by rewrite versus_no_lead.
- exact: versus_no_fill.
- exact: le_trans (rrsw_le1 e) (versus_no_other e).
Qed.

(* so on up to three tokens always. *)
Theorem rheo_at_least_rrsw_up_to_three : (#|V| <= 3)%N -> accepted (rrsw vs p q) <= accepted (rheo vs p q).
Proof.
move=> v3; apply: rheo_at_least_rrsw; case: posnP => //= m0; have [//|nm /=] := eqVneq n m.+1.
have lt : (m.+1 < n)%N by rewrite ltn_neqAle eq_sym nm mn.
by rewrite eqn_leq nV (leq_trans v3) // (leq_trans _ lt).
Qed.
End Versus.
End Optimum.
