"""`layer-lossless` for all real p and q~ at fixed sizes: the rules' own laws on fractions of polynomials.

In each world the emitted law minus p must vanish as a fraction of polynomials. What is asked for are the signs of the
entries of p - q~ (of p - (1 - a) q~ off a lead of mass a, under `rrsw`), which sum to zero. So no real p and q~ are in
the world where all are positive; and where none is, all are zero: there the law is run on equal rows itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import sympy

from rheo_verify.verification import rheo, rrsw

from ..check import require
from .execution import Number, World, symbols, worlds

CHECKER = f"sympy {sympy.__version__}"


def one_draft_for_all_reals() -> str:
    """One sampled candidate under `rheo`, V = 2…6."""
    return _all_sizes(rheo, [(vocab, 0, 0) for vocab in range(2, 7)])


def pools_for_all_reals() -> str:
    """Lead, sampled and fill candidates under `rheo`."""
    return _all_sizes(rheo, [(3, 0, 1), (4, 1, 1), (4, 0, 2), (5, 0, 1), (5, 1, 2), (6, 1, 1)])


def rrsw_for_all_reals() -> str:
    """Lead, sampled and fill candidates under `rrsw`."""
    return _all_sizes(rrsw, [(3, 0, 1), (3, 1, 1), (4, 1, 1), (4, 0, 2), (4, 2, 1), (5, 1, 2), (5, 2, 1)])


def single_rate_for_all_reals() -> str:
    """`single-draft-rates`: sum of min(p, q) is what one sampled candidate accepts, V = 2…6."""
    for vocab in range(2, 7):
        target, draft = _rows(vocab, 0)

        def acceptance(world: World, p: list[Any] = target, q: list[Any] = draft) -> tuple[Any, Any]:
            laws = [_normalised(rheo, world, p, q, (), y, ()) for y in range(len(q))]
            found = sum(q[y] * accept[0] for y, (accept, _) in enumerate(laws))
            least = sum(a if Number(b - a, world) > 0 else b for a, b in zip(p, q, strict=True))
            return found, least

        for world, (found, least) in worlds(acceptance):
            require(_left_out(world) or found == least, (vocab, world.signs))
    return "V = 2…6, all real p and q"


def _all_sizes(rule: Any, sizes: list[tuple[int, int, int]]) -> str:
    several = 0
    for vocab, lead, fills in sizes:
        target, draft = _rows(vocab, lead)
        known = target[:lead] if rule is rheo else []
        run = partial(_emitted, rule, lead=lead, fills=fills)
        for world, emitted in worlds(lambda w, run=run, p=target, q=draft: run(w, p, q), known):  # type: ignore[misc]
            several += 1
            require(_left_out(world) or emitted == target, (rule.__name__, vocab, lead, fills, world.signs))
        p, q = _equal_rows(vocab, lead, scaled=rule is rrsw)
        for world, emitted in worlds(lambda w, run=run, p=p, q=q: run(w, p, q)):  # type: ignore[misc]
            require(emitted == p, ("equal rows", rule.__name__, vocab, lead, fills, world.signs))
            several += 1
    shown = ", ".join(f"({vocab}, {lead}, {fills})" for vocab, lead, fills in sizes)
    return f"{several:,} sign patterns, (V, lead, fills) = {shown}: all real p and q~"


def _left_out(world: World) -> bool:
    """Whether a difference that sums to zero is positive everywhere (impossible) or nowhere (then it is zero)."""
    signs = set(world.signs.values())
    return sum(world.signs) + sum(world.known) == 0 and (signs == {True} or (signs == {False} and not world.known))


def _emitted(rule: Any, world: World, p: list[Any], q: list[Any], *, lead: int, fills: int) -> list[Any]:
    """The law of what comes out, on average over Y ~ q~: lead 0…m-1, then Y, then the first tokens that are left."""
    emitted = [p[0] * 0] * len(p)
    for drawn in range(lead, len(p)):
        fill = [token for token in range(lead, len(p)) if token != drawn][:fills]
        candidates = (*range(lead), drawn, *fill)
        accept, residual = _normalised(rule, world, p, q, tuple(range(lead)), drawn, tuple(fill))
        for token, weight in [*zip(candidates, accept, strict=True), *enumerate(residual)]:
            emitted[token] = emitted[token] + q[drawn] * weight
    return emitted


def _normalised(
    rule: Any, world: World, p: list[Any], q: list[Any], lead: tuple[int, ...], drawn: int, fill: tuple[int, ...]
) -> tuple[list[Any], list[Any]]:
    candidates = np.array((*lead, drawn, *fill), dtype=np.int64)
    laws: list[Any] = [None] * len(candidates)
    laws[len(lead)] = _array(q, world)
    accept, residual = rule.law(_array(p, world), candidates, laws)
    whole = sum(x.value for x in (*accept, *residual))
    return [x.value / whole for x in accept], [x.value / whole for x in residual]


def _array(row: list[Any], world: World) -> Any:
    array = np.empty(len(row), dtype=object)
    array[:] = [Number(value, world) for value in row]
    return array


def _rows(vocab: int, lead: int) -> tuple[list[Any], list[Any]]:
    """Rows: p with V-1 free entries, q~ with V-m-1 and zero on the lead; the last ones make the sums one."""
    names = [f"p{v}" for v in range(vocab - 1)] + [f"q{v}" for v in range(lead, vocab - 1)]
    made, generators = symbols(*names)
    p, q = generators[: vocab - 1], generators[vocab - 1 :]
    return [*p, made.one - sum(p)], [made.zero] * lead + [*q, made.one - sum(q)]


def _equal_rows(vocab: int, lead: int, scaled: bool) -> tuple[list[Any], list[Any]]:
    """The one case without a residual: p = q~, or (`scaled`) p is q~ times what a lead of any p leaves."""
    names = [f"p{v}" for v in range(lead)] + [f"q{v}" for v in range(lead, vocab - 1)]
    made, generators = symbols(*(names or ["unused"]))
    front, back = generators[:lead] if scaled else [made.zero] * lead, generators[lead : len(names)]
    q = [*back, made.one - sum(back)]
    return [*front, *((made.one - sum(front)) * x for x in q)], [made.zero] * lead + q
