"""The acceptance claims at every small layer: closed forms against the rule's law, the optimum against every cut."""

from __future__ import annotations

from functools import cache

from rheo_verify.checks.acceptance import Layer, candidate_sets, emitted_law, enumerated_rate, layer_rates
from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.checks.optimal import smallest_cut
from rheo_verify.probability.distributions import ranking
from rheo_verify.probability.rationals import ONE, total

from ..check import Refuted, require
from .scopes import rows

SIZES = ((1, 3), (2, 5), (3, 4))


@cache
def _layers() -> tuple[tuple[Layer, LayerRates], ...]:
    found = []
    for vocab, denominator in SIZES:
        choices = rows(vocab, denominator)
        for target in choices:
            for draft in choices:
                for lead in range(vocab + 1):
                    for count in range(1, vocab + 1):
                        layer = Layer(target, draft, draft, lead, count)
                        found.append((layer, layer_rates(layer)))
    return tuple(found)


def _scope() -> str:
    sizes = ", ".join(f"({vocab}, {denominator})" for vocab, denominator in SIZES)
    return f"{len(_layers()):,} layers: all p, q, m, n at V, denominator up to {sizes}"


def rheo_rate() -> str:
    """`acceptance-rheo`: the closed form is what the rule accepts, and is within the bound."""
    for layer, rates in _layers():
        require(rates.rheo == enumerated_rate(layer, "rheo"), layer)
        require(rates.rheo <= rates.upper_bound, layer)
    return _scope()


def rrsw_rate() -> str:
    """`acceptance-rrsw`."""
    for layer, rates in _layers():
        require(rates.rrsw == enumerated_rate(layer, "rrsw"), layer)
    return _scope()


def single_rates() -> str:
    """`single-draft-rates`, against the rule's law at n = 1."""
    for layer, rates in _layers():
        p, q = layer.target, layer.draft
        require(rates.single_sampled == total(map(min, p, q)), layer)
        require(rates.single_top1 == p[ranking(q)[0]], layer)
        if layer.candidates == 1 and layer.lead == 0:
            require(enumerated_rate(layer, "rheo") == rates.single_sampled, layer)
    return _scope()


def perfect_draft() -> str:
    """`top-k-imperfect`: p = q."""
    layers = 0
    for layer, rates in _layers():
        if layer.target == layer.draft:
            best = ranking(layer.draft)[: layer.candidates]
            inside = all(layer.target[v] == 0 or v in best for v in range(len(layer.target)))
            require((rates.top_k == 1) == inside, layer)
            if layer.pool.sampling_law is not None:
                require(enumerated_rate(layer, "rheo") == enumerated_rate(layer, "rrsw") == ONE, layer)
            layers += 1
    return f"{layers:,} layers with p = q"


def optimum() -> str:
    """`optimal-acceptance`: below every cut, reached for n = m+1, and between the rules and the bound."""
    for layer, rates in _layers():
        least, _ = smallest_cut(layer.target, candidate_sets(layer))
        require(rates.optimal == least, (layer, least))
        require(max(rates.rheo, rates.rrsw) <= rates.optimal <= rates.upper_bound, layer)
        require(layer.candidates != layer.lead + 1 or rates.rheo == rates.optimal, layer)
    return _scope()


def rheo_at_least_rrsw_up_to_three() -> str:
    """`rheo-versus-rrsw`: no counterexample at V <= 3."""
    for layer, rates in _layers():
        require(rates.rheo >= rates.rrsw, layer)
    return _scope()


def rheo_below_rrsw_at_four() -> str:
    """The counterexample at V = 4, and that there is none of a smaller denominator."""
    for denominator in range(1, 5):
        for target in rows(4, denominator):
            for draft in rows(4, denominator):
                rates = layer_rates(Layer(target, draft, draft, 1, 3))
                if rates.rheo < rates.rrsw:
                    require(denominator == 4, (target, draft))
                    layer = Layer(target, draft, draft, 1, 3)
                    require(enumerated_rate(layer, "rheo") < enumerated_rate(layer, "rrsw"), layer)
                    return f"V = 4, m = 1, n = 3: first at denominator 4, p = {_text(target)}, q = {_text(draft)}"
    raise Refuted("no counterexample at V = 4 with denominators up to 4")


def layers_are_lossless() -> str:
    """`layer-lossless` on SPEC's own pools."""
    for layer, _ in _layers():
        for rule in ("rheo", "rrsw"):
            require(emitted_law(layer, rule) == layer.target, (rule, layer))
    return _scope()


def _text(row: tuple[object, ...]) -> str:
    return "(" + ", ".join(map(str, row)) + ")"
