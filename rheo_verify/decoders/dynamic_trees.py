"""Decoders whose tree grows by what the drafter says, lossless all."""

from __future__ import annotations

from dataclasses import replace

from rheo_verify.decoders.decoder import Decoder
from rheo_verify.decoders.entry import Entry
from rheo_verify.decoders.rheosampling import rheosampling
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.domino_tree import DominoTree
from rheo_verify.drafting.jetspec import JetSpec
from rheo_verify.drafting.opt_tree import OptTree
from rheo_verify.drafting.treespark import TreeSpark
from rheo_verify.probability.rationals import exact
from rheo_verify.verification import recursive_rejection, sampler_match

PAPER = (
    '"RheoSampling: Resolving the One-Hot Dilemma in Stochastic Dynamic-Tree Speculative Decoding" (arXiv 2609.21827)'
)
THRESHOLD = exact("1/10")


def design(lead: int, levels: int, budget: int = 6) -> TreeDesign:
    """The table's dynamic tree: K = W = 3, or K = m + 1 where m needs more."""
    return TreeDesign(lead=lead, pool=max(3, lead + 1), beam=3, depth=levels, budget=budget)


def rheosampling_entry(lead: int, rule: str) -> Entry:
    """RheoSampling with m = `lead`, for any m."""
    tested = "the sampled candidate first" if rule == "rheo" else "the candidates in slot order"
    return Entry(
        f"rheosampling-m{lead}-{rule}",
        lambda levels: rheosampling(design(lead, levels), rule),
        True,
        f"dynamic tree, {lead} lead tokens and a sampled one a node, scored by a proxy; verification tests {tested}",
        f"{PAPER}, section 3" + ("" if rule == "rheo" else ", appendix D.2"),
        "exact: built whole and pruned, as published; claims lossless, slot-determinism",
    )


def _top_k(name: str, source: str) -> Entry:
    return Entry(
        name,
        lambda levels: Decoder(
            name, rheosampling(replace(design(3, levels), pool=3), "topk").draft, sampler_match.RULE
        ),
        True,
        "dynamic tree of top-K tokens, expanded and reranked by the product of q, all chosen without chance",
        source,
        "exact for every tree; at temperature above 0 it accepts no more than the mass of p on its tokens",
    )


ENTRIES = (
    _top_k(
        "eagle-2", 'Li et al. 2024, "EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees", section 4'
    ),
    _top_k("eagle-3", 'Li et al. 2025, "EAGLE-3: Scaling up Inference Acceleration via Training-Time Test", section 3'),
    Entry(
        "opt-tree",
        lambda levels: Decoder("opt-tree", OptTree(3, levels), sampler_match.RULE),
        True,
        "a deterministic tree grown while its expected acceptance length still grows",
        'Wang et al. 2025, "OPT-Tree: Speculative Decoding with Adaptive Draft Tree Structure", section 3.2',
        "exact for every tree, by sampler match",
    ),
    *(rheosampling_entry(lead, rule) for lead in (0, 1, 2) for rule in ("rheo", "rrsw")),
    Entry(
        "treespark",
        lambda levels: Decoder("treespark", TreeSpark(THRESHOLD, 4, 2, levels), recursive_rejection.RULE),
        True,
        "best-first by path survival with early stopping; siblings without replacement, matching residuals",
        'Zhou, Wang and Wang, "TreeSpark"',
        "exact: a slot's survival is bounded before its token is read; the calibration is the identity here",
    ),
    Entry(
        "jetspec",
        lambda levels: Decoder("jetspec", JetSpec(2, levels, 5), sampler_match.RULE),
        True,
        "a tree out of one parallel forward, best first, verified by sampler match",
        '"JetSpec" (arXiv 2606.18394)',
        "exact at any temperature, since sampler match ignores q; the parallel rows are exact marginals here",
    ),
    Entry(
        "domino-tree",
        lambda levels: Decoder("domino-tree", DominoTree(2, levels, 4), sampler_match.RULE),
        True,
        "parallel rows corrected along each path; best first, verified by sampler match",
        '"DominoTree" (arXiv 2607.08642)',
        "exact for every correction; here the row is multiplied with the draft's own after the path",
    ),
    Entry(
        "domino-tree-sampled",
        lambda levels: Decoder("domino-tree-sampled", DominoTree(2, levels, 2, sampled=True), sampler_match.RULE),
        True,
        "domino-tree with children drawn without replacement, each still scored by its own q",
        '"DominoTree" (arXiv 2607.08642)',
        "exact though a drawn token decides its own survival: sampler match never looks at q",
    ),
)
