
(* What `acceptance` says of a layer and of a cycle. *)
(* What a rule accepts at the root, averaged over the draw. None where a row was missing. *)
Definition accepted_at_root (j : job) (c : option tree * Q) : option Q := match fst c, look (target j) [] with
  | Some t, Some p =>
    let (accepted, _) := layer_law j p (map (fun k => (slots k, last (tokens k) 0%nat, law k)) (below t root)) in
    Some (mul (snd c) (total (map snd accepted)))
  | _, _ => None end.
Definition sum_of (l : list (option Q)) : option Q :=
  fold_right (fun x y => match x, y with Some a, Some b => Some (add a b) | _, _ => None end) (Some 0) l.
Definition layer_rate (j : job) : option Q := sum_of (map (accepted_at_root j) (eager j)).

(* The bound of Theorem 3: the target on the best tokens, and on the others what a draw can serve of it. *)
Definition bound (j : job) : option Q := match look (target j) [], look (draft j) [], pool_at j [] with
  | Some p, Some q, Some c =>
    let best := firstn (pool j) (ranking q) in
    Some (total (map (fun v => if is_in v best then at_ p v else
      match law_of_y c with None => 0 | Some l => least (at_ p v) (at_ l v) end) (tokens_of p)))
  | _, _, _ => None end.

(* The law of the candidate set, and a plan: for each set its probability and what it sends to its tokens. *)
Definition set_of (t : tree) : list nat := sort Nat.ltb (map (fun n => last (tokens n) 0%nat) t).
Definition sets (j : job) : list (list nat * Q) := fold_right merge []
  (map (fun c => match fst c with Some t => (set_of t, snd c) | None => ([], 0) end) (eager j)).
Definition plan := list (list nat * Q * list (nat * Q)).
Definition is_the_law_of_sets (j : job) (pl : plan) : bool :=
  (length (sets j) =? length pl)%nat && forallb (is_emitted (map fst pl)) (sets j).
Definition received (pl : plan) (v : nat) : Q :=
  total (map snd (filter (fun e => (fst e =? v)%nat) (flat_map snd pl))).
Definition is_feasible (j : job) (pl : plan) : bool := match look (target j) [] with
  | None => false
  | Some p => forallb (fun e => match e with (s, x, flow) =>
      forallb (fun f => is_in (fst f) s && Qle_bool 0 (snd f)) flow && Qle_bool (total (map snd flow)) x end) pl
    && forallb (fun v => Qle_bool (received pl v) (at_ p v)) (tokens_of p)
  end.
Definition accepted_by (pl : plan) : Q := total (map snd (flat_map snd pl)).

(* Weak duality: whatever a rule does, it accepts at most p(T) and the probability of the sets that are not inside T. *)
Definition cut_value (j : job) (pl : plan) (cut : list nat) : option Q := option_map (fun p =>
  add (total (map (fun v => if is_in v cut then at_ p v else 0) (tokens_of p)))
      (total (map (fun e => if forallb (fun v => is_in v cut) (fst (fst e)) then 0 else snd (fst e)) pl)))
  (look (target j) []).

(* Whether the trees may be grown lazily; how many there are; all probability; and the tokens per cycle. *)
Definition answer (j : job) (cl : class_law) : bool * nat * Q * Q :=
  let e := emissions j cl (budget j) in
  (lazy_is_valid j, length cl, total (map snd e), tokens_per_cycle e).
