"""A certificate as a self-contained Rocq file: `coqc FILE.v` works every number out again by computation over `Q`.

The file is `certificate.v` (the decoder as programs, the same in every certificate), the rows and the claims as data,
and one theorem for each claim, proved by `vm_compute`; nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from rheo_verify.checks.certificate import Certificate
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import Rational


def to_rocq(certificate: Certificate) -> str:
    """The text of the file."""
    return "\n".join([_heading(certificate), prelude(), body(certificate)])


def body(certificate: Certificate) -> str:
    """Rows, claims and theorems, for after the prelude."""
    return _data(certificate) + "\n" + _theorems(certificate)


def prelude() -> str:
    """The decoder over `Q`, the same in every certificate."""
    return (files("rheo_verify.report") / "certificate.v").read_text(encoding="utf-8")


def _heading(certificate: Certificate) -> str:
    return (
        f"(* A certificate of rheo_verify: {certificate.verdict} at budget {certificate.design.budget}. "
        "It needs nothing but coqc:\n   it compiles only if every number under Claims is what the rows give. *)"
    )


def _data(it: Certificate) -> str:
    design = it.design
    numbers = " ".join(str(n) for n in (it.vocab, design.lead, design.pool, design.beam, design.depth, design.budget))
    flags = f"{_bool(design.ties == 'token')} {_bool(design.verification == 'ranking')} {it.rule}"
    return f"""(* Claims *)
{rows_text(it.rows)}
Definition the_job : job := Job {numbers} {_proxy(design)}
  {flags} target_rows draft_rows sampling_draft_rows.
Definition claimed_classes : list (shape * Q) :=
{entries(f"({_shape(tree)}, {rational(probability)})" for tree, probability in it.classes.items())}.
Definition claimed_emissions : list (list nat * Q) :=
{entries(f"({path(tokens)}, {rational(probability)})" for tokens, probability in sorted(it.emitted.items()))}.
"""


def _theorems(it: Certificate) -> str:
    budget, classes = it.design.budget, f"{it.growth} the_job"
    emissions = f"fold_right merge [] (emissions the_job classes {budget})"
    compared = "; ".join(f"(1 # 1, 1 # 1, {rational(distance)})" for distance in it.budgets)
    statements = [
        rows_are_distributions(it.vocab),
        ("classes_are_computed", classes, "classes"),
        ("classes_as_claimed", _same("classes", "is_claimed claimed_classes", "claimed_classes"), "true"),
        ("classes_sum_to_one", "total (map snd claimed_classes)", "1 # 1"),
        ("total_variation_at_every_budget", f"map (compared the_job classes) (seq 1 {budget})", f"[{compared}]"),
        ("emissions_are_computed", emissions, "emitted"),
        ("emitted_as_claimed", _same("emitted", "is_emitted claimed_emissions", "claimed_emissions"), "true"),
        ("tokens_per_cycle_as_claimed", "tokens_per_cycle emitted", rational(it.tokens_per_cycle)),
        ("verdict", f"Qeq_bool (total_variation the_job classes {budget}) 0", _bool(it.verdict is Verdict.VERIFIED)),
    ]
    if it.growth == "lazy":
        statements.insert(0, ("lazy_growth_is_valid", "lazy_is_valid the_job", "true"))
    return "\n".join(
        [
            f"Definition classes : class_law := Eval vm_compute in {classes}.",
            f"Definition emitted : list (list nat * Q) := Eval vm_compute in {emissions}.",
            theorems(statements),
        ]
    )


def rows_text(rows: Mapping[str, Mapping[TokenPath, Row]]) -> str:
    """The tables as definitions."""
    return "\n".join(f"Definition {name}_rows : table := {table(one)}." for name, one in rows.items())


def rows_are_distributions(vocab: int) -> tuple[str, str, str]:
    """The statement (name, left side, right side) that every row is a distribution."""
    tables = "[target_rows; draft_rows; sampling_draft_rows]"
    return "rows_are_distributions", f"forallb (forallb (fun e => is_distribution {vocab} (snd e))) {tables}", "true"


def theorems(statements: Sequence[tuple[str, str, str]]) -> str:
    """One theorem for each (name, left side, right side), proved by computation, and what each rests on."""
    lines = []
    for name, left, right in statements:
        lines += ["", f"Theorem {name} :", f"  {left}", f"  = {right}."]
        lines += [f"Proof. vm_cast_no_check (eq_refl ({right})). Qed."]
    lines += ["", *(f"Print Assumptions {name}." for name, _, _ in statements)]
    return "\n".join(lines) + "\n"


def _same(found: str, test: str, claimed: str) -> str:
    return f"(length {found} =? length {claimed})%nat && forallb ({test}) {found}"


def rational(value: Rational) -> str:
    """A literal of `Q`."""
    return f"({int(value.numerator)} # {int(value.denominator)})"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def path(tokens: Sequence[int]) -> str:
    """A list of token ids, or of slots."""
    return f"[{'; '.join(map(str, tokens))}]%nat"


def entries(lines: Iterable[str]) -> str:
    """A list, one line for each entry."""
    return "  [" + ";\n   ".join(lines) + "]"


def table(rows: Mapping[TokenPath, Row]) -> str:
    """A row for each context."""
    return "\n" + entries(
        f"({path(tokens)}, [{'; '.join(map(rational, row))}])" for tokens, row in sorted(rows.items())
    )


def _shape(tree: Tree) -> str:
    nodes: list[Any] = [f"({path(n.slots)}, {path(n.tokens)}, {_bool(n.law is not None)})" for n in tree]
    return "[" + "; ".join(nodes) + "]"


def _proxy(design: TreeDesign) -> str:
    if design.proxy == "rheo":
        return f"(paper {rational(design.epsilon)})"
    return "raw" if design.proxy == "raw" else f"(constant {rational(design.proxy)})"
