"""Decoders on trees whose topology is fixed before their tokens are drawn."""

from __future__ import annotations

from rheo_verify.decoders.decoder import Decoder
from rheo_verify.decoders.entry import Entry
from rheo_verify.drafting.delayed_expansion import DelayedExpansion
from rheo_verify.drafting.frozen_tree import frozen
from rheo_verify.drafting.hub import HUB
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.sequoia import best_shape
from rheo_verify.drafting.shapes import paths, uniform
from rheo_verify.drafting.top_and_sampled import TOP_AND_SAMPLED
from rheo_verify.drafting.tsubame import replayed_tree
from rheo_verify.drafting.without_replacement import WITHOUT_REPLACEMENT
from rheo_verify.probability.rationals import exact
from rheo_verify.verification import (
    greedy_multi_draft,
    recursive_rejection,
    spechub,
    spectr,
    transport_rules,
    traversal_verification,
)

SEQUOIA_RATES = tuple(map(exact, ("3/5", "1/5", "1/10")))
SEQUOIA_NODES = 5

ENTRIES = (
    Entry(
        "specinfer",
        lambda levels: Decoder("specinfer", frozen(uniform(2, levels), IID), recursive_rejection.RULE),
        True,
        "two i.i.d. drafts a node, recursive rejection with replacement",
        'Miao et al. 2024, "SpecInfer", section 4.3 (multi-step speculative sampling)',
        "exact: a repeated token is tested again under the new residual, and has children of its own",
    ),
    Entry(
        "rrs-without-replacement",
        lambda levels: Decoder(
            "rrs-without-replacement", frozen(uniform(2, levels), WITHOUT_REPLACEMENT), recursive_rejection.RULE
        ),
        True,
        "two drafts a node without replacement, q renormalised after each",
        'Jeon et al. 2024, "Recursive Speculative Decoding", section 3; Yang et al. 2024, "Multi-Candidate Speculative '
        'Decoding"; "EAGLE" (Li et al. 2024)',
        "exact: tested in the order of the draws, each against the renormalised law it was drawn from",
    ),
    Entry(
        "sequoia",
        lambda levels: Decoder(
            "sequoia",
            frozen(best_shape(SEQUOIA_RATES, SEQUOIA_NODES, levels)[1], WITHOUT_REPLACEMENT),
            recursive_rejection.RULE,
        ),
        True,
        "a static tree by dynamic programming over acceptance by position (3/5, 1/5, 1/10), without replacement",
        'Chen et al. 2024, "Sequoia: Scalable, Robust, and Hardware-aware Speculative Decoding", sections 3.1 and 3.2',
        "exact for every topology that does not look at drawn tokens; the rates are an input",
    ),
    Entry(
        "spectr",
        lambda levels: Decoder("spectr", frozen(uniform(2, levels), IID), spectr.RULE),
        True,
        "k-sequential selection of two i.i.d. drafts",
        'Sun et al. 2023, "SpecTr: Fast Speculative Decoding via Optimal Transport", section 4',
        "exact because rho is the upper end of a rational bracket around rho*; at the lower end it is lossy",
    ),
    Entry(
        "spechub",
        lambda levels: Decoder("spechub", frozen(uniform(2, levels), HUB), spechub.RULE),
        True,
        "two drafts, one of them always the most probable token, verified by a sparse transport through it",
        'Sun et al. 2024, "SpecHub: Provable Acceleration to Multi-Draft Speculative Decoding", section 3',
        "exact as published",
    ),
    Entry(
        "greedy-multi-draft",
        lambda levels: Decoder(
            "greedy-multi-draft", frozen(uniform(2, levels), TOP_AND_SAMPLED), greedy_multi_draft.RULE
        ),
        True,
        "the most probable token and one sampled from the rest, with the transport-optimal rule",
        'Hu et al. 2025, "Towards Optimal Multi-draft Speculative Decoding", section 4',
        "exact, and reaches the optimum of its own law of candidates",
    ),
    Entry(
        "optimal-transport",
        lambda levels: Decoder("optimal-transport", frozen(uniform(2, levels), IID), transport_rules.of_siblings(IID)),
        True,
        "two i.i.d. drafts a node under a transport plan of most acceptance",
        'Sun et al. 2023, "SpecTr", section 3 (linear program); Thomas and Pal 2026, "Global Resolution"',
        "exact: the plan is a largest flow in integers, where published solvers are lossless to a tolerance",
    ),
    Entry(
        "tsubame",
        lambda levels: Decoder("tsubame", replayed_tree(2, levels, 4, WITHOUT_REPLACEMENT), recursive_rejection.RULE),
        True,
        "a top-K topology planned from draft scores and frozen, its tokens then sampled without replacement",
        '"Tsubame: Tree Replay for Diffusion-Based Speculative Decoding" (arXiv 2609.33652), abstract',
        "exact: the shape is a function of the root's context alone. How siblings are sampled is open in the abstract",
    ),
    Entry(
        "delayed-expansion",
        lambda levels: Decoder(
            "delayed-expansion", DelayedExpansion(2, 1, max(1, levels - 1)), recursive_rejection.RULE
        ),
        True,
        "a single path first, then two i.i.d. paths from its end",
        '"Delayed expansion" (Thomas et al., arXiv 2602.16994)',
        "exact: equal prefixes merge, child lists keep their multiplicity",
    ),
    Entry(
        "traversal-verification",
        lambda levels: Decoder("traversal-verification", frozen(paths(2, levels), IID), traversal_verification.RULE),
        True,
        "two i.i.d. paths from the root, verified bottom-up with sequence-level acceptance",
        'Weng et al. 2025, "Traversal Verification for Speculative Tree Decoding", algorithm 2',
        "exact if the first remaining leaf is always the next; duplicates are nodes of their own",
    ),
)
