(* Copyright: the rheo_verify authors. SPDX-License-Identifier: Apache-2.0

   Verification at one context: the published steps of the rules, their exact laws, and that the layer emits
   the target p (claim layer-lossless). *)
From mathcomp Require Import all_ssreflect all_algebra.
From RheoVerify Require Import Probability.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.Theory.
Local Open Scope ring_scope.

Section Rules.
Variables (R : realFieldType) (V : finType) (vs : seq V).
Implicit Types (p q r : V -> R) (u v y : V) (us : seq V).

(* What a layer does: accept a candidate and descend, (true, u), or emit a fresh token and stop, (false, v). *)
Definition outcome := (bool * V)%type.
(* A surviving candidate: its token, and whether it sits in the sampled slot. *)
Definition cand := (V * bool)%type.
Implicit Types (cs : seq cand) (f : outcome -> R).

Definition residual p q := nrm vs (fun v => pos (p v - q v)).
Definition accept p q y : R := Num.min 1 (p y / q y).

(* Deterministic candidates, one after another, against r. *)
Fixpoint det r us : prog R V outcome :=
  if us is u :: us' then Coin (r u) (Ret (true, u)) (det (nrm vs (zero r u)) us')
  else Draw r (fun v => Ret (false, v)).

Definition sampled cs := [seq c.1 | c <- cs & c.2].
Definition others cs := [seq c.1 | c <- cs & ~~ c.2].

(* Algorithm 1 of the paper: the sampled candidate first, then the others against the residual. *)
Definition rheo p q cs : prog R V outcome :=
  if sampled cs is y :: _ then Coin (accept p q y) (Ret (true, y)) (det (residual p q) (others cs))
  else det p (others cs).

(* Recursive rejection without replacement: strictly in slot order. *)
Fixpoint rrsw r q cs : prog R V outcome := match cs with
  | (u, false) :: cs' => Coin (r u) (Ret (true, u)) (rrsw (nrm vs (zero r u)) q cs')
  | (y, true) :: cs' => Coin (accept r q y) (Ret (true, y)) (rrsw (residual r q) q cs')
  | [::] => Draw r (fun v => Ret (false, v))
  end.

(* Pure top-K: every candidate is deterministic. *)
Definition topk p cs := det p (map fst cs).

(* The probability of emitting v, of descending into u, of accepting anything. *)
Definition emits v (o : outcome) : R := (o.2 == v)%:R.
Definition enters u (o : outcome) : R := (o == (true, u))%:R.
Definition accepts (o : outcome) : R := o.1%:R.

Lemma sampled_cat cs cs' : sampled (cs ++ cs') = sampled cs ++ sampled cs'.
Proof. by rewrite /sampled filter_cat map_cat. Qed.

Lemma others_cat cs cs' : others (cs ++ cs') = others cs ++ others cs'.
Proof. by rewrite /others filter_cat map_cat. Qed.

Lemma sampled_det us : sampled [seq (u, false) | u <- us] = [::].
Proof. by elim: us. Qed.

Lemma others_det us : others [seq (u, false) | u <- us] = us.
Proof. by elim: us => //= u us; rewrite /others /= => ->. Qed.

(* ---- laws ---- *)
Hypothesis vsP : vocabulary vs.

Lemma sum_enters r (b : pred V) u : \sum_v r v * enters u (b v, v) = r u * (b u)%:R.
Proof.
rewrite (bigD1 u) //= /enters xpair_eqE eqxx andbT big1 ?addr0; first by case: (b u).
by move=> v /negbTE vu; rewrite xpair_eqE vu andbF mulr0.
Qed.

Lemma residual_dist0 p q : dist0 vs (residual p q).
Proof. by apply: nrm_dist0 => // v; exact: pos_ge0. Qed.

Lemma mass_residual p q v :
  tot vs (fun v => pos (p v - q v)) * residual p q v = pos (p v - q v).
Proof. by apply: nrm_mul => // w; exact: pos_ge0. Qed.

Lemma residual_ext p p' q : p =1 p' -> residual p q =1 residual p' q.
Proof. by move=> e; apply: nrm_ext => // v; rewrite e. Qed.

