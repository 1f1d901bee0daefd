"""The tree claims on every small model and design, all trees formed; and broken designs with their blame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from rheo_verify.checks.enumeration import Enumeration, enumerate_design
from rheo_verify.checks.structure import Blame, blame
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import Proxy, TreeDesign
from rheo_verify.models.model import Model, context_free
from rheo_verify.probability.rationals import exact
from rheo_verify.verification.rules import layer_rule

from ..check import require
from .scopes import models, rows

CLAIMS = (
    "lossless",
    "slot-determinism",
    "sampled-outranks-fill",
    "scores-never-increase",
    "layer-lossless",
    "eager-equals-lazy",
    "adapted-growth",
)


def _designs(vocab: int, beams: tuple[int, ...], depth: int, budget: int) -> Iterator[TreeDesign]:
    for lead, pool, beam in product(range(vocab), range(1, vocab + 1), beams):
        yield TreeDesign(lead=lead, pool=pool, beam=beam, depth=depth, budget=budget)


def _instances() -> Iterator[tuple[Model, TreeDesign]]:
    """V = 2 with a row a context (K = 2), V = 2 and 3 without contexts; all designs with m < V and K <= V there."""
    for model in models(2, 2, 2):
        for lead, beam in product((0, 1), (1, 2)):
            yield model, TreeDesign(lead=lead, pool=2, beam=beam, depth=2, budget=3)
    for model in models(2, 3, 1):
        for design in _designs(2, (1, 2), 3, 5):
            yield model, design
    for model in models(3, 2, 1):
        for design in _designs(3, (2,), 2, 4):
            yield model, design


@cache
def _sweep() -> tuple[int, int]:
    """Every claim of `CLAIMS` on every instance, at every budget; returns how many instances and trees."""
    instances = trees = 0
    for model, design in _instances():
        for rule in ("rheo", "rrsw"):
            result = enumerate_design(model, design, layer_rule(rule), method="exhaustive")
            require(not any(result.budgets), _about(result))
            for claim in CLAIMS:
                require(result.checks.get(claim) is Verdict.VERIFIED, (claim, rule, _about(result)))
        instances += 1
        trees += result.trees or 0
    return instances, trees


def every_small_tree() -> str:
    """All claims about trees at once."""
    instances, trees = _sweep()
    return (
        f"{instances:,} models and designs, {trees:,} trees: V = 2 with denominators up to 2 at each of 3 contexts, "
        "V = 2 and 3 without contexts (denominators up to 3 and 2); rheo and rrsw"
    )


@cache
def _broken(proxy: Proxy) -> tuple[int, list[Enumeration]]:
    """Every q at V = 3 with a denominator up to 6, p up to 2, m = 0 and 1, R = m + 1; the lossy ones."""
    lossy: list[Enumeration] = []
    instances = 0
    for target in rows(3, 2):
        for draft in rows(3, 6):
            for lead in (0, 1):
                design = TreeDesign(lead=lead, pool=3, depth=1, budget=lead + 1, proxy=proxy)
                result = enumerate_design(context_free(target, draft), design, layer_rule("rheo"))
                instances += 1
                lossy += [result] if any(result.budgets) else []
    require(bool(lossy), f"no design with the proxy {proxy} is lossy")
    return instances, lossy


def blame_finds_a_slot() -> str:
    """`blame`: with the faithful rule, every lossy design has an unfaithful slot at the smallest lossy budget."""
    instances = lossy = 0
    for proxy in (exact("1/4"), exact("2/5")):
        tried, refuted = _broken(proxy)
        for result in refuted:
            blame = result.blame or blame_at(result)
            require(blame.fault is not None and blame.fault.distance > 0, _about(result))
            require(blame.budget == next(k for k, d in enumerate(result.budgets, 1) if d), _about(result))
        instances, lossy = instances + tried, lossy + len(refuted)
    return f"{lossy:,} lossy of {instances:,} designs with the proxies 1/4 and 2/5 at V = 3, denominator up to 6"


def blame_at(result: Enumeration) -> Blame:
    """Whom to blame when only a smaller budget than R is lossy."""
    return blame(result.prefixes, next(k for k, distance in enumerate(result.budgets, 1) if distance))


def raw_scores_are_lossy() -> str:
    """`raw-score-ranking`: how often, and the first instance."""
    instances, lossy = _broken("raw")
    return f"{len(lossy):,} lossy of {instances:,} at V = 3, denominator up to 6; the first: {_about(lossy[0])}"


def token_ties_are_lossy() -> str:
    """`tie-rule`: lossy by token, lossless by position, on the same models."""
    lossy = 0
    for model in models(3, 3, 1):
        by_token, by_position = (
            enumerate_design(
                model, TreeDesign(lead=1, pool=3, depth=1, budget=2, ties=ties), layer_rule("rheo"), method="exhaustive"
            )
            for ties in ("token", "position")
        )
        require(by_position.verdict is Verdict.VERIFIED, _about(by_position))
        lossy += by_token.verdict is Verdict.REFUTED
    require(lossy > 0, "no model with denominators up to 3 refutes ties by token")
    return f"{lossy:,} models at V = 3, denominator up to 3, are lossy by token; all are lossless by position"


def _about(result: Enumeration) -> str:
    rows = (result.model.target(()), result.model.draft(()))
    p, q = ("(" + ", ".join(map(str, row)) + ")" for row in rows)
    return f"p = {p}, q = {q} at the root, {result.design}, total variation {result.total_variation}"
