"""The page of `decoders`: the table, sortable, with a link from each row to its detail; or one decoder by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheo_verify.checks.adapted_growth import AdaptedGrowth, Step
from rheo_verify.checks.decoders import Evaluation
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.tree import Kind, Node
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.rationals import ONE, ZERO, Rational, decimal, text
from rheo_verify.report import decoders as words
from rheo_verify.report.html.bars import Pair, compared, single
from rheo_verify.report.html.enumeration import MOST_ROWS, some
from rheo_verify.report.html.markup import Inside, Markup, join, tag
from rheo_verify.report.html.numbers import number, phrase, token
from rheo_verify.report.html.page import Part, badge, banner, facts, page
from rheo_verify.report.html.tables import Cell, table
from rheo_verify.report.html.tree_svg import Picture, inline
from rheo_verify.report.text import both
from rheo_verify.words import count

HEADS = ("decoder", "verdict", "expected", "TV", "tokens", "accepted", "optimum", "calls", "paths")


def table_html(
    rows: Sequence[words.Row], model: Model, context: Context, levels: int, length: int, command: str
) -> str:
    """One self-contained page: the table, then every decoder."""
    wrong = [row for row in rows if isinstance(row, Evaluation) and row.entry.lossless and not row.as_expected]
    open_rows = [row for row in rows if row.verdict is Verdict.INCONCLUSIVE]
    verdict = Verdict.REFUTED if wrong else Verdict.INCONCLUSIVE if open_rows else Verdict.VERIFIED
    lossy = sum(row.verdict is Verdict.REFUTED for row in rows)
    sentence = {
        Verdict.REFUTED: f"should be lossless, but not so: {', '.join(row.entry.name for row in wrong)}",
        Verdict.INCONCLUSIVE: f"a limit ended {len(open_rows)} of {count(len(rows), 'decoder')}",
        Verdict.VERIFIED: "every decoder that should be lossless is",
    }[verdict]
    what = f"{count(len(rows), 'decoder')}, {lossy} of them lossy on this model"
    head = banner(verdict, sentence, "rheo_verify decoders", what)
    head.append(facts([("Scope", words.scope(model, context, levels, length))]))
    whole = table(HEADS, [_row(row) for row in rows], words.columns(length), sortable=True)
    details: list[Inside] = [
        tag(
            "article",
            tag("h3", row.entry.name, " ", badge(row.verdict)),
            *_detail(row),
            class_="detail",
            id=_anchor(row),
            tabindex="-1",
        )
        for row in rows
    ]
    parts = [Part("table", "All decoders", [whole]), Part("details", "One by one", details)]
    return page(f"{verdict}: {sentence}", head, parts, command)


def one_html(row: Evaluation, growth: AdaptedGrowth | None, curve: words.Curve, command: str) -> str:
    """One self-contained page of one decoder; a lossy one's opens on where it breaks."""
    lossy = row.verdict is Verdict.REFUTED
    expected = "lossless" if row.entry.lossless else "lossy"
    said = f"{'lossy' if lossy else 'lossless'}, total variation {both(row.total_variation)}; expected: {expected}"
    head = banner(
        row.verdict, said, "rheo_verify decoders", join(tag("b", row.entry.name), ": ", row.entry.description)
    )
    head.append(facts([("Scope", words.scope(row.model, row.context, row.levels, row.length))]))
    parts = [Part("numbers", "The numbers", [_numbers(row), *_depths(row)])]
    if row.blame is not None:
        parts.insert(0, Part("blame", "Who is to blame", blame_parts(row)))
    parts.insert(1 if lossy else 0, Part("laws", "Expected against found", laws(row)))
    seen = words.growth_words(growth, row)
    parts.append(Part("growth", "How its tree is revealed", [tag("p", seen[0].upper(), seen[1:], ".")]))
    if curve:
        points: list[tuple[Markup | str, Rational]] = [(text(factor), distance) for factor, distance in curve]
        caption = "The larger the factor of lenience, the larger the loss."
        parts.append(Part("curve", "By factor", [single(points, "factor", "total variation", caption)]))
    return page(f"{row.verdict}: {row.entry.name}", head, parts, command)


def _anchor(row: words.Row) -> str:
    return f"d-{row.entry.name}"