(* probability of drawing y and accepting it *)
Lemma accept_mul p q y : 0 <= p y -> 0 <= q y -> q y * accept p q y = Num.min (p y) (q y).
Proof.
move=> p0 q0; rewrite /accept; have [z|nz] := eqVneq (q y) 0.
  by rewrite z mul0r (min_idPr _).
by rewrite minr_pmulr // mulr1 mulrCA mulfV // mulr1 minC.
Qed.

(* probability of drawing y and rejecting it *)
Lemma reject_mul p q y : 0 <= p y -> 0 <= q y -> q y * (1 - accept p q y) = pos (q y - p y).
Proof.
move=> p0 q0; rewrite mulrBr mulr1 accept_mul //; apply/eqP.
by rewrite subr_eq addrC minC min_pos.
Qed.

Lemma tot_zero r u : tot vs r = 1 -> tot vs (zero r u) = 1 - r u.
Proof.
rewrite !totE // => r1; apply/eqP; rewrite eq_sym subr_eq -r1.
rewrite (bigD1 u) //= [X in _ == X + _](bigD1 u) //= /zero eqxx add0r addrC.
by apply/eqP; congr (_ + _); apply: eq_bigr => v /negbTE ->.
Qed.

Lemma det_ext r r' us f : r =1 r' -> E vs (det r us) f = E vs (det r' us) f.
Proof.
elim: us r r' => [|u us IH] r r' e /=; first by apply: eq_tot => // v; rewrite e.
rewrite e; congr (_ + _ * _); apply: IH; apply: nrm_ext => // v.
by rewrite /zero e.
Qed.

(* In effect one draw from r, accepted if it is a candidate; the order of the candidates is immaterial. *)
Lemma det_law r us f : dist0 vs r -> E vs (det r us) f = \sum_v r v * f (v \in us, v).
Proof.
elim: us r => [|u us IH] r dr /=; first by rewrite totE.
rewrite IH; last first.
  apply: nrm_dist0 => // v; rewrite /zero; case: eqP => // _; exact: dist0_ge0 dr.
have zz v : (1 - r u) * nrm vs (zero r u) v = zero r u v.
  case: dr => [dr|r0]; last by rewrite /nrm /zero !r0; case: eqP => _; rewrite mul0r mulr0.
  rewrite -tot_zero; last by case: dr.
  apply: nrm_mul => // w; rewrite /zero; case: eqP => // _; by case: dr.
rewrite mulr_sumr; under eq_bigr do rewrite mulrA zz.
rewrite [RHS](bigD1 u) //= in_cons eqxx; congr (_ + _).
rewrite (bigD1 u) //= /zero eqxx mul0r add0r; apply: eq_bigr => v vu.
by rewrite (negbTE vu) in_cons (negbTE vu).
Qed.

Lemma topk_law p cs f : dist vs p -> E vs (topk p cs) f = \sum_v p v * f (v \in map fst cs, v).
Proof. by move=> dp; rewrite /topk det_law //; left. Qed.

Lemma rheo_law0 p q cs f : dist vs p -> sampled cs = [::] ->
  E vs (rheo p q cs) f = \sum_v p v * f (v \in others cs, v).
Proof. by move=> dp e; rewrite /rheo e det_law //; left. Qed.

Lemma rheo_law1 p q cs y f : sampled cs = [:: y] ->
  E vs (rheo p q cs) f = accept p q y * f (true, y)
    + (1 - accept p q y) * \sum_v residual p q v * f (v \in others cs, v).
Proof. by move=> e; rewrite /rheo e /= det_law //; exact: residual_dist0. Qed.

(* The law of rheo on average over the sampled token; other candidates and what is looked at may depend on it. *)
Lemma rheo_law p q (cs : V -> seq cand) (f : V -> outcome -> R) : dist vs p -> dist vs q ->
  (forall y, q y != 0 -> sampled (cs y) = [:: y]) ->
  \sum_y q y * E vs (rheo p q (cs y)) (f y) =
    \sum_y Num.min (p y) (q y) * f y (true, y)
    + \sum_y pos (q y - p y) * \sum_v residual p q v * f y (v \in others (cs y), v).
Proof.
move=> dp dq hs; rewrite -big_split /=; apply: eq_bigr => y _.
have p0 : 0 <= p y by case: dp.
have q0 : 0 <= q y by case: dq.
have [z|nz] := eqVneq (q y) 0.
  by rewrite -(accept_mul p0 q0) -(reject_mul p0 q0) z !mul0r addr0.
by rewrite (rheo_law1 _ _ _ (hs y nz)) mulrDr !mulrA accept_mul // reject_mul.
Qed.

(* Drawing from q, testing, and drawing from the residual on rejection gives p. *)
Lemma min_residual p q v : dist vs p -> dist vs q ->
  Num.min (p v) (q v) + (\sum_y pos (q y - p y)) * residual p q v = p v.
Proof.
move=> dp dq; rewrite -(sum_pos_sym vsP (p := p)); last by case: dp dq => _ -> [_ ->].
by rewrite -(totE vsP) mass_residual // min_pos.
Qed.

(* ---- recursive rejection ---- *)
Lemma rrsw_ext r r' q cs f : r =1 r' -> E vs (rrsw r q cs) f = E vs (rrsw r' q cs) f.
Proof.
elim: cs r r' => [|[u []] cs IH] r r' e /=; first by apply: eq_tot => // v; rewrite e.
- by rewrite /accept e; congr (_ + _ * _); apply: IH; apply: residual_ext.
- rewrite e; congr (_ + _ * _); apply: IH; apply: nrm_ext => // v; by rewrite /zero e.
Qed.

Lemma rrsw_det r q cs f : sampled cs = [::] -> E vs (rrsw r q cs) f = E vs (det r (others cs)) f.
Proof. by elim: cs r => [//|[u []] cs IH] r //= e; rewrite IH. Qed.

Lemma rrsw_law0 p q cs f : dist vs p -> sampled cs = [::] ->
  E vs (rrsw p q cs) f = \sum_v p v * f (v \in others cs, v).
Proof. by move=> dp e; rewrite rrsw_det // det_law //; left. Qed.

(* What is left of r when the candidates of a set have been rejected. *)
Definition off r (b : pred V) : V -> R := fun v => if b v then 0 else r v.
Definition left_after r b := nrm vs (off r b).
Definition mass r (b : pred V) : R := \sum_(v | b v) r v.

Lemma off_ge0 r b v : (forall v, 0 <= r v) -> 0 <= off r b v.
Proof. by move=> h; rewrite /off; case: ifP. Qed.

Lemma tot_off r b : tot vs r = 1 -> tot vs (off r b) = 1 - mass r b.
Proof.
rewrite !totE // => r1; apply/eqP; rewrite eq_sym subr_eq -r1; apply/eqP.
have -> : \sum_v off r b v = \sum_(v | ~~ b v) r v.
  rewrite (bigID b) /= big1 ?add0r; last by move=> v h; rewrite /off h.
  by apply: eq_bigr => v /negbTE h; rewrite /off h.
by rewrite (bigID b) /= addrC.
Qed.

Lemma left_mul r b v : dist vs r -> (1 - mass r b) * left_after r b v = off r b v.
Proof.
case=> r0 r1; rewrite -tot_off // nrm_mul // => w; exact: off_ge0.
Qed.

Lemma left_dist r b : dist vs r -> mass r b != 1 -> dist vs (left_after r b).
Proof.
case=> r0 r1 a1; split=> [v|].
  rewrite /left_after /nrm divr_ge0 ?off_ge0 // totE // sumr_ge0 // => w _; exact: off_ge0.
by rewrite totE // /left_after /nrm -mulr_suml -(totE vsP) tot_off // mulfV // subr_eq0 eq_sym.
Qed.

Lemma left_eq r b v : dist vs r -> mass r b != 1 ->
  left_after r b v = off r b v / (1 - mass r b).
Proof. by case=> _ r1 _; rewrite /left_after /nrm tot_off. Qed.

Lemma mass_le1 r b : dist vs r -> mass r b <= 1.
Proof.
move=> dr; rewrite -(dist_sum vsP dr) [X in _ <= X](bigID b) /= ler_addl.
by apply: sumr_ge0 => v _; case: dr.
Qed.

Lemma mass1_off r b v : dist vs r -> mass r b = 1 -> ~~ b v -> r v = 0.
Proof.
move=> dr a1 nb; have := dist_sum vsP dr.
rewrite (bigID b) /= -/(mass r b) a1 -[RHS]addr0 => /addrI /eqP.
rewrite psumr_eq0; last by move=> w _; case: dr.
by move=> /allP /(_ v (mem_index_enum v)); rewrite nb /= => /eqP.
Qed.

Lemma mass_ext r (b b' : pred V) : b =1 b' -> mass r b = mass r b'.
Proof. by move=> e; apply: eq_bigl. Qed.

Lemma mass_cons r u us : r u * 1 + mass (zero r u) (mem us) = mass r (mem (u :: us)).
Proof.
rewrite mulr1 /mass [RHS](bigD1 u) /=; last by rewrite in_cons eqxx.
congr (_ + _); rewrite [RHS](eq_bigl (fun v => (v \in us) && (v != u))); last first.
  by move=> v; rewrite /= ?inE ?in_cons; case: (v == u); rewrite ?andbF ?andbT.
rewrite (bigID (fun v => v == u)) /= big1 ?add0r; last first.
  by move=> v /andP [_ /eqP ->]; rewrite /zero eqxx.
by apply: eq_bigr => v /andP [_ /negbTE h]; rewrite /zero h.
Qed.

Lemma zero_off r u : zero r u =1 off r (pred1 u). Proof. by []. Qed.

(* Deterministic candidates first: each is accepted with its own probability, then the rule goes on with
   what is left. *)
Lemma rrsw_lead p q us cs f : dist vs p ->
  E vs (rrsw p q ([seq (u, false) | u <- us] ++ cs)) f =
    \sum_(v | v \in us) p v * f (true, v)
    + (1 - mass p (mem us)) * E vs (rrsw (left_after p (mem us)) q cs) f.
Proof.
elim: us p => [|u us IH] p dp /=.
  rewrite big_pred0 // add0r /mass big_pred0 // subr0 mul1r.
  apply: rrsw_ext => v; rewrite /left_after /nrm.
  have -> : tot vs (off p (mem [::])) = tot vs p by apply: eq_tot.
  by case: dp => _ ->; rewrite divr1.
have [pu1|pu1] := eqVneq (p u) 1.
  have z v : v != u -> p v = 0 by exact: (dist_one vsP dp pu1).
  have m1 : mass p (mem (u :: us)) = 1.
    rewrite /mass (bigD1 u) /= ?in_cons ?eqxx // pu1 big1 ?addr0 // => v /andP [_]; exact: z.
  rewrite m1 pu1 !subrr !mul0r !addr0 mul1r (bigD1 u) /= ?in_cons ?eqxx // pu1 mul1r.
  by rewrite big1 ?addr0 // => v /andP [_ h]; rewrite (z _ h) mul0r.
set r1 := nrm vs (zero p u).
have mu : mass p (pred1 u) = p u by rewrite /mass big_pred1_eq.
have d1 : dist vs r1 by apply: left_dist; rewrite // mu.
have r1E v : (1 - p u) * r1 v = zero p u v by rewrite -mu; apply: left_mul.
have nz : 1 - p u != 0 by rewrite subr_eq0 eq_sym.
rewrite IH // mulrDr addrA; congr (_ + _).
- rewrite [RHS](bigD1 u) /= ?in_cons ?eqxx //; congr (_ + _).
  rewrite mulr_sumr [RHS](eq_bigl (fun v => (v \in us) && (v != u))); last first.
    by move=> v; rewrite /= ?inE ?in_cons; case: (v == u); rewrite ?andbF ?andbT.
  rewrite (bigID (fun v => v == u)) /= big1 ?add0r; last first.
    by move=> v /andP [_ /eqP ->]; rewrite mulrA r1E /zero eqxx mul0r.
  by apply: eq_bigr => v /andP [_ /negbTE h]; rewrite mulrA r1E /zero h.
have mE : (1 - p u) * mass r1 (mem us) = mass (zero p u) (mem us).
  by rewrite /mass mulr_sumr; apply: eq_bigr => v _; rewrite r1E.
have mm : (1 - p u) * (1 - mass r1 (mem us)) = 1 - mass p (mem (u :: us)).
  by rewrite mulrBr mE mulr1 -mass_cons mulr1 opprD addrA.
rewrite mulrA mm.
have [->|m1] := eqVneq (mass p (mem (u :: us))) 1; first by rewrite subrr !mul0r.
congr (_ * _); apply: rrsw_ext => v.
have m1' : mass r1 (mem us) != 1.
  apply: contra m1 => /eqP e; by rewrite -subr_eq0 -opprB -mm e subrr mulr0 oppr0.
rewrite !left_eq // -mm invfM mulrA; congr (_ / _).
rewrite /off /= ?inE ?in_cons; case: (v \in us); first by rewrite orbT mul0r.
by rewrite orbF; move: (r1E v); rewrite /zero; case: eqP => _ <-; rewrite mulrC ?mulKf.
Qed.

(* The law of rrsw for given candidates: us before the sampled y, then cs. *)
Lemma rrsw_law1 p q us y cs f : dist vs p -> sampled cs = [::] ->
  E vs (rrsw p q ([seq (u, false) | u <- us] ++ (y, true) :: cs)) f =
    \sum_(v | v \in us) p v * f (true, v) + (1 - mass p (mem us)) *
     (accept (left_after p (mem us)) q y * f (true, y)
      + (1 - accept (left_after p (mem us)) q y) *
         \sum_v residual (left_after p (mem us)) q v * f (v \in others cs, v)).
Proof.
move=> dp e; rewrite rrsw_lead //=; congr (_ + _ * (_ + _ * _)).
by rewrite rrsw_det // det_law //; exact: residual_dist0.
Qed.

(* ... and on average over the sampled token, the candidates before it being fixed before the draw. *)
Lemma rrsw_law p q us (cs : V -> seq cand) (f : V -> outcome -> R) : dist vs p -> dist vs q ->
  (forall y, q y != 0 -> sampled (cs y) = [::]) ->
  let b := left_after p (mem us) in
  \sum_y q y * E vs (rrsw p q ([seq (u, false) | u <- us] ++ (y, true) :: cs y)) (f y) =
    \sum_y q y * (\sum_(v | v \in us) p v * f y (true, v))
    + (1 - mass p (mem us)) *
     (\sum_y Num.min (b y) (q y) * f y (true, y)
      + \sum_y pos (q y - b y) * \sum_v residual b q v * f y (v \in others (cs y), v)).
Proof.
move=> dp dq hs b.
transitivity (\sum_y (q y * (\sum_(v | v \in us) p v * f y (true, v)) + (1 - mass p (mem us)) *
   (Num.min (b y) (q y) * f y (true, y)
    + pos (q y - b y) * \sum_v residual b q v * f y (v \in others (cs y), v)))); last first.
  by rewrite big_split -mulr_sumr big_split.
apply: eq_bigr => y _.
have q0 : 0 <= q y by case: dq.
have b0 : 0 <= b y.
  rewrite /b /left_after /nrm divr_ge0 ?off_ge0 //; first by case: dp.
  rewrite totE // sumr_ge0 // => v _; apply: off_ge0; by case: dp.
have [z|nz] := eqVneq (q y) 0.
  by rewrite -(accept_mul b0 q0) -(reject_mul b0 q0) z !(mul0r, addr0, mulr0).
rewrite rrsw_law1 ?hs // mulrDr; congr (_ + _).
rewrite mulrCA; congr (_ * _); rewrite mulrDr !mulrA.
by rewrite accept_mul // reject_mul.
Qed.

(* ================= layer-lossless ================= *)

(* layer-lossless, rheo, a deterministic candidate (paper C.3, case 1): adding one anywhere in the list changes
   no token's probability, whether or not the sampled slot survives. *)
Theorem layer_lossless_rheo_det p q pre post u v : dist vs p ->
  (size (sampled (pre ++ post)) <= 1)%N ->
  E vs (rheo p q (pre ++ (u, false) :: post)) (emits v) = E vs (rheo p q (pre ++ post)) (emits v).
Proof.
have e : sampled (pre ++ (u, false) :: post) = sampled (pre ++ post).
  by rewrite /sampled !filter_cat.
case s: (sampled (pre ++ post)) => [|y [|//]] dp _.
- rewrite !rheo_law0 ?e ?s //; exact: eq_bigr.
- rewrite !(rheo_law1 _ _ _ (y := y)) ?e ?s //.
Qed.

(* layer-lossless, rheo, no surviving sampled slot: the layer emits p. *)
Theorem layer_lossless_rheo_none p q cs v : dist vs p -> sampled cs = [::] ->
  E vs (rheo p q cs) (emits v) = p v.
Proof. by move=> dp e; rewrite rheo_law0 // sum_at'. Qed.

(* layer-lossless, rheo, the sampled candidate (paper C.3, case 2): for any candidate lists, which may depend on
   the sampled token, the layer emits p on average over the draw. *)
Theorem layer_lossless_rheo p q (cs : V -> seq cand) v : dist vs p -> dist vs q ->
  (forall y, q y != 0 -> sampled (cs y) = [:: y]) ->
  tot vs (fun y => q y * E vs (rheo p q (cs y)) (emits v)) = p v.
Proof.
move=> dp dq hs; rewrite totE // rheo_law // sum_at'.
under eq_bigr do rewrite sum_at'.
by rewrite -mulr_suml min_residual.
Qed.

(* layer-lossless, rrsw, no surviving sampled slot. *)
Theorem layer_lossless_rrsw_none p q cs v : dist vs p -> sampled cs = [::] ->
  E vs (rrsw p q cs) (emits v) = p v.
Proof. by move=> dp e; rewrite rrsw_law0 // sum_at'. Qed.

(* layer-lossless, rrsw: the candidates us before the sampled one are fixed before the draw, those after it may
   depend on it; on average over the draw the layer emits p. *)
Theorem layer_lossless_rrsw p q us (cs : V -> seq cand) v : dist vs p -> dist vs q ->
  (forall y, q y != 0 -> sampled (cs y) = [::]) ->
  tot vs (fun y => q y * E vs (rrsw p q ([seq (u, false) | u <- us] ++ (y, true) :: cs y)) (emits v)) = p v.
Proof.
move=> dp dq hs; rewrite totE // rrsw_law // -mulr_suml (dist_sum vsP dq) mul1r.
under [X in _ * (_ + X)]eq_bigr do rewrite sum_at'.
rewrite sum_at' -mulr_suml; have [a1|a1] := eqVneq (mass p (mem us)) 1.
  rewrite a1 subrr mul0r addr0.
  case vu: (v \in us).
    rewrite (bigD1 v) //= /emits eqxx mulr1 big1 ?addr0 // => w /andP [_ /negbTE ->]; by rewrite mulr0.
  rewrite (mass1_off (v := v) dp a1) ?inE ?vu // big1 // => w wu.
  by rewrite /emits /=; case: eqP wu => [->|]; rewrite ?vu // mulr0.
rewrite min_residual //; last exact: left_dist.
rewrite left_mul // /off inE; case: ifP => vu.
  rewrite addr0 (bigD1 v) //= /emits eqxx mulr1 big1 ?addr0 // => w /andP [_ /negbTE ->]; by rewrite mulr0.
rewrite big1 ?add0r // => w wu.
by rewrite /emits /=; case: eqP wu => [->|]; rewrite ?vu // mulr0.
Qed.

(* layer-lossless, rrsw, a deterministic candidate after the sampled one changes nothing, for each draw. *)
Theorem layer_lossless_rrsw_det p q us y pre post u v : dist vs p -> sampled (pre ++ post) = [::] ->
  E vs (rrsw p q ([seq (u, false) | u <- us] ++ (y, true) :: pre ++ (u, false) :: post)) (emits v) =
  E vs (rrsw p q ([seq (u, false) | u <- us] ++ (y, true) :: pre ++ post)) (emits v).
Proof.
move=> dp e; have e' : sampled (pre ++ (u, false) :: post) = [::].
  by rewrite -e /sampled !filter_cat.
by rewrite !rrsw_law1.
Qed.

(* layer-lossless, topk: lossless whatever the candidates and however they were chosen. *)
Theorem layer_lossless_topk p cs v : dist vs p -> E vs (topk p cs) (emits v) = p v.
Proof. by move=> dp; rewrite topk_law // sum_at'. Qed.
End Rules.
