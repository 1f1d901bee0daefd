(* What follows up to "Claims" is the same in every certificate of `check`: what paths and rows add up to, over Q. *)
From Coq Require Import QArith List Bool Arith.
Import ListNotations.
Open Scope Q_scope.

(* Fractions in lowest terms, so that numbers stay small. *)
Definition add x y := Qred (x + y).
Definition mul x y := Qred (x * y).
Definition less x y := negb (Qle_bool y x).
Definition distance x y := if Qle_bool x y then Qred (y - x) else Qred (x - y).
Definition total (l : list Q) : Q := fold_right add 0 l.

(* A row: a probability per token. A table: a row per context. None: no row there. *)
Definition row := list Q.
Definition at_ (r : row) (v : nat) : Q := nth v r 0.
Definition tokens_of (r : row) : list nat := seq 0 (length r).
Definition table := list (list nat * row).
Definition is_distribution (vocab : nat) (r : row) : bool :=
  (length r =? vocab)%nat && forallb (Qle_bool 0) r && Qeq_bool (total r) 1.
Fixpoint equal (a b : list nat) : bool := match a, b with
  | [], [] => true | x :: a', y :: b' => (x =? y)%nat && equal a' b' | _, _ => false end.
Definition is_in (v : nat) (l : list nat) : bool := existsb (Nat.eqb v) l.
Definition look (t : table) (c : list nat) : option row := option_map snd (find (fun e => equal (fst e) c) t).

(* One path of the code under test: its probability, the drafts that it was given, what it emitted (None: nothing that
   could be read), and the codes of the contracts that it broke (405 to 410 and 413, in docs/codes). *)
Record path := Path { probability : Q; drafted : list nat; emitted : option (list nat); faults : list nat }.
(* One case: vocabulary, tokens whose law is compared, drafts, the target's rows, the rows that the drafts are drawn
   from, and every path. *)
Record case := Case { vocab : nat; length_of : nat; drafts : nat; target : table; draft : table; paths : list path }.
(* Double and single precision: what counts as the rounding of the code's own arithmetic. *)
Definition thresholds : list Q := [1 # 1000000000; 1 # 1000000].
Definition codes : list nat := [405; 406; 407; 408; 409; 410; 413]%nat.

Definition rows_hold (k : case) : bool :=
  forallb (fun e => is_distribution (vocab k) (snd e)) (target k) &&
  forallb (fun e => is_distribution (vocab k) (snd e)) (draft k) &&
  (fold_right Nat.max 0 (map (fun e => S (length (fst e))) (target k)) =? length_of k)%nat.

(* The drafts: as the draft's rows draw them, and every path belongs to one. *)
Fixpoint drawn (t : table) (n : nat) (c : list nat) (x : Q) : list (list nat * Q) := match n with
  | O => [(c, x)]
  | S n' => match look t c with None => [] | Some q =>
      flat_map (fun v => if Qeq_bool (at_ q v) 0 then [] else drawn t n' (c ++ [v]) (mul x (at_ q v))) (tokens_of q) end
  end.
Definition paths_hold (k : case) : bool :=
  let law := drawn (draft k) (drafts k) [] 1 in
  forallb (fun p => less 0 (probability p)) (paths k) &&
  Qeq_bool (total (map probability (paths k))) 1 && Qeq_bool (total (map snd law)) 1 &&
  forallb (fun e => Qeq_bool (snd e)
    (total (map probability (filter (fun p => equal (drafted p) (fst e)) (paths k))))) law.

(* The contracts that can be looked at here: lengths, ids, and RV407 and RV408. *)
Definition chance_of (t : table) (c : list nat) (v : nat) : Q := match look t c with None => 0 | Some p => at_ p v end.
Definition possible (t : table) (e : list nat) : bool :=
  forallb (fun i => negb (Qeq_bool (chance_of t (firstn i e) (nth i e 0%nat)) 0)) (seq 0 (length e)).
Definition contracts_hold (is_verifier : bool) (k : case) : bool := forallb (fun p =>
  let says code := is_in code (faults p) in
  forallb (fun code => is_in code codes) (faults p) && match emitted p with
  | None => says 405%nat || says 406%nat || says 413%nat
  | Some e =>
    let strange := negb (equal (removelast e) (firstn (length e - 1) (drafted p))) in
    (0 <? length e)%nat && (length e <=? length_of k)%nat && forallb (fun v => v <? vocab k)%nat e &&
    (negb (says 407%nat) || negb (possible (target k) e)) &&
    (negb is_verifier || (Bool.eqb (says 408%nat) strange &&
      (possible (target k) e || says 407%nat || says 408%nat || says 409%nat)))
  end) (paths k).

(* Against the target: of the sequences next to emissions, their probability under it, and under the code.
   Where no emission goes on, both laws go on with the target's rows, so nothing more need be compared; where the
   target has no row, its probability is to be zero (all of it adds up to one), and all that goes on is too much. *)
Fixpoint against (t : table) (fuel : nat) (c : list nat) (wanted have : Q) (going : list (list nat * Q)) : list (Q * Q) :=
  match fuel, going with
  | O, _ | _, [] => [(wanted, have)]
  | S f, _ => match look t c with None => [(0, add have (total (map snd going)))] | Some p => flat_map (fun v =>
      let mine := flat_map (fun e => match e with (u :: s, x) => if (u =? v)%nat then [(s, x)] else [] | _ => [] end) going in
      let ends := filter (fun e => match fst e with [] => true | _ => false end) mine in
      let more := filter (fun e => match fst e with [] => false | _ => true end) mine in
      against t f (c ++ [v]) (mul wanted (at_ p v)) (add (mul have (at_ p v)) (total (map snd ends))) more) (tokens_of p) end
  end.
Definition emissions (k : case) : list (list nat * Q) :=
  flat_map (fun p => match emitted p with None => [] | Some e => [(e, probability p)] end) (paths k).
(* All probability under the target (to be one), all that was emitted, counted twice, and the total variation. *)
Definition compared (k : case) : Q * bool * Q :=
  let c := against (target k) (length_of k) [] 1 0 (emissions k) in
  (total (map fst c), Qeq_bool (total (map snd c)) (total (map snd (emissions k))),
   mul (1 # 2) (total (map (fun e => distance (fst e) (snd e)) c))).

(* The findings: how probable each fault is, and the total variation (401), where above the threshold. *)
Definition findings (threshold : Q) (k : case) : list (nat * Q) :=
  filter (fun e => less threshold (snd e)) ((401%nat, snd (compared k)) :: map (fun code =>
    (code, total (map probability (filter (fun p => is_in code (faults p)) (paths k))))) codes).
Definition is_refuted (found : list (list (nat * Q))) : bool :=
  existsb (fun l => match l with [] => false | _ => true end) found.

(* How many cases are in this file, and how many the check went through: of those that are not here nothing is said. *)
Record coverage := Coverage { cases_in_this_file : Z; cases_of_the_check : Z }.
Definition coverage_of (ks : list case) (every : Z) : coverage := Coverage (Z.of_nat (length ks)) every.
