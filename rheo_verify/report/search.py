"""A search as text and as JSON data."""

from __future__ import annotations

from typing import Any

from rheo_verify.checks.acceptance import layer_rates
from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.checks.instances import Instance
from rheo_verify.checks.search import Search
from rheo_verify.checks.verdict import Verdict
from rheo_verify.probability.rationals import decimal, text
from rheo_verify.report.tables import table
from rheo_verify.report.terminal import NARROW
from rheo_verify.report.text import Style
from rheo_verify.words import count

SCHEMA = {"schema": "rheo_verify/search", "version": 1}


def search_text(search: Search, style: Style | None = None) -> str:
    """The whole report."""
    style = style or Style()
    scope = search.scope
    said = (
        f"all p and q with common denominator at most {scope.denominator} over {count(scope.vocab, 'token')},",
        f"q-hat = q, up to relabelling; {count(len(scope.shapes), 'layer')} (n candidates, m lead); exact integers",
    )
    reached = "" if search.ended else f"{_reached(search)}; not covered: everything after that"
    lines = [f"{search.verdict}: {_headline(search)}", ""]
    if style.width < NARROW:
        lines += [style.item("scope", f"{' '.join(said)}"), *([style.item("reached", reached)] if reached else [])]
    else:
        lines += [f"  scope    {said[0]}", f"           {said[1]}", *([f"  reached  {reached}"] if reached else [])]
    if search.first is not None:
        lines += [
            "",
            "Smallest instance (by V, n, m, denominator, then q, then p)",
            *_instance_lines(search.first, style),
        ]
    if search.best is not None and search.best_value is not None:
        value = f"{text(search.best_value)} = {decimal(search.best_value)}"
        lines += ["", f"Largest {scope.largest} among those found: {value}", *_instance_lines(search.best, style)]
    return "\n".join([*lines, "", "How often", *_counts(search, style)])


def search_data(search: Search) -> dict[str, Any]:
    """The report as one JSON object; rationals are strings."""
    scope = search.scope
    return {
        **SCHEMA,
        "verdict": str(search.verdict),
        "where": scope.where,
        "vocab": scope.vocab,
        "denominator": scope.denominator,
        "ended": search.ended,
        "first": _instance_data(search.first),
        "largest": scope.largest,
        "largest_value": None if search.best_value is None else text(search.best_value),
        "largest_at": _instance_data(search.best),
        "counts": [
            {
                "candidates": n,
                "lead": m,
                "pairs": tally.pairs,
                "found": tally.found,
                "labelled_pairs": tally.labelled,
                "labelled_found": tally.labelled_found,
            }
            for (n, m), tally in zip(scope.shapes, search.tallies, strict=True)
        ],
    }


def _headline(search: Search) -> str:
    where = search.scope.where
    if search.verdict is Verdict.REFUTED:
        return f'there are p and q with "{where}"'
    if search.verdict is Verdict.VERIFIED:
        return f'no p and q in scope have "{where}"'
    return f'none with "{where}" was found before the search stopped'


def _reached(search: Search) -> str:
    if search.ended:
        return "the end"
    shape, denominator, _ = search.cursor
    n, m = search.scope.shapes[shape]
    return f"n = {n}, m = {m}, denominator {denominator}"


def _instance_lines(instance: Instance, style: Style) -> list[str]:
    rates = layer_rates(instance.layer)
    names = (("rheo", "rheo"), ("rrsw", "rrsw"), ("top-K", "top_k"), ("optimal", "optimal"), ("bound", "upper_bound"))
    shown = [(label, text(getattr(rates, name)), decimal(getattr(rates, name))) for label, name in names]
    p, q = (",".join(map(str, row)) for row in (instance.target, instance.draft))
    return [
        f"  p = ({p.replace(',', ', ')}) / {instance.denominator}",
        f"  q = ({q.replace(',', ', ')}) / {instance.denominator}",
        f"  n = {count(instance.candidates, 'candidate')}, m = {instance.lead} lead",
        *table(("rate", "exact", "decimal"), shown, style),
        f"  see it: rheo_verify acceptance --target {p} --draft {q} --m {instance.lead} --k {instance.candidates}",
    ]


def _counts(search: Search, style: Style) -> list[str]:
    rows = []
    for (n, m), tally in zip(search.scope.shapes, search.tallies, strict=True):
        rows.append((f"n={n} m={m}", *_share(tally.found, tally.pairs), *_share(tally.labelled_found, tally.labelled)))
    whole = search.total
    rows.append(("all", *_share(whole.found, whole.pairs), *_share(whole.labelled_found, whole.labelled)))
    head = ("layer", "found", "of pairs", "share", "labelled", "of labelled", "labelled share")
    return table(head, rows, style)


def _share(found: int, whole: int) -> tuple[str, str, str]:
    return f"{found:,}", f"{whole:,}", f"{100 * found / whole:.3f} %" if whole else "-"


def _instance_data(instance: Instance | None) -> dict[str, Any] | None:
    if instance is None:
        return None
    layer = instance.layer
    rates = layer_rates(layer)
    return {
        "candidates": instance.candidates,
        "lead": instance.lead,
        "denominator": instance.denominator,
        "target": [text(value) for value in layer.target],
        "draft": [text(value) for value in layer.draft],
        "rates": {name: text(getattr(rates, name)) for name in LayerRates._fields},
    }
