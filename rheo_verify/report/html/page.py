"""The shell of a page: one file, its styles and script inside, and a policy that forbids it to load anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import rheo_verify
from rheo_verify.checks.verdict import Verdict
from rheo_verify.report.html.assets import asset
from rheo_verify.report.html.markup import Inside, Markup, tag

SHEETS = ("colours.css", "tree.css", "parts.css", "page.css")
EARLY = 'document.documentElement.classList.add("js");'
"""Before anything is laid out: what the script will hide is then never laid out at all."""
SIGNS = {Verdict.VERIFIED: "✓", Verdict.REFUTED: "✗", Verdict.INCONCLUSIVE: "?"}


@dataclass(frozen=True)
class Part:
    """A section of a page: the name in its address, its heading, what is in it."""

    name: str
    heading: str
    inside: Sequence[Inside]


def page(title: str, head: Sequence[Inside], parts: Sequence[Part], command: str) -> str:
    """A whole page. The same arguments give the same bytes."""
    style = "".join(map(asset, SHEETS))
    script = asset("report.js")
    scripts = f"{_digest(EARLY)} {_digest(script)}"
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {scripts}; base-uri 'none'"
    links = [tag("li", tag("a", part.heading, href=f"#{part.name}")) for part in parts]
    whole = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="generator", content=f"rheo_verify {rheo_verify.__version__}"),
            tag("title", title),
            tag("style", Markup(style)),
            tag("script", Markup(EARLY)),
        ),
        tag(
            "body",
            tag("a", "Skip to the answer", href="#answer", class_="skip"),
            tag("header", *head, _command(command), class_="top"),
            tag("nav", tag("ul", links), aria_label="Parts of this page") if len(parts) > 1 else None,
            tag("main", *(_section(part) for part in parts), id="answer", tabindex="-1"),
            tag("footer", tag("p", f"Made by rheo_verify {rheo_verify.__version__}. Everything is in this one file.")),
            tag("script", Markup(script)),
            class_="rv",
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{whole}\n"


def verdict_line(verdict: Verdict, said: Inside, heading: str = "p") -> Markup:
    """Sign, word, and one sentence."""
    name = str(verdict)
    return tag(
        heading,
        tag("span", SIGNS[verdict], class_="sign", aria_hidden="true"),
        tag("span", name, class_="word"),
        " ",
        tag("span", said, class_="said"),
        class_=f"verdict {name.lower()}",
    )


def banner(verdict: Verdict, said: Inside, kicker: Inside, what: Inside) -> list[Markup]:
    """The verdict, first of all."""
    return [
        tag("p", kicker, class_="kicker"),
        verdict_line(verdict, said, "h1"),
        tag("p", what, class_="what") if what else Markup(),
    ]


def unfinished(name: str, why: str, covered: str, command: str, what: Inside = None) -> str:
    """The page of a command that a limit ended."""
    head = banner(Verdict.INCONCLUSIVE, why, f"rheo_verify {name}", what)
    said = f"{covered}; nothing can be said of the rest." if covered else "Nothing can be said."
    parts = [Part("covered", "What was covered", [tag("p", said)])]
    return page(f"{Verdict.INCONCLUSIVE}: {why}", head, parts, command)


def headline(kicker: Inside, sentence: Inside, what: Inside) -> list[Markup]:
    """The head of a page that answers something else than verified or refuted."""
    return [tag("p", kicker, class_="kicker"), tag("h1", sentence, class_="verdict"), tag("p", what, class_="what")]


def badge(verdict: Verdict) -> Markup:
    """A verdict in a line or a cell."""
    name = str(verdict)
    sign = tag("span", SIGNS[verdict], aria_hidden="true")
    return tag("span", sign, "\u00a0", name, class_=f"badge {name.lower()}")


def facts(items: Sequence[tuple[str, Inside]]) -> Markup:
    """A list of terms and what is said of them."""
    return tag("dl", *([tag("dt", term), tag("dd", said)] for term, said in items), class_="facts")


def code(command: str) -> Markup:
    """A command that can be copied."""
    button = tag("button", "Copy", type="button", class_="copy", hidden=True)
    return tag("div", tag("pre", tag("code", command), tabindex="0", aria_label="command"), button, class_="command")


def _command(command: str) -> Inside:
    return tag("div", tag("p", "The command behind this page", class_="label"), code(command)) if command else None


def _section(part: Part) -> Markup:
    heading = tag("h2", part.heading, id=f"{part.name}-heading")
    return tag("section", heading, *part.inside, id=part.name, aria_labelledby=f"{part.name}-heading")


def _digest(written: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(written.encode()).digest()).decode()}'"
