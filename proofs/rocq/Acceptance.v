(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   How often a layer accepts: closed forms (acceptance-rheo, acceptance-rrsw), single-draft-rates,
   top-k-imperfect. *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability Layer.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

(* Taking k from a list without y: y's place is taken by the next one. *)
Lemma take_without (T : eqType) (y : T) k s : uniq s ->
  take k [seq v <- s | v != y] = [seq v <- take (k + (y \in take k s)) s | v != y].
Proof.
elim: s k => [|x s IH] [|k] // /= /andP [xs us]; first by rewrite take0.
have [e|xy] := eqVneq x y.
  have -> : y \in x :: take k s by rewrite inE e eqxx.
  rewrite /= -[(k + true)%Nrec]/(k + 1)%N addn1 -e.
  have h t : {subset t <= s} -> [seq v <- t | v != x] = t.
    move=> ts; apply/all_filterP/allP => v /ts vs; by apply: contraNneq xs => <-.
  by rewrite !h //; exact: mem_take.
by rewrite inE eq_sym (negbTE xy) /=; congr (_ :: _); exact: IH.
Qed.

Section Acceptance.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Hypothesis vsP : vocabulary vs.
Implicit Types (p q b : V -> R) (u v y : V) (us : seq V).

Local Notation acceptance c := (E vs c (@accepts R V)).

(* ---- the survivors when n candidates of a pool survive: x_1 ... x_m, the sampled y, the first fills ---- *)
Section Pool.
Variables (xs : seq V) (m n : nat) (v0 : V).
Hypothesis xsP : vocabulary xs.   (* the vocabulary in rank order *)
Hypothesis mn : (m < n)%N.
Hypothesis nV : (n <= #|V|)%N.

Definition lead := take m xs.
Definition fills y := take (n - m.+1) [seq v <- drop m xs | v != y].
Definition survivors y : seq (cand V) :=
  [seq (u, false) | u <- lead] ++ (y, true) :: [seq (u, false) | u <- fills y].
Definition last_token := nth v0 xs n.-1.  (* x_n *)

Lemma size_xs : size xs = #|V|.
Proof.
case: xsP => u a; rewrite cardT; apply: perm_size.
by apply: uniq_perm; rewrite ?enum_uniq // => v; rewrite a mem_enum.
Qed.

Lemma sampled_survivors y : sampled (survivors y) = [:: y].
Proof. by rewrite sampled_cat sampled_det /sampled /= -/(sampled _) sampled_det. Qed.

Lemma others_survivors y : others (survivors y) = lead ++ fills y.
Proof. by rewrite others_cat others_det /others /= -/(others _) others_det. Qed.

Lemma mem_fills v y : y \notin lead ->
  (v \in fills y) = [&& v != y, v \notin lead & v \in take (n.-1 + (y \in take n.-1 xs)) xs].
Proof.
case: (xsP) => u _ yl; rewrite /fills take_without ?drop_uniq // mem_filter; congr (_ && _).
have e : n.-1 = (m + (n - m.+1))%N by case: (n) mn => // k h; rewrite subSS subnKC.
have ye : (y \in take (n - m.+1) (drop m xs)) = (y \in take n.-1 xs).
  by rewrite e takeD mem_cat -/lead (negbTE yl).
rewrite ye; set j := (n - m.+1 + (y \in take n.-1 xs))%N.
have -> : (n.-1 + (y \in take n.-1 xs) = m + j)%N by rewrite /j {1}e addnA.
rewrite takeD mem_cat -/lead; case vl: (v \in lead) => //=.
apply/negP => vt; have := u; rewrite -(cat_take_drop m xs) cat_uniq => /and3P [_ /hasP h _].
by apply: h; exists v => //; exact: mem_take vt.
Qed.

Lemma mem_take_n v y : (v \in take (n.-1 + (y \in take n.-1 xs)) xs) =
  (v \in take n.-1 xs) || (y \in take n.-1 xs) && (v == last_token).
Proof.
case: (y \in _); last by rewrite addn0 orbF.
rewrite addn1 (take_nth v0) ?mem_rcons ?in_cons ?andTb 1?orbC //.
by rewrite size_xs; case: (n) mn nV.
Qed.

Lemma last_not_before : last_token \notin take n.-1 xs.
Proof.
case: (xsP) => u _; have h : (n.-1 < size xs)%N by rewrite size_xs; case: (n) mn nV.
by rewrite in_take_leq ?(ltnW h) // /last_token index_uniq // ltnn.
Qed.

Lemma lead_before v : v \in lead -> v \in take n.-1 xs.
Proof.
rewrite /lead => h; have : (m <= n.-1)%N by case: (n) mn.
by move=> /subnKC <-; rewrite takeD mem_cat h.
Qed.

(* The sum common to both rules. *)
Lemma accept_sum b q (C : V -> pred V) : dist vs b -> dist vs q ->
  (forall y v, q y != 0 -> residual vs b q v != 0 -> v != y ->
     C y v = (v \in take (n.-1 + (y \in take n.-1 xs)) xs)) ->
  \sum_y Num.min (b y) (q y)
    + \sum_y pos (q y - b y) * (\sum_v residual vs b q v * (C y v)%:R) =
  \sum_(v | v \in take n.-1 xs) b v + \sum_(v | v \notin take n.-1 xs) Num.min (b v) (q v)
    + residual vs b q last_token * (\sum_(v | v \in take n.-1 xs) pos (q v - b v)).
Proof.
move=> db dq hC; set r := residual vs b q; set T := take n.-1 xs.
have inner y : pos (q y - b y) * (\sum_v r v * (C y v)%:R) =
    pos (q y - b y) * (\sum_(v | v \in T) r v) + (y \in T)%:R * (pos (q y - b y) * r last_token).
  have [z|nz] := eqVneq (pos (q y - b y)) 0; first by rewrite z !mul0r mulr0 addr0.
  have qb : 0 < q y - b y.
    by rewrite ltNge; apply/negP => h; move: nz; rewrite pos_0 ?eqxx.
  have q0 : q y != 0.
    apply/eqP => z; move: qb; rewrite z sub0r oppr_gt0 ltNge; case: db => ->; by [].
  have ry : r y = 0.
    by rewrite /r /residual /nrm pos_0 ?mul0r // -oppr_ge0 opprB ltW.
  rewrite mulrCA -mulrDr; congr (_ * _).
  transitivity (\sum_v r v * ((v \in T) || (y \in T) && (v == last_token))%:R).
    apply: eq_bigr => v _; have [->|rv] := eqVneq (r v) 0; first by rewrite !mul0r.
    rewrite hC // ?mem_take_n //; by apply: contraNneq rv => ->; rewrite ry.
  rewrite (bigID (mem T)) /=; congr (_ + _).
    by apply: eq_bigr => v ->; rewrite mulr1.
  case: (y \in T); last first.
    by rewrite mul0r big1 // => v /negbTE ->; rewrite mulr0.
  rewrite mul1r (bigD1 last_token) ?last_not_before //= (negbTE last_not_before) eqxx mulr1.
  by rewrite big1 ?addr0 // => v /andP [/negbTE -> /negbTE ->]; rewrite mulr0.
under [X in _ + X]eq_bigr do rewrite inner.
rewrite big_split /= -mulr_suml.
have -> : (\sum_y pos (q y - b y)) * (\sum_(v | v \in T) r v) = \sum_(v | v \in T) pos (b v - q v).
  rewrite mulr_sumr; apply: eq_bigr => v _.
  rewrite -(sum_pos_sym vsP (p := b)) -?(totE vsP); last by case: db dq => _ -> [_ ->].
  exact: mass_residual.
rewrite addrA; congr (_ + _); last first.
  rewrite (bigID (mem T)) /= [X in _ + X]big1 ?addr0; last by move=> v /negbTE ->; rewrite mul0r.
  by rewrite mulr_sumr; apply: eq_bigr => v ->; rewrite mul1r mulrC.
rewrite (bigID (mem T)) /= addrAC -big_split /=; congr (_ + _).
by apply: eq_bigr => v _; rewrite min_pos.
Qed.

Variables (p q : V -> R).
Hypotheses (dp : dist vs p) (dq : dist vs q).
Hypothesis q_lead : forall v, v \in lead -> q v = 0.

Lemma notin_lead y : q y != 0 -> y \notin lead.
Proof. by apply: contraNN => /q_lead ->. Qed.

Definition acceptance_of (rule : seq (cand V) -> prog R V (outcome V)) : R :=
  tot vs (fun y => q y * acceptance (rule (survivors y))).

(* acceptance-rheo (paper Theorem 3, the equality): all n candidates survive, m < n. *)
Theorem acceptance_rheo :
  acceptance_of (rheo vs p q) =
    \sum_(v | v \in take n.-1 xs) p v + \sum_(v | v \notin take n.-1 xs) Num.min (p v) (q v)
    + residual vs p q last_token * (\sum_(v | v \in take n.-1 xs) pos (q v - p v)).
Proof.
rewrite /acceptance_of totE // (rheo_law vsP (fun _ => @accepts R V)) //; last first.
  by move=> y _; exact: sampled_survivors.
rewrite -(accept_sum (C := fun y v => v \in others (survivors y))) //.
  by congr (_ + _); apply: eq_bigr => y _; rewrite mulr1.
move=> y v qy _ vy; rewrite others_survivors mem_cat (mem_fills _ (notin_lead qy)) vy /=.
case vl: (v \in lead) => //=; rewrite mem_take_n.
by rewrite (lead_before vl).
Qed.

(* acceptance-rheo (paper Theorem 3, the bound). *)
Theorem acceptance_rheo_bound :
  acceptance_of (rheo vs p q) <=
    \sum_(v | v \in take n xs) p v + \sum_(v | v \notin take n xs) Num.min (p v) (q v).
Proof.
rewrite acceptance_rheo; set T := take n.-1 xs; set x := last_token.
have nT v : (v \in take n xs) = (v \in T) || (v == x).
  have {1}-> : n = n.-1.+1 by case: (n) mn.
  rewrite (take_nth v0) ?mem_rcons ?in_cons 1?orbC //.
  by rewrite size_xs; case: (n) mn nV.
rewrite [X in _ <= X + _](bigD1 x) /=; last by rewrite nT eqxx orbT.
rewrite [X in _ <= _ + X + _](eq_bigl (fun v => v \in T)); last first.
  move=> v; rewrite nT; have [->|] := eqVneq v x; rewrite ?orbF ?andbT //.
  by rewrite orbT /= (negbTE last_not_before).
rewrite [X in X + _ <= _](_ : _ = \sum_(v | v \in T) p v + (Num.min (p x) (q x) +
   \sum_(v | v \notin take n xs) Num.min (p v) (q v))); last first.
  congr (_ + _); rewrite (bigD1 x) ?last_not_before //=; congr (_ + _).
  by apply: eq_bigl => v; rewrite nT negb_or.
set A := \sum_(v | v \in T) p v; set B := \sum_(v | v \notin _) _.
set mn' := Num.min (p x) (q x).
have D : residual vs p q x * (\sum_(v | v \in T) pos (q v - p v)) <= p x - mn'.
  have -> : p x - mn' = pos (p x - q x) by apply/eqP; rewrite subr_eq addrC min_pos.
  rewrite -(mass_residual vsP p q x) mulrC ler_wpmul2r //.
    by apply: dist0_ge0; exact: residual_dist0.
  rewrite totE // (sum_pos_sym vsP (p := p)); last by case: dp dq => _ -> [_ ->].
  by rewrite [X in _ <= X](bigID (mem T)) /= ler_addl sumr_ge0 // => v _; exact: pos_ge0.
apply: le_trans (ler_add (lexx _) D) _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
by rewrite (addrC mn' B) (addrA A B) -(addrA (A + B)) (addrC mn') subrK addrC addrA.
Qed.

(* the target given that no lead token is accepted: p / (1 - a) off the lead, 0 on it *)
Definition lead_mass : R := \sum_(v | v \in lead) p v.
Definition ptilde : V -> R := fun v => if v \in lead then 0 else p v / (1 - lead_mass).

(* acceptance-rrsw (paper D.2). *)
Theorem acceptance_rrsw : lead_mass != 1 ->
  acceptance_of (rrsw vs p q) =
    \sum_(v | v \in take n.-1 xs) p v
    + \sum_(v | v \notin take n.-1 xs) Num.min (p v) ((1 - lead_mass) * q v)
    + (1 - lead_mass) * (residual vs ptilde q last_token
        * (\sum_(v | v \in take n.-1 xs) pos (q v - ptilde v))).
Proof.
move=> a1; set a := lead_mass.
have bE v : left_after vs p (mem lead) v = ptilde v.
  rewrite left_eq; [|exact: vsP|exact: dp|exact: a1].
  by rewrite /ptilde /off /=; case: (v \in lead); rewrite ?mul0r.
have db := left_dist vsP dp a1.
have a0 : 0 <= 1 - a by rewrite subr_ge0; apply: mass_le1 dp.
have bl v : v \in lead -> left_after vs p (mem lead) v = 0 by rewrite bE /ptilde => ->.
rewrite /acceptance_of totE // (rrsw_law vsP lead (fun _ => @accepts R V)) //; last first.
  by move=> y _; exact: sampled_det.
rewrite -mulr_suml (dist_sum vsP dq) mul1r -/(mass p (mem lead)) -[mass _ _]/a.
under [X in _ + _ * (X + _)]eq_bigr do rewrite mulr1.
under [X in X + _]eq_bigr do rewrite mulr1.
rewrite (accept_sum (C := fun y v => v \in others [seq (u, false) | u <- fills y])) //; last first.
  move=> y v qy rv vy; rewrite others_det (mem_fills _ (notin_lead qy)) vy /=.
  case vl: (v \in lead) => //=; move: rv; rewrite /residual /nrm bl // sub0r pos_0 ?mul0r ?eqxx //.
  by rewrite oppr_le0; case: dq.
rewrite mulrDr addrA; congr (_ + _); last first.
  congr (_ * (_ * _)); first exact: residual_ext.
  by apply: eq_bigr => v _; rewrite bE.
rewrite mulrDr addrA; congr (_ + _); last first.
  rewrite mulr_sumr; apply: eq_bigr => v vT; rewrite minr_pmulr // left_mul // /off /=.
  by case: ifP => // /lead_before vl; rewrite vl in vT.
rewrite [RHS](bigID (mem lead)) /= {1}/a /lead_mass; congr (_ + _).
  apply: eq_bigl => v; apply/idP/andP => [h|[//]]; split=> //; exact: lead_before.
rewrite mulr_sumr; under eq_bigr do rewrite left_mul // /off /=.
rewrite (bigID (mem lead)) /= big1 ?add0r; last by move=> v /andP [_ ->].
by apply: eq_bigr => v /andP [_ /negbTE ->].
Qed.

(* acceptance-rrsw when the lead carries all of the target. *)
Theorem acceptance_rrsw_one : lead_mass = 1 -> acceptance_of (rrsw vs p q) = 1.
Proof.
move=> a1; rewrite /acceptance_of totE // (rrsw_law vsP lead (fun _ => @accepts R V)) //; last first.
  by move=> y _; exact: sampled_det.
rewrite -[mass _ _]/lead_mass a1 subrr mul0r addr0 -mulr_suml (dist_sum vsP dq) mul1r.
by under eq_bigr do rewrite mulr1.
Qed.
End Pool.

(* acceptance without a surviving sampled slot, for every rule: the target's mass on the candidates. *)
Theorem acceptance_none p q cs : dist vs p -> sampled cs = [::] ->
  [/\ acceptance (rheo vs p q cs) = \sum_(v | v \in others cs) p v,
      acceptance (rrsw vs p q cs) = \sum_(v | v \in others cs) p v
    & acceptance (topk vs p cs) = \sum_(v | v \in map fst cs) p v].
Proof.
move=> dp e; split; rewrite ?rheo_law0 ?rrsw_law0 ?topk_law //.
- by rewrite [RHS]big_mkcond; apply: eq_bigr => v _; rewrite /accepts /=; case: ifP; rewrite ?mulr1 ?mulr0.
- by rewrite [RHS]big_mkcond; apply: eq_bigr => v _; rewrite /accepts /=; case: ifP; rewrite ?mulr1 ?mulr0.
- by rewrite [RHS]big_mkcond; apply: eq_bigr => v _; rewrite /accepts /=; case: ifP; rewrite ?mulr1 ?mulr0.
Qed.

(* ================= single-draft-rates (paper Figure 1) ================= *)
(* one sampled draft: the overlap of target and draft; one deterministic draft x: p(x). *)
Theorem single_draft_rates p q x : dist vs p -> dist vs q ->
  [/\ tot vs (fun y => q y * acceptance (rheo vs p q [:: (y, true)])) = \sum_v Num.min (p v) (q v),
      tot vs (fun y => q y * acceptance (rrsw vs p q [:: (y, true)])) = \sum_v Num.min (p v) (q v)
    & acceptance (topk vs p [:: (x, false)]) = p x].
Proof.
move=> dp dq; split.
- rewrite totE // (rheo_law vsP (fun _ => @accepts R V)) //=.
  under [X in X + _]eq_bigr do rewrite mulr1.
  rewrite [X in _ + X]big1 ?addr0 // => y _.
  by rewrite big1 ?mulr0 // => v _; rewrite mulr0.
- rewrite totE //; apply: eq_bigr => y _ /=; rewrite totE // big1 ?addr0; last by move=> v _; rewrite mulr0.
  rewrite mulr0 addr0 mulr1 accept_mul //; [by case: dp|by case: dq].
- by rewrite /= mulr1 totE // big1 ?mulr0 ?addr0 // => v _; rewrite mulr0.
Qed.

(* ================= top-k-imperfect (paper 2.2) ================= *)
(* pure top-K accepts the mass of the candidates, *)
Theorem top_k_imperfect p cs : dist vs p ->
  acceptance (topk vs p cs) = \sum_(v | v \in map fst cs) p v.
Proof.
move=> dp; rewrite topk_law // [RHS]big_mkcond; apply: eq_bigr => v _.
by rewrite /accepts /=; case: ifP; rewrite ?mulr1 ?mulr0.
Qed.

(* which is below 1 exactly if the support of p is not inside the candidates (whatever q is, so also q = p); *)
Theorem top_k_imperfect_iff p cs : dist vs p ->
  (acceptance (topk vs p cs) < 1) = [exists v, (p v != 0) && (v \notin map fst cs)].
Proof.
move=> dp; rewrite top_k_imperfect // -(dist_sum vsP dp) [X in _ < X](bigID (mem (map fst cs))) /=.
rewrite ltr_addl lt_neqAle eq_sym sumr_ge0 ?andbT; last by move=> v _; case: dp.
rewrite psumr_eq0; last by move=> v _; case: dp.
rewrite -has_predC; apply/hasP/existsP => [[v _]|[v]] /=.
  by rewrite negb_imply andbC => h; exists v.
by move=> h; exists v; rewrite ?mem_index_enum //= negb_imply andbC.
Qed.

(* while with a surviving sampled slot, drafted from q = p off the lead, acceptance is 1 under rheo (whatever
   other candidates there are besides the lead) *)
Theorem top_k_imperfect_rheo p us (cs : V -> seq (cand V)) : dist vs p -> mass p (mem us) != 1 ->
  let q := left_after vs p (mem us) in
  (forall y, q y != 0 -> sampled (cs y) = [:: y]) ->
  (forall y u, q y != 0 -> u \in us -> u \in others (cs y)) ->
  tot vs (fun y => q y * acceptance (rheo vs p q (cs y))) = 1.
Proof.
move=> dp a1 q hs ho; have dq : dist vs q by apply: left_dist.
rewrite totE // (rheo_law vsP (fun _ => @accepts R V)) //.
under [X in X + _]eq_bigr do rewrite mulr1.
have rus v : residual vs p q v != 0 -> v \in us.
  apply: contraNT => nv; rewrite /residual /nrm pos_0 ?mul0r // subr_le0 /q left_eq // /off /= (negbTE nv).
  have p0 : 0 <= p v by case: dp.
  have m0 : 0 < 1 - mass p (mem us) by rewrite subr_gt0 lt_neqAle a1 (mass_le1 vsP _ dp).
  by rewrite ler_pdivl_mulr // ler_pimulr // ler_subl_addl ler_addr sumr_ge0 // => w _; case: dp.
have -> : \sum_y pos (q y - p y) * (\sum_v residual vs p q v * @accepts R V (v \in others (cs y), v))
   = \sum_v pos (p v - q v).
  transitivity ((\sum_y pos (q y - p y)) * (\sum_v residual vs p q v)); last first.
    rewrite mulr_sumr; apply: eq_bigr => v _.
    rewrite -(sum_pos_sym vsP (p := p)) -?(totE vsP); last by case: dp dq => _ -> [_ ->].
    by rewrite mass_residual.
  rewrite mulr_suml; apply: eq_bigr => y _.
  have [z|nz] := eqVneq (q y) 0.
    rewrite pos_0 ?mul0r // z sub0r oppr_le0; by case: dp.
  congr (_ * _); apply: eq_bigr => v _; have [->|rv] := eqVneq (residual vs p q v) 0; first by rewrite !mul0r.
  by rewrite ho ?rus // mulr1.
rewrite -big_split /= -(dist_sum vsP dp); apply: eq_bigr => v _; exact: min_pos.
Qed.

(* ... and under rrsw. *)
Theorem top_k_imperfect_rrsw p us (cs : V -> seq (cand V)) : dist vs p -> mass p (mem us) != 1 ->
  let q := left_after vs p (mem us) in
  (forall y, q y != 0 -> sampled (cs y) = [::]) ->
  tot vs (fun y => q y * acceptance (rrsw vs p q ([seq (u, false) | u <- us] ++ (y, true) :: cs y))) = 1.
Proof.
move=> dp a1 q hs; have dq : dist vs q by apply: left_dist.
rewrite totE // (rrsw_law vsP us (fun _ => @accepts R V)) // -mulr_suml (dist_sum vsP dq) mul1r -/q.
under eq_bigr do rewrite mulr1.
have -> : \sum_y Num.min (q y) (q y) * @accepts R V (true, y) = 1.
  by rewrite -[RHS](dist_sum vsP dq); apply: eq_bigr => v _; rewrite mulr1 minxx.
rewrite [X in _ * (1 + X)]big1 ?addr0 ?mulr1; last by move=> v _; rewrite subrr pos_0 // mul0r.
by rewrite -[mass _ _]/(\sum_(v | v \in us) p v) addrC subrK.
Qed.
End Acceptance.
