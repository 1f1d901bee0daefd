(* A certificate of rheo_verify: VERIFIED at budget 2. It needs nothing but coqc:
   it compiles only if every number under Claims is what the rows give. *)
(* What follows up to "Claims" is the same in every certificate: the decoder, written out as programs over Q. *)
From Coq Require Import QArith List Bool Arith.
Import ListNotations.
Open Scope Q_scope.

(* Fractions in lowest terms, so that numbers stay small. *)
Definition add x y := Qred (x + y).
Definition sub x y := Qred (x - y).
Definition mul x y := Qred (x * y).
Definition div x y := Qred (x / y).
Definition less x y := negb (Qle_bool y x).
Definition least x y := if Qle_bool x y then x else y.
Definition positive x := if Qle_bool 0 x then x else 0.
Definition distance x y := if Qle_bool x y then sub y x else sub x y.
Definition total (l : list Q) : Q := fold_right add 0 l.

(* A row: a probability per token. A table: a row per context. None: no row there. *)
Definition row := list Q.
Definition at_ (r : row) (v : nat) : Q := nth v r 0.
Definition normal (r : row) : row := let z := total r in if Qeq_bool z 0 then r else map (fun x => div x z) r.
Definition tokens_of (r : row) : list nat := seq 0 (length r).
Definition table := list (list nat * row).
Definition is_distribution (vocab : nat) (r : row) : bool :=
  (length r =? vocab)%nat && forallb (Qle_bool 0) r && Qeq_bool (total r) 1.

Fixpoint equal (a b : list nat) : bool := match a, b with
  | [], [] => true | x :: a', y :: b' => (x =? y)%nat && equal a' b' | _, _ => false end.
Definition is_in (v : nat) (l : list nat) : bool := existsb (Nat.eqb v) l.
Definition look (t : table) (c : list nat) : option row := option_map snd (find (fun e => equal (fst e) c) t).

Fixpoint insert {A} (before : A -> A -> bool) (a : A) (l : list A) : list A :=
  match l with [] => [a] | b :: l' => if before a b then a :: l else b :: insert before a l' end.
Definition sort {A} (before : A -> A -> bool) (l : list A) : list A := fold_right (insert before) [] l.

(* The design (SPEC 1.1, 1.2), the rule (SPEC 1.3) and the model. *)
Inductive rule_name := rheo | rrsw | topk.
Inductive proxy_name := paper (epsilon : Q) | raw | constant (factor : Q).
Record job := Job { vocab : nat; lead : nat; pool : nat; beam : nat; depth : nat; budget : nat; proxy : proxy_name;
  ties_by_token : bool; verify_ranking : bool; rule : rule_name; target : table; draft : table; sampling : table }.

(* Candidate pools (SPEC 1.1): lead and the rest, each with its score; the law of Y, and the one verification uses. *)
Record candidates := Candidates { leads : list nat; rest : list nat; scores : row; law_of_y : option row;
  believed : option row; score_of_y : nat -> Q }.

Section Job.
Variable j : job.

Definition ranking (q : row) : list nat :=
  sort (fun u v => less (at_ q v) (at_ q u) || (Qeq_bool (at_ q u) (at_ q v) && (u <? v)%nat)) (tokens_of q).

Definition tail_law (r : row) (tail : list nat) : option row :=
  let l := map (fun v => if is_in v tail then at_ r v else 0) (tokens_of r) in
  if Qeq_bool (total l) 0 then None else Some (normal l).

Definition pool_at (c : list nat) : option candidates :=
  match look (draft j) c, (if (lead j <? pool j)%nat then look (sampling j) c else look (draft j) c) with
  | Some q, Some s =>
    let order := ranking q in
    let front := firstn (Nat.min (lead j) (pool j)) order in
    let tail := skipn (lead j) order in
    let law := if (lead j <? pool j)%nat then tail_law s tail else None in
    Some (Candidates front tail q law
      (match law, tail_law q tail with Some _, Some l => if verify_ranking j then Some l else law | _, _ => law end)
      (match proxy j with
       | raw => at_ q
       | constant x => fun _ => x
       | paper e => let f := match rev front with [] => add (at_ q (hd 0%nat order)) e
                             | last :: _ => least (at_ q last) (total (map (at_ q) tail)) end in fun _ => f
       end))
  | _, _ => None
  end.