def _row(row: words.Row) -> list[Any]:
    name = Cell(tag("a", row.entry.name, href=f"#{_anchor(row)}"), row.entry.name)
    expected = "lossless" if row.entry.lossless else "lossy"
    if not isinstance(row, Evaluation):
        return [name, Cell(badge(row.verdict), str(row.verdict)), expected, *[Cell("", "")] * 6]
    depths = " ".join(decimal(p, 3) for p in row.accepted_by_depth) or "-"
    return [
        name,
        Cell(badge(row.verdict), str(row.verdict)),
        expected,
        _number(row.total_variation, words.short(row.total_variation)),
        _number(row.tokens_per_cycle),
        Cell(depths, float(row.accepted_by_depth[0]) if row.accepted_by_depth else 0, number=True),
        Cell("-", "") if row.optimum is None else _number(row.optimum),
        _number(row.target_calls),
        Cell(f"{row.paths:,}", row.paths, number=True),
    ]


def _number(value: Rational, shown: str | None = None) -> Cell:
    exact = text(value)
    return Cell(shown or decimal(value, 3), float(value), True, exact if len(exact) < 100 else None)


def _detail(row: words.Row) -> list[Inside]:
    if not isinstance(row, Evaluation):
        return [tag("p", row.entry.description), tag("p", row.why)]
    parts: list[Inside] = [tag("p", row.entry.description), _numbers(row)]
    if row.blame is not None:
        parts += blame_parts(row)
        parts += laws(row)[:1]
    return parts


def _numbers(row: Evaluation) -> Markup:
    items: list[tuple[str, Inside]] = [
        ("Source", row.entry.source),
        ("What is exact", row.entry.exactness),
        ("Total variation", number(row.total_variation)),
        ("Tokens", join(number(row.tokens_per_cycle), " emitted in the first cycle, on average")),
    ]
    if row.optimum is not None:
        items.append(("Optimum", join(number(row.optimum), " at the root: no rule can accept more of these drafts")))
    items.append(("Calls", join(number(row.target_calls), f" of the target for {count(row.length, 'token')}")))
    items.append(("Paths", f"{count(row.paths, 'outcome')} told apart"))
    return facts(items)


def _depths(row: Evaluation) -> list[Inside]:
    depths: list[tuple[Markup | str, Rational]] = [
        (f"at least {depth}", p) for depth, p in enumerate(row.accepted_by_depth, 1)
    ]
    if not depths:
        return []
    return [single(depths, "drafted tokens accepted", "probability", "How far a cycle gets.", largest=1)]


def laws(row: Evaluation, most: int = MOST_ROWS) -> list[Inside]:
    """Expected against found: the outputs that are wrong, if any; the first token."""
    model, tables = row.model, []
    if row.comparison.differences:
        pairs = [Pair(phrase(model, it.tokens), it.expected, it.found) for it in row.comparison.differences]
        caption = (
            f"Outputs of up to {count(row.length, 'token')} whose probability is wrong, largest differences first."
        )
        tables.append(compared(*some(pairs, "output", caption, most)))
    target, found = model.target(row.context), row.emission.first_token(model.vocab)
    pairs = [Pair(token(model, which), *two) for which, two in enumerate(zip(target, found, strict=True))]
    caption = "The first token that comes out: its probability under the target, and under this decoder."
    return [*tables, compared(*some(pairs, "token", caption))]


def blame_parts(row: Evaluation) -> list[Inside]:
    """Who is to blame, with the two laws of the slot and a picture of what was revealed before it."""
    said = words.blame(row)
    parts: list[Inside] = [tag("p", tag("b", "To blame: "), said, ".")]
    growth = row.blame.growth if row.blame is not None else None
    if growth is None or growth.blamed is None:
        return parts
    step = growth.blamed
    if growth.culprit == "slot" and step.stated is not None:
        rows = [
            Pair(token(row.model, which), p, step.found.get(which, ZERO))
            for which, p in enumerate(step.stated)
            if p or which in step.found
        ]
        caption = "The law that verification uses for this slot, and the law that the token has, given the past."
        parts.append(compared(*some(rows, "token", caption), ("verification uses", "drawn from")))
    if step.tree or step.stated is not None:
        parts.append(_picture(row, step))
    return parts


def _picture(row: Evaluation, step: Step) -> Inside:
    """The past of the blamed step, and one token of the slot."""
    token_there = max(step.found, key=lambda which: (step.found[which], -which), default=None)
    tree = step.tree
    if token_there is not None:
        kind: Kind = "sampled" if step.stated is not None else "lead"
        tree = (*tree, Node(step.slot, (*step.tokens, token_there), kind, ONE, step.stated))
    name = f"{_anchor(row)}-tree"
    title = f"What was revealed before the slot to blame, and the slot ({count(len(tree), 'node')})"
    picture = inline(Picture(row.model, tree, (), step.slot, title, scores=False), name)
    said = "What was revealed before, and the slot to blame (thick). Hexagons are sampled, boxes are taken as they are."
    figure = tag("div", picture, class_="figure scroll", tabindex="0", role="region", aria_label="the tree")
    return join(tag("p", said, class_="label"), figure)
