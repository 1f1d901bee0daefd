"""Answers as a notebook shows them: the heart of each page, as one element with its style and without a script."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from rheo_verify.checks.class_walks import class_walks
from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.checks.decoders import Evaluation
from rheo_verify.checks.enumeration import Enumeration
from rheo_verify.checks.per_cycle import Cycle
from rheo_verify.checks.walkthrough import Walkthrough
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.report import acceptance as acceptance_words
from rheo_verify.report import decoders as decoder_words
from rheo_verify.report import enumeration as words
from rheo_verify.report.html.assets import asset
from rheo_verify.report.html.bars import single
from rheo_verify.report.html.check import differences, done
from rheo_verify.report.html.decoders import blame_parts, laws
from rheo_verify.report.html.enumeration import blame_sentence, first_token, wrong_sequences
from rheo_verify.report.html.markup import Inside, Markup, join, tag
from rheo_verify.report.html.page import facts, verdict_line
from rheo_verify.report.html.tree_svg import Picture, inline, legend
from rheo_verify.report.text import both
from rheo_verify.words import count

FEW = 8


class Shown:
    """Several answers side by side, e.g. the cycles of `compare_cycles`, for the last line of a cell."""

    def __init__(self, rows: Sequence[Cycle]) -> None:
        self.rows = tuple(rows)

    def _repr_html_(self) -> str:
        return _whole(_cycles(self.rows))


def to_html(value: Any) -> str | None:
    """One element; None for what has no picture. The same value gives the same text."""
    for kind, show in _KINDS.items():
        if isinstance(value, kind):
            inside = show(value)
            return None if inside is None else _whole(inside)
    return None


def _whole(inside: Inside) -> str:
    style = asset("colours.css") + asset("tree.css") + asset("parts.css")
    return tag("div", tag("style", Markup(style)), inside, class_="rv cell")


def _enumeration(result: Enumeration) -> Inside:
    lossy = result.total_variation
    said = f"not lossless, total variation {both(lossy)}" if lossy else "lossless, total variation 0"
    shown = next(class_walks(result, 1))
    walk = shown.walk
    which = "A class in which it breaks" if lossy else "The most probable class"
    return join(
        verdict_line(result.verdict, f"{said} at budget {result.design.budget}"),
        tag("p", words.headline(result.model, result.design, result.rule), class_="what"),
        facts([("Scope", words.scope(result)), ("Trees", words.trees(result))]),
        blame_sentence(result),
        tag("p", f"{which}, of probability {both(shown.probability)}:"),
        _picture(Picture(walk.model, walk.tree, walk.pruned, shown.blamed)),
        wrong_sequences(result, FEW) if lossy else first_token(result),
    )


def _walkthrough(walk: Walkthrough) -> Inside:
    return join(
        tag("p", words.headline(walk.model, walk.design, walk.rule), class_="what"),
        tag("p", f"A tree of {count(len(walk.tree), 'node')}, {len(walk.pruned)} pruned."),
        _picture(Picture(walk.model, walk.tree, walk.pruned)),
    )


def _picture(picture: Picture) -> Markup:
    name = hashlib.sha256(repr((picture.tree, picture.pruned, picture.blamed)).encode()).hexdigest()[:8]
    return join(tag("div", inline(picture, f"rv-{name}"), class_="scroll"), legend())


def _evaluation(row: Evaluation) -> Inside:
    expected = "lossless" if row.entry.lossless else "lossy"
    said = f"{row.entry.name}: total variation {both(row.total_variation)}; expected: {expected}"
    scope = decoder_words.scope(row.model, row.context, row.levels, row.length)
    return join(
        verdict_line(row.verdict, said),
        tag("p", row.entry.description, class_="what"),
        facts([("Scope", scope)]),
        blame_parts(row) if row.blame is not None else None,
        laws(row, FEW)[:1],
    )


def _rates(rates: LayerRates) -> Inside:
    if any(getattr(rate, "denominator", None) is None or getattr(rate, "shape", ()) for rate in rates):
        return None
    rows: list[tuple[Markup | str, Any]] = [
        (label, getattr(rates, name)) for name, label in acceptance_words.NAMES.items()
    ]
    return single(
        rows, "rule", "accepted", "The probability that a drafted token is accepted at this layer.", largest=1
    )


def _cycles(rows: Sequence[Cycle]) -> Inside:
    taus: list[tuple[Markup | str, Any]] = [(row.name, row.tokens_per_cycle) for row in rows]
    return single(taus, "decoder", "τ", "τ, the expected number of tokens that a cycle emits.")


def _check(report: CheckReport) -> Inside:
    first = report.findings[0] if report.findings else None
    said = f"{report.way} {report.name}" + (f": {first.code}: {first.message}" if first else "")
    parts: list[Inside] = [
        verdict_line(report.verdict, said),
        facts([("Scope", report.scope), ("Not said", report.not_covered)]),
        tag("p", done(report)),
    ]
    if first is not None:
        parts += [tag("pre", first.case), differences(first) if first.differences else None]
    return join(*parts)


_KINDS: dict[type, Callable[[Any], Inside]] = {
    Enumeration: _enumeration,
    Walkthrough: _walkthrough,
    Evaluation: _evaluation,
    LayerRates: _rates,
    Cycle: lambda row: _cycles([row]),
    CheckReport: _check,
}
