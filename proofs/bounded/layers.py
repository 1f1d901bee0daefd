"""`layer-lossless`, and the step condition of `adapted-growth`, at every small layer."""

from __future__ import annotations

from collections.abc import Sequence

from rheo_verify.probability.distributions import Row
from rheo_verify.probability.rationals import ZERO, Rational
from rheo_verify.verification.layer import LayerLaw, LayerRule, exact_law
from rheo_verify.verification.rules import layer_rule

from ..check import require
from .scopes import lists, rows

SIZES = ((1, 4), (2, 5), (3, 3))


def layers_emit_the_target() -> str:
    """Every p and q~, every lead of tokens that q~ cannot draw, every list of fills that starts after the draw."""
    layers = 0
    for vocab, denominator in SIZES:
        for target in rows(vocab, denominator):
            for draft in rows(vocab, denominator):
                for lead in lists([token for token in range(vocab) if not draft[token]]):
                    for order in lists([token for token in range(vocab) if token not in lead]):
                        for name in ("rheo", "rrsw", "topk"):
                            found = average(layer_rule(name), target, draft, lead, order)
                            require(found == target, (name, target, draft, lead, order, found))
                            layers += 1
    return f"{layers:,} layers under rheo, rrsw and topk: all p, q~ at V, denominator up to {_sizes()}"


def fixed_candidates_change_nothing() -> str:
    """Without a sampled candidate: every p and every list of candidates."""
    layers = 0
    for vocab, denominator in SIZES:
        for target in rows(vocab, denominator + 1):
            for order in lists(list(range(vocab))):
                for name in ("rheo", "rrsw", "topk"):
                    law = exact_law(layer_rule(name), target, order, [None] * len(order))
                    require(law.emitted(order) == target, (name, target, order))
                    layers += 1
    return f"{layers:,} layers without a sampled candidate"


def descents_are_kept() -> str:
    """A fill revealed after the sampled token, or the sampled one after the lead, changes no descent on average."""
    steps = 0
    for target in rows(3, 3):
        for draft in rows(3, 3):
            for lead in lists([token for token in range(3) if not draft[token]]):
                for name in ("rheo", "rrsw"):
                    rule = layer_rule(name)
                    before = exact_law(rule, target, lead, [None] * len(lead))
                    drawn = [(draft[y], _law(rule, target, draft, lead, y, ())) for y in range(3) if draft[y]]
                    after = tuple(sum((q * law.accept[i] for q, law in drawn), ZERO) for i in range(len(lead)))
                    require(after == before.accept, (name, target, draft, lead))
                    for y in (y for y in range(3) if draft[y]):
                        for fill in (v for v in range(3) if v != y and v not in lead):
                            less = _law(rule, target, draft, lead, y, ())
                            more = _law(rule, target, draft, lead, y, (fill,))
                            kept = more.accept[: len(lead) + 1] == less.accept
                            same = more.emitted((*lead, y, fill)) == less.emitted((*lead, y))
                            require(kept and same, (name, target, draft, lead, y, fill))
                            steps += 1
    return f"{steps:,} steps of growth at V = 3, denominator up to 3"


def average(rule: LayerRule, target: Row, draft: Row, lead: Sequence[int], order: Sequence[int]) -> Row:
    """What the layer emits on average over the drawn token; the fills are `order` without it."""
    emitted: list[Rational] = [ZERO] * len(target)
    for drawn, probability in enumerate(draft):
        if probability:
            fill = [token for token in order if token != drawn]
            law = _law(rule, target, draft, lead, drawn, fill).emitted((*lead, drawn, *fill))
            emitted = [have + probability * more for have, more in zip(emitted, law, strict=True)]
    return tuple(emitted)


def _law(rule: LayerRule, target: Row, draft: Row, lead: Sequence[int], drawn: int, fill: Sequence[int]) -> LayerLaw:
    laws = [*[None] * len(lead), draft, *[None] * len(fill)]
    return exact_law(rule, target, (*lead, drawn, *fill), laws)


def _sizes() -> str:
    return ", ".join(f"({vocab}, {denominator})" for vocab, denominator in SIZES)