(* A node: slots and tokens on the path to it, its path score, and the law that it is verified with if it was drawn. *)
Record node := Node { slots : list nat; tokens : list nat; score : Q; law : option row }.
Definition root := Node [] [] 1 None.
Definition tree := list node.

Definition children (p : candidates) (parent : node) (y : nat) : list node :=
  let plain v := (v, at_ (scores p) v, None) in
  let drawn := match law_of_y p with Some _ => [(y, score_of_y p y, believed p)] | None => [] end in
  let fill := match law_of_y p with Some _ => filter (fun v => negb (v =? y)%nat) (rest p) | None => rest p end in
  let all := firstn (pool j) (map plain (leads p) ++ drawn ++ map plain fill) in
  map (fun e => match e with (number, (v, f, l)) =>
    Node (slots parent ++ [number]) (tokens parent ++ [v]) (mul (score parent) f) l end)
    (combine (seq 1 (length all)) all).

Definition outcomes (p : candidates) : list (nat * Q) :=
  match law_of_y p with None => [(0%nat, 1)]
  | Some l => filter (fun e => negb (Qeq_bool (snd e) 0)) (map (fun v => (v, at_ l v)) (tokens_of l)) end.

Fixpoint left_of (a b : list nat) : bool := match a, b with
  | [], _ :: _ => true | x :: a', y :: b' => (x <? y)%nat || ((x =? y)%nat && left_of a' b') | _, [] => false end.

Definition depth_of (n : node) : nat := length (slots n).
Definition before (a b : node) : bool :=
  less (score b) (score a) || (Qeq_bool (score a) (score b) && ((depth_of a <? depth_of b)%nat ||
    ((depth_of a =? depth_of b)%nat &&
      (if ties_by_token j then left_of (tokens a) (tokens b) else left_of (slots a) (slots b))))).

(* Eagerly: every unpruned tree, then the best nodes of it. None where a row was missing. *)
Definition pools := list (list nat * candidates).
Definition known (ps : pools) (c : list nat) : option candidates :=
  option_map snd (find (fun e => equal (fst e) c) ps).

Fixpoint expansions (ps : pools) (parents : list node) : list (option (list node) * Q) := match parents with
  | [] => [(Some [], 1)]
  | n :: others => match known ps (tokens n) with
    | None => [(None, 1)]
    | Some p => let later := expansions ps others in
      flat_map (fun y => let mine := children p n (fst y) in
        map (fun o => (option_map (app mine) (fst o), mul (snd y) (snd o))) later) (outcomes p)
    end
  end.

Fixpoint eager_from (ps : pools) (d : nat) (layer all : list node) (x : Q) : list (option tree * Q) := match d with
  | O => [(Some (firstn (budget j) (sort before all)), x)]
  | S d' => flat_map (fun o => match fst o with None => [(None, mul x (snd o))]
      | Some below => eager_from ps d' below (all ++ below) (mul x (snd o)) end)
      (expansions ps (firstn (beam j) (sort before layer)))
  end.

(* Lazily: best first; Y is drawn when its slot comes up, and only then are the fills after it looked at. *)
Definition has_slots (s : list nat) (n : node) : bool := equal (slots n) s.
Definition opened (t : tree) : list node :=
  root :: flat_map (fun d => firstn (beam j) (filter (fun n => (depth_of n =? d)%nat) t)) (seq 1 (depth j - 1)).

