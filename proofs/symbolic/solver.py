"""Level 2 with z3: an identity that it proves by itself; and negations, broken variants whose models are replayed.

A refutation counts only if the exact engine finds the same on the solver's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import z3

from rheo_verify.checks.acceptance import Layer, enumerated_rate
from rheo_verify.probability.arrays import join, mass, minimum, pick, positive_part
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ZERO, ratio
from rheo_verify.verification import rheo
from rheo_verify.verification.layer import LayerRule, exact_law
from rheo_verify.verification.rules import layer_rule

from ..check import Refuted, require

CHECKER = f"z3 {z3.get_version_string()}"
MILLISECONDS = 60_000


def one_draft() -> str:
    """One sampled candidate under `rheo` emits p, V = 2…5 (at V = 6 z3 gives up after a minute)."""
    for vocab in range(2, 6):
        p, q, facts = _rows(vocab)
        residual = [_positive(a - b) for a, b in zip(p, q, strict=True)]
        whole = z3.Sum(residual)
        rejected = z3.Sum([_positive(b - a) for a, b in zip(p, q, strict=True)])
        for v in range(vocab):
            solver = _solver(facts, whole > 0)
            solver.add(_least(p[v], q[v]) * whole + rejected * residual[v] != p[v] * whole)
            require(solver.check() == z3.unsat, (vocab, v, solver.reason_unknown()))
    return "V = 2…5, all real p and q with p ≠ q; no counterexample exists"


def another_law() -> str:
    """Sampled from one law, verified against another (`support-truncation` broken): lossy."""
    p, q, facts = _rows(3)
    drawn = z3.Reals("s0 s1 s2")
    accept, residual, more = _one_draft_law(p, q)
    facts += [*more, z3.Sum(drawn) == 1, *(x > 0 for x in drawn)]
    out = z3.Sum([drawn[y] * ((accept[y] if y == 0 else 0) + (1 - accept[y]) * residual[0]) for y in range(3)])
    target, stated, law = _model(_solver(facts, out != p[0]), p, q, drawn)
    found = _average(layer_rule("rheo"), target, law, stated)
    require(found != target, (target, stated, law))
    return f"p = {_text(target)}, drawn from {_text(law)}, verified against {_text(stated)}: emits {_text(found)}"


def target_for_residual() -> str:
    """After a rejection the token is drawn from p itself and not from the residual: lossy."""
    p, q, facts = _rows(3)
    accept, _, more = _one_draft_law(p, q)
    out = z3.Sum([q[y] * ((accept[y] if y == 0 else 0) + (1 - accept[y]) * p[0]) for y in range(3)])
    target, stated = _model(_solver(facts + more, out != p[0]), p, q)
    found = _average(LayerRule("target-for-residual", rheo.verify, _target_for_residual), target, stated, stated)
    require(found != target, (target, stated))
    return f"p = {_text(target)}, q = {_text(stated)}: emits {_text(found)}"


def lead_after_the_draw() -> str:
    """`rrsw` with a lead token that is only there if Y = 1: lossy."""
    p, q, facts = _rows(3)
    left = 1 - p[0]
    accept, residual, ratios = z3.Real("a"), z3.Reals("r0 r1 r2"), [p[1], p[2]]
    scaled = [x - left * y for x, y in zip(ratios, q[1:], strict=True)]
    whole = z3.Sum([_positive(x) for x in scaled])
    facts += [q[0] == 0, q[1] > 0, q[2] > 0, left > 0, whole > 0, residual[0] == 0]
    facts += [accept * left * q[1] == _least(p[1], left * q[1])]
    facts += [residual[v] * whole == _positive(scaled[v - 1]) for v in (1, 2)]
    alone, left_over, more = _one_draft_law(p, q[:], "b")
    out = q[1] * (left * (1 - accept) * residual[2]) + q[2] * (alone[2] + (1 - alone[2]) * left_over[2])
    target, stated = _model(_solver(facts + [m for m in more if m is not None], out != p[2]), p, q)
    rule = layer_rule("rrsw")
    both = exact_law(rule, target, (0, 1), (None, stated)).emitted((0, 1))
    single = exact_law(rule, target, (2,), (stated,)).emitted((2,))
    found = tuple(stated[1] * x + stated[2] * y for x, y in zip(both, single, strict=True))
    require(found != target, (target, stated, found))
    return f"p = {_text(target)}, q~ = {_text(stated)}: emits {_text(found)}"


def rrsw_can_win_at_four() -> str:
    """`rheo-versus-rrsw`: V = 4, m = 1, n = 3, found by the solver, its rates recomputed by enumeration."""
    p, q, facts = _rows(4)
    left = 1 - p[0]
    facts += [q[0] == 0, q[1] >= q[2], q[2] >= q[3], q[3] > 0, left > 0]
    rates = []
    for scale, name in ((z3.RealVal(1), "rheo"), (left, "rrsw")):
        whole = z3.Sum([_positive(a - scale * b) for a, b in zip(p, q, strict=True) if name == "rheo" or a is not p[0]])
        stand_in = z3.Real(f"stand_in_{name}")
        facts += [whole > 0, stand_in * whole == _positive(p[2] - scale * q[2])]
        passed = z3.Sum([_least(p[v], scale * q[v]) for v in (2, 3)])
        rates.append(p[0] + p[1] + passed + stand_in * _positive(scale * q[1] - p[1]))
    target, tail = _model(_solver(facts, rates[0] < rates[1]), p, q)
    draft = tuple(ratio(1, 2) if v == 0 else x / 2 for v, x in enumerate(tail))
    layer = Layer(target, draft, draft, 1, 3)
    found = enumerated_rate(layer, "rheo"), enumerated_rate(layer, "rrsw")
    require(found[0] < found[1], (target, draft, found))
    return f"p = {_text(target)}, q = {_text(draft)}: rheo {found[0]} < rrsw {found[1]}"


def _rows(vocab: int) -> tuple[list[Any], list[Any], list[Any]]:
    p, q = ([z3.Real(f"{name}{v}") for v in range(vocab)] for name in "pq")
    return p, q, [z3.Sum(p) == 1, z3.Sum(q) == 1, *(x >= 0 for x in (*p, *q))]


def _one_draft_law(p: list[Any], q: list[Any], name: str = "a") -> tuple[list[Any], list[Any], list[Any]]:
    """Acceptance of each draw, the normalised residual, and what defines them."""
    accept, residual = ([z3.Real(f"{name}_{kind}{v}") for v in range(len(p))] for kind in ("accept", "left"))
    whole = z3.Sum([_positive(a - b) for a, b in zip(p, q, strict=True)])
    facts = [whole > 0, *(x * whole == _positive(a - b) for x, a, b in zip(residual, p, q, strict=True))]
    facts += [z3.Implies(b > 0, x * b == _least(a, b)) for x, a, b in zip(accept, p, q, strict=True)]
    return accept, residual, facts + [z3.Implies(b == 0, x == 1) for x, b in zip(accept, q, strict=True)]


def _positive(x: Any) -> Any:
    return z3.If(x > 0, x, z3.RealVal(0))


def _least(x: Any, y: Any) -> Any:
    return z3.If(x < y, x, y)


def _solver(facts: Sequence[Any], *more: Any) -> Any:
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(*facts, *more)
    return solver


def _model(solver: Any, *rows: Sequence[Any]) -> list[Row]:
    """Rows of the solver's model; `Refuted` if it has none, or one that is not rational."""
    answer = solver.check()
    require(answer == z3.sat, f"the broken variant has no model: {answer}")
    values = [[solver.model().eval(x, model_completion=True) for x in row] for row in rows]
    if not all(z3.is_rational_value(x) for row in values for x in row):
        raise Refuted("the model is not rational")
    fractions = [[Fraction(x.as_fraction()) for x in row] for row in values]
    return [tuple(ratio(x.numerator, x.denominator) for x in row) for row in fractions]


def _average(rule: LayerRule, target: Row, drawn: Row, stated: Row) -> Row:
    """What one sampled candidate emits, by the engine, on average over the law that it is drawn from."""
    emitted = [ZERO] * len(target)
    for token, probability in enumerate(drawn):
        if probability:
            law = exact_law(rule, target, (token,), (stated,)).emitted((token,))
            emitted = [have + probability * more for have, more in zip(emitted, law, strict=True)]
    return tuple(emitted)


def _target_for_residual(target: Any, candidates: Any, laws: Any) -> tuple[Any, Any]:
    """`rheo` for one sampled candidate, broken: p stands where the residual should."""
    p, q = pick(target, candidates), pick(laws[0], candidates)
    return join([minimum(p, q) * mass(target)]), positive_part(q - p) * target


def _text(row: Row) -> str:
    return "(" + ", ".join(map(str, row)) + ")"
