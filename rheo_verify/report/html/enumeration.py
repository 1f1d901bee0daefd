"""The page of `enumerate`: the verdict, the counterexample or the classes step by step, the laws, the claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rheo_verify.checks.class_walks import ClassWalk, class_walks
from rheo_verify.checks.enumeration import Enumeration
from rheo_verify.checks.prefixes import count_leaves
from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Limits
from rheo_verify.probability.rationals import Rational, decimal
from rheo_verify.report import enumeration as words
from rheo_verify.report.html.bars import Pair, compared, single
from rheo_verify.report.html.markup import Inside, Markup, join, tag
from rheo_verify.report.html.numbers import number, phrase, token
from rheo_verify.report.html.page import Part, badge, banner, facts, page, unfinished
from rheo_verify.report.html.stepper import listed, walk_section
from rheo_verify.report.html.tables import table
from rheo_verify.report.html.tree_svg import legend
from rheo_verify.report.text import both
from rheo_verify.words import count

MOST_CLASSES = 40
MOST_BYTES = 430_000
MOST_ROWS = 24


def to_html(result: Enumeration, settings: str, command: str, limits: Limits | None = None) -> str:
    """One self-contained page, with the counterexample and the most probable classes, up to about 430 kB of them.

    Where a limit is reached while they are told, the page says so and holds those that were.
    """
    shown, sections, stopped = _embedded(result, settings, limits)
    lossy = result.total_variation
    said = f"total variation {both(lossy)} at budget {result.design.budget}" if lossy else "total variation 0"
    sentence = f"{'not lossless' if lossy else 'lossless'}, {said}"
    title = f"{result.verdict}: {sentence}"
    head = banner(
        result.verdict, sentence, "rheo_verify enumerate", words.headline(result.model, result.design, result.rule)
    )
    head.append(facts(_facts(result)))
    first = "Who is to blame: the smallest counterexample" if lossy else "Classes, step by step"
    laws = [*([wrong_sequences(result)] if lossy else []), first_token(result)]
    parts = [
        Part(
            "classes",
            first,
            [
                blame_sentence(result),
                _picker(result, shown),
                _stopped(stopped, result),
                *sections,
                legend(),
                _reasons(result),
            ],
        ),
        Part("laws", "Expected against found", laws),
        Part("budgets", "Every budget", _budgets(result)),
        Part("accepted", "Tokens per cycle", _accepted(result)),
        Part("claims", "Claims", [_claims(result)]),
    ]
    return page(title, head, parts, command)


def unfinished_html(ended: words.Unfinished, command: str) -> str:
    """The page of an enumeration that a limit ended."""
    what = words.headline(ended.model, ended.design, ended.rule)
    return unfinished("enumerate", ended.why, ended.covered, command, what)


def _facts(result: Enumeration) -> list[tuple[str, Inside]]:
    classes = count_leaves(result.prefixes)
    budget = count(result.design.budget, "node")
    items: list[tuple[str, Inside]] = [("Scope", words.scope(result))]
    if result.verdict is Verdict.VERIFIED and any(result.budgets):
        items.append(("But", tag("b", "it is lossy at smaller budgets: see every budget, below")))
    items.append(("Trees", words.trees(result)))
    items.append(("Classes", f"{classes:,} distinct pruned trees of at most {budget}"))
    return items


def _stopped(why: str, result: Enumeration) -> Inside:
    if not why:
        return None
    lossy = " The counterexample may not be among them." if result.blame is not None else ""
    return tag("p", f"{why.capitalize()} before all of the classes were told step by step.{lossy}", class_="note")


def _embedded(result: Enumeration, settings: str, limits: Limits | None) -> tuple[list[ClassWalk], list[Markup], str]:
    """Classes to show, each with its section, and which limit ended this, if one did."""
    shown: list[ClassWalk] = []
    sections: list[Markup] = []
    try:
        for each, section in _told(result, settings, limits):
            shown.append(each)
            sections.append(section)
    except LimitReached as limit:
        return shown, sections, limit.message
    return shown, sections, ""


def _told(result: Enumeration, settings: str, limits: Limits | None) -> Iterator[tuple[ClassWalk, Markup]]:
    size = 0
    for place, each in enumerate(class_walks(result, MOST_CLASSES, limits), 1):
        section = walk_section(each, f"class-{place}", _heading(result, each, place), _remark(each, settings))
        size += len(section.encode())
        if place > 1 and (size > MOST_BYTES or place > MOST_CLASSES):
            return
        yield each, section


def _heading(result: Enumeration, each: ClassWalk, place: int) -> Markup:
    name = "The counterexample" if place == 1 and result.blame is not None else f"Class {place}"
    later = result.blame is not None and result.blame.context and place == 1
    start = join(", a cycle that starts after ", phrase(result.model, result.blame.context)) if later else None  # type: ignore[union-attr]
    return join(name, ", of probability ", number(each.probability), start)


def _remark(each: ClassWalk, settings: str) -> Inside:
    if each.replay is None:
        return None
    return join("In the terminal: ", tag("code", f"python -m rheo_verify replay {settings}:{each.replay}"))


def _picker(result: Enumeration, shown: Sequence[ClassWalk]) -> Inside:
    classes = count_leaves(result.prefixes)
    options = [
        tag(
            "option",
            f"{place}: {decimal(each.probability)}  {listed(result.model, each.walk.tree)}",
            value=f"class-{place}",
        )
        for place, each in enumerate(shown, 1)
    ]
    left = classes - len(shown)
    note = None
    if left > 0:
        note = tag("p", _left_out(classes, shown, result), class_="note")
    choose = tag("label", "Class ", tag("select", *options, id="pick"), class_="pick", hidden=True)
    return join(choose if len(shown) > 1 else None, note)


def _left_out(classes: int, shown: Sequence[ClassWalk], result: Enumeration) -> str:
    first = " (the counterexample, then the most probable)" if result.blame is not None else " (the most probable)"
    together = sum(each.probability for each in shown)
    return (
        f"This page holds {len(shown)} of {count(classes, 'class', 'classes')}{first}, of probability "
        f"{decimal(together)} together, so that it stays small; --json and replay have the others."
    )


def blame_sentence(result: Enumeration) -> Inside:
    """Where the loss begins and who is to blame; nothing for a lossless design."""
    who = result.blame
    if who is None:
        return None
    where = join(", in the cycle that starts after ", phrase(result.model, who.context)) if who.context else None
    if who.fault is None:
        said = f"every sampled slot is faithful, so the rule {result.rule.name} itself does not preserve the target"
    else:
        said = words.fault_words(result.model, who.fault)[0]
    return tag("p", "The smallest lossy budget is ", tag("b", str(who.budget)), where, ": ", said, ".")


def _reasons(result: Enumeration) -> Inside:
    who = result.blame
    if who is None or who.fault is None:
        return None
    said = words.fault_words(result.model, who.fault)[1:]
    return tag("ul", *(tag("li", line) for line in said), class_="reasons")


def wrong_sequences(result: Enumeration, most: int = MOST_ROWS) -> Markup:
    """Expected against found of the outputs whose probability is wrong."""
    rows = [Pair(phrase(result.model, it.tokens), it.expected, it.found) for it in result.comparison.differences]
    caption = f"Sequences whose probability is wrong at budget {result.design.budget} (the output starts so)."
    return compared(*some(rows, "output", caption, most))


def first_token(result: Enumeration) -> Markup:
    """Expected against found of the first token that comes out."""
    model = result.model
    target, found = model.target(result.context), result.emission.first_token(model.vocab)
    pairs = [Pair(token(model, which), *both_of) for which, both_of in enumerate(zip(target, found, strict=True))]
    caption = "The first token that comes out: its probability under the target, and under this decoder."
    return compared(*some(pairs, "token", caption))


def some(pairs: list[Pair], what: str, caption: str, most: int = MOST_ROWS) -> tuple[list[Pair], str, str]:
    """Arguments of `compared`: the largest differences, or probabilities, where there are too many rows for a page."""
    if len(pairs) <= most:
        return pairs, what, caption
    order = sorted(
        range(len(pairs)), key=lambda at: (-abs(pairs[at].expected - pairs[at].found), -pairs[at].expected, at)
    )
    kept = sorted(order[:most])
    return [pairs[at] for at in kept], what, f"{caption} {len(pairs) - most} of {len(pairs)} rows are left out."


def _budgets(result: Enumeration) -> list[Inside]:
    by = "by comparing laws" if result.budgets_by == "global" else "by the local identities of adapted-growth"
    caption = f"Total variation between what comes out and the target, at every budget, {by}."
    if not any(result.budgets):
        return [tag("p", f"Lossless at {words.every_budget(result)}, {by}.")]
    rows: list[tuple[Markup | str, Rational]] = [(str(k), tv) for k, tv in enumerate(result.budgets, 1)]
    return [single(rows, "budget, nodes", "total variation", caption)]


def _accepted(result: Enumeration) -> list[Inside]:
    if words.lossy_optimum(result):
        return [tag("p", words.accepted(result))]
    emission = result.emission
    per = "per cycle" if result.cycles == 1 else f"in {result.cycles} cycles"
    lines: list[Inside] = [tag("p", number(emission.tokens_per_cycle), f" tokens are emitted {per}, on average (τ).")]
    if result.cycles == 1 and emission.accepted_by_depth:
        rows: list[tuple[Markup | str, Rational]] = [
            (f"at least {depth}", p) for depth, p in enumerate(emission.accepted_by_depth, 1)
        ]
        lines.append(single(rows, "drafted tokens accepted", "probability", "How far a cycle gets.", largest=1))
    return lines


def _claims(result: Enumeration) -> Markup:
    rows: list[tuple[Inside, ...]] = [
        (tag("code", claim), badge(verdict), words.STATEMENTS[claim]) for claim, verdict in result.checks.items()
    ]
    rows += [(tag("code", claim), "not checked", reason) for claim, reason in result.not_checked.items()]
    return table(
        ("claim", "here", "what it says"),
        rows,
        join("What was looked at here; ", tag("code", "rheo_verify prove"), " says how each claim is proved."),
    )