Definition hidden (ps : pools) (t : tree) (parent : node) : list (node * option row) :=
  match known ps (tokens parent) with
  | None => [(Node (slots parent) [] 2 None, None)]  (* no row: comes first, and is found out *)
  | Some p =>
    let y := find (has_slots (slots parent ++ [S (lead j)])) t in
    let seen := match law_of_y p, y with
      | Some l, None => firstn (S (lead j)) (children p parent (fst (hd (0%nat, 1) (outcomes p))))
      | _, Some n => children p parent (last (tokens n) 0%nat)
      | None, None => children p parent 0 end in
    map (fun n => (n, match law n with Some _ => law_of_y p | None => None end))
      (filter (fun n => negb (existsb (has_slots (slots n)) t)) seen)
  end.

Fixpoint lazy_from (ps : pools) (k : nat) (t : tree) (x : Q) : list (option tree * Q) := match k with
  | O => [(Some t, x)]
  | S k' => match sort (fun a b => before (fst a) (fst b)) (flat_map (hidden ps t) (opened t)) with
    | [] => [(Some t, x)]
    | (Node _ [] _ _, _) :: _ => [(None, x)]
    | (n, None) :: _ => lazy_from ps k' (t ++ [n]) x
    | (n, Some l) :: _ => flat_map (fun v => if Qeq_bool (at_ l v) 0 then [] else
        lazy_from ps k' (t ++ [Node (slots n) (removelast (tokens n) ++ [v]) (score n) (law n)]) (mul x (at_ l v)))
        (tokens_of l)
    end
  end.

Definition all_pools : pools :=
  flat_map (fun e => match pool_at (fst e) with Some p => [(fst e, p)] | None => [] end) (draft j).

(* One law at a layer (SPEC 1.3): for each candidate (its slots, token, law) the acceptance; then what is left. *)
Definition zero (r : row) (v : nat) : row := map (fun u => if (u =? v)%nat then 0 else at_ r u) (tokens_of r).
Definition candidate := (list nat * nat * option row)%type.
Fixpoint steps (r : row) (alive : Q) (cs : list candidate) : list (list nat * Q) * row := match cs with
  | [] => ([], map (mul alive) r)
  | (s, v, l) :: later =>
    let yes := match l with None => at_ r v
      | Some q => if Qeq_bool (at_ q v) 0 then 1 else least 1 (div (at_ r v) (at_ q v)) end in
    let r' := match l with None => zero r v
      | Some q => map (fun u => positive (sub (at_ r u) (at_ q u))) (tokens_of r) end in
    let (accepted, left) := steps (normal r') (mul alive (sub 1 yes)) later in
    ((s, mul alive yes) :: accepted, left)
  end.

Definition was_drawn (c : candidate) : bool := match snd c with Some _ => true | None => false end.
Definition layer_law (p : row) (cs : list candidate) : list (list nat * Q) * row :=
  steps p 1 (match rule j with
    | rheo => filter was_drawn cs ++ filter (fun c => negb (was_drawn c)) cs
    | rrsw => cs
    | topk => map (fun c => (fst c, None)) cs end).

(* What one cycle emits: sequences with weights; a sequence may occur more than once. *)
Definition below (t : tree) (n : node) : list node :=
  sort (fun a b => left_of (slots a) (slots b))
    (filter (fun k => match slots k with [] => false | _ => equal (removelast (slots k)) (slots n) end) t).
Fixpoint walk (fuel : nat) (t : tree) (n : node) (x : Q) : list (list nat * Q) :=
  let kids := below t n in
  match look (target j) (tokens n) with None => [] | Some p =>
    let (accepted, left) := layer_law p (map (fun k => (slots k, last (tokens k) 0%nat, law k)) kids) in
    map (fun v => (tokens n ++ [v], mul x (at_ left v))) (filter (fun v => negb (Qeq_bool (at_ left v) 0)) (tokens_of left))
    ++ match fuel with O => [] | S f => flat_map (fun k =>
        match find (fun a => equal (fst a) (slots k)) accepted with
        | Some (_, a) => if Qeq_bool a 0 then [] else walk f t k (mul x a)
        | None => [] end) kids end
  end.

Definition class_law := list (option tree * Q).
Definition emissions (cl : class_law) (k : nat) : list (list nat * Q) :=
  flat_map (fun c => match fst c with None => [] | Some t => walk (depth j) (firstn k t) root (snd c) end) cl.

(* Against the target: of the sequences next to emissions, their probability under it, and under the decoder.
   Where no emission goes on, both laws go on with the target's rows, so nothing more need be compared. *)
Fixpoint against (fuel : nat) (c : list nat) (wanted have : Q) (going : list (list nat * Q)) : list (list nat * Q * Q) :=
  match fuel, going with
  | O, _ | _, [] => [(c, wanted, have)]
  | S f, _ => match look (target j) c with None => [] | Some p => flat_map (fun v =>
      let mine := flat_map (fun e => match e with (u :: s, x) => if (u =? v)%nat then [(s, x)] else [] | _ => [] end) going in
      let ends := filter (fun e => match fst e with [] => true | _ => false end) mine in
      let more := filter (fun e => match fst e with [] => false | _ => true end) mine in
      against f (c ++ [v]) (mul wanted (at_ p v)) (add (mul have (at_ p v)) (total (map snd ends))) more) (tokens_of p) end
  end.

Definition comparison (cl : class_law) (k : nat) : list (list nat * Q * Q) :=
  against (S (S (depth j))) [] 1 0 (emissions cl k).
(* All probability under the target, all under the decoder (both are to be one), and the total variation. *)
Definition compared (cl : class_law) (k : nat) : Q * Q * Q :=
  let c := comparison cl k in
  (total (map (fun e => snd (fst e)) c), total (map snd c),
   div (total (map (fun e => distance (snd (fst e)) (snd e)) c)) 2).
Definition total_variation (cl : class_law) (k : nat) : Q := snd (compared cl k).
End Job.

(* The law of the pruned tree, equal trees put together; and whether it is a claimed one. *)
Definition shape := list (list nat * list nat * bool).
Definition shape_of (t : tree) : shape :=
  map (fun n => (slots n, tokens n, match law n with Some _ => true | None => false end)) t.
Fixpoint same_shape (a b : shape) : bool := match a, b with
  | [], [] => true
  | (s, t, d) :: a', (s', t', d') :: b' => equal s s' && equal t t' && Bool.eqb d d' && same_shape a' b'
  | _, _ => false end.
Definition same_tree (a b : option tree) : bool := match a, b with
  | Some s, Some t => same_shape (shape_of s) (shape_of t) | None, None => true | _, _ => false end.
Fixpoint put (c : option tree * Q) (l : class_law) : class_law := match l with
  | [] => [c] | d :: l' => if same_tree (fst c) (fst d) then (fst d, add (snd c) (snd d)) :: l' else d :: put c l' end.
Definition eager (j : job) : class_law := fold_right put [] (eager_from j (all_pools j) (depth j) [root] [] 1).
Definition lazy (j : job) : class_law := lazy_from j (all_pools j) (budget j) [] 1.

Definition is_claimed (claims : list (shape * Q)) (c : option tree * Q) : bool := match fst c with
  | None => false
  | Some t => existsb (fun d => same_shape (shape_of t) (fst d) && Qeq_bool (snd c) (snd d)) claims end.
Fixpoint merge (e : list nat * Q) (l : list (list nat * Q)) : list (list nat * Q) := match l with
  | [] => [e] | d :: l' => if equal (fst e) (fst d) then (fst d, add (snd e) (snd d)) :: l' else d :: merge e l' end.
Definition tokens_per_cycle (emitted : list (list nat * Q)) : Q :=
  total (map (fun e => mul (inject_Z (Z.of_nat (length (fst e)))) (snd e)) emitted).
Definition is_emitted (claims : list (list nat * Q)) (e : list nat * Q) : bool :=
  existsb (fun d => equal (fst e) (fst d) && Qeq_bool (snd e) (snd d)) claims.
Definition lazy_is_valid (j : job) : bool := negb (ties_by_token j) && ((pool j <=? lead j)%nat ||
  match proxy j with paper e => (0 <? lead j)%nat || Qeq_bool e 0 | _ => false end).

(* Claims *)
Definition target_rows : table := 
  [([]%nat, [(1 # 5); (1 # 5); (3 # 5)]);
   ([0]%nat, [(1 # 5); (1 # 5); (3 # 5)]);
   ([1]%nat, [(1 # 5); (1 # 5); (3 # 5)]);
   ([2]%nat, [(1 # 5); (1 # 5); (3 # 5)])].
Definition draft_rows : table := 
  [([]%nat, [(1 # 2); (3 # 10); (1 # 5)])].
Definition sampling_draft_rows : table := 
  [([]%nat, [(1 # 2); (3 # 10); (1 # 5)])].
Definition the_job : job := Job 3 1 3 3 1 2 (paper (0 # 1))
  false false rheo target_rows draft_rows sampling_draft_rows.
Definition claimed_classes : list (shape * Q) :=
  [([([1]%nat, [0]%nat, false); ([2]%nat, [1]%nat, true)], (3 # 5));
   ([([1]%nat, [0]%nat, false); ([2]%nat, [2]%nat, true)], (2 # 5))].
Definition claimed_emissions : list (list nat * Q) :=
  [([0; 0]%nat, (1 # 25));
   ([0; 1]%nat, (1 # 25));
   ([0; 2]%nat, (3 # 25));
   ([1; 0]%nat, (1 # 25));
   ([1; 1]%nat, (1 # 25));
   ([1; 2]%nat, (3 # 25));
   ([2]%nat, (1 # 5));
   ([2; 0]%nat, (2 # 25));
   ([2; 1]%nat, (2 # 25));
   ([2; 2]%nat, (6 # 25))].

Definition classes : class_law := Eval vm_compute in eager the_job.
Definition emitted : list (list nat * Q) := Eval vm_compute in fold_right merge [] (emissions the_job classes 2).

Theorem rows_are_distributions :
  forallb (forallb (fun e => is_distribution 3 (snd e))) [target_rows; draft_rows; sampling_draft_rows]
  = true.
Proof. vm_cast_no_check (eq_refl (true)). Qed.

Theorem classes_are_computed :
  eager the_job
  = classes.
Proof. vm_cast_no_check (eq_refl (classes)). Qed.

Theorem classes_as_claimed :
  (length classes =? length claimed_classes)%nat && forallb (is_claimed claimed_classes) classes
  = true.
Proof. vm_cast_no_check (eq_refl (true)). Qed.

Theorem classes_sum_to_one :
  total (map snd claimed_classes)
  = 1 # 1.
Proof. vm_cast_no_check (eq_refl (1 # 1)). Qed.

Theorem total_variation_at_every_budget :
  map (compared the_job classes) (seq 1 2)
  = [(1 # 1, 1 # 1, (0 # 1)); (1 # 1, 1 # 1, (0 # 1))].
Proof. vm_cast_no_check (eq_refl ([(1 # 1, 1 # 1, (0 # 1)); (1 # 1, 1 # 1, (0 # 1))])). Qed.

Theorem emissions_are_computed :
  fold_right merge [] (emissions the_job classes 2)
  = emitted.
Proof. vm_cast_no_check (eq_refl (emitted)). Qed.

Theorem emitted_as_claimed :
  (length emitted =? length claimed_emissions)%nat && forallb (is_emitted claimed_emissions) emitted
  = true.
Proof. vm_cast_no_check (eq_refl (true)). Qed.

Theorem tokens_per_cycle_as_claimed :
  tokens_per_cycle emitted
  = (9 # 5).
Proof. vm_cast_no_check (eq_refl ((9 # 5))). Qed.

Theorem verdict :
  Qeq_bool (total_variation the_job classes 2) 0
  = true.
Proof. vm_cast_no_check (eq_refl (true)). Qed.

Print Assumptions rows_are_distributions.
Print Assumptions classes_are_computed.
Print Assumptions classes_as_claimed.
Print Assumptions classes_sum_to_one.
Print Assumptions total_variation_at_every_budget.
Print Assumptions emissions_are_computed.
Print Assumptions emitted_as_claimed.
Print Assumptions tokens_per_cycle_as_claimed.
Print Assumptions verdict.
