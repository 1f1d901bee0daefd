#!/bin/sh
# Each mutant drops a hypothesis or alters a definition or a number. Coq must reject every one.
# Usage: make mutants
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

mutant() { # NAME FILE PERL-SUBSTITUTION
  rm -rf "$work/m" && mkdir "$work/m" && cp "$here"/*.v "$here"/*.vo "$work/m/"
  perl -0pi -e "$3" "$work/m/$2"
  if cmp -s "$here/$2" "$work/m/$2"; then
    echo "MUTATION NOT APPLIED  $1"; bad=1; return
  fi
  # the mutated file and all that come after it, until one does not compile
  for file in $(grep '\.v$' "$here/_CoqProject" | sed -n "/^$2\$/,\$p"); do
    if ! (cd "$work/m" && coqc -Q . RheoVerify -w none "$file" >/dev/null 2>&1); then
      echo "rejected in $file: $1"; return
    fi
  done
  echo "ACCEPTED (must not): $1"; bad=1
}

mutant 'residual with the roles of p and q exchanged' Layer.v \
  's/Definition residual p q := nrm vs \(fun v => pos \(p v - q v\)\)/Definition residual p q := nrm vs (fun v => pos (q v - p v))/'
mutant 'sampled token accepted with p/q, not min(1, p/q)' Layer.v \
  's/Definition accept p q y : R := Num.min 1 \(p y \/ q y\)/Definition accept p q y : R := p y \/ q y/'
mutant 'acceptance without: the sampler has no mass on the lead' Acceptance.v \
  's/Hypothesis q_lead : forall v, v \\in lead -> q v = 0\./Hypothesis q_lead : True./'
mutant 'optimum without: a rule accepts only candidates' Optimum.v \
  's/forall k u, u \\notin C k -> l k \(true, u\) = 0/True/'
mutant 'step condition without: children already there are entered as before' Growth.v \
  's/\(forall u, u \\in tokens cs -> tot vs \(fun y => d y \* enter c \(rcons cs \(y, i\)\) u\) = enter c cs u\)/True/'
mutant 'blame without: the slot that comes next is known' Blame.v \
  's/ && \(slot_at k o\x27 == slot_at k o\)//'
mutant 'growth without: a new node hangs on the tree' Growth.v \
  's/Definition in_tree h c := .*?\./Definition in_tree (h : history) (c : context) := True./s'
mutant 'rheo with fills before the sampled slot' StepCondition.v \
  's/Definition rheo_drawn c cs t := .*?\./Definition rheo_drawn (c : context V) (cs : seq slotted) (t : nat) := True./s'
mutant 'rrsw with candidates revealed late' StepCondition.v \
  's/Definition rrsw_fixed cs x := .*?\./Definition rrsw_fixed (cs : seq slotted) (x : slotted) := True./s'
mutant 'tree without: the proxy does not depend on the sampled token' DynamicTree.v \
  's/pool_proxy : [^;]*;/pool_proxy : True;/'
mutant 'tree without: the sampled slot outranks fill' DynamicTree.v \
  's/pool_outranks : [^;]*;/pool_outranks : True;/'
mutant 'tree without: factors are at most 1' DynamicTree.v \
  's/0 <= \(slot_of c y i\)\.2 <= 1/0 <= (slot_of c y i).2/'
mutant 'tree without: siblings carry distinct tokens' DynamicTree.v \
  's/pool_uniq : [^;]*;/pool_uniq : True;/'
mutant 'deeper nodes first among equal scores' Priority.v \
  's/depth a <= depth b\)%N \(fun a b => lexle/depth b <= depth a)%N (fun a b => lexle/'
mutant 'm = 0 without the condition on eps' Rheo.v \
  's/ \/\\ \(m = 0%N -> forall c, draft c \(rank_token c 0\) \+ eps <= 1\)/ \/\\ True/'
mutant 'rheo-versus-rrsw up to four tokens' Optimum.v \
  's/#\|V\| <= 3/#|V| <= 4/'
mutant 'cold-limit without: the sampler is one-hot at x_1' ColdLimit.v \
  's/(Theorem cold_limit_0_tree K B F Y : ).*? ->\n/$1\n/'
mutant 'another number in table-1' Refutations.v \
  's/= 4%:R \/ 25%:R\./= 5%:R \/ 25%:R./'
mutant 'pruned-optimum with a larger bound' PrunedOptimum.v \
  's/Lemma mixed_off : h \+ h <=/Lemma mixed_off : h + h + h <=/'
exit $bad
