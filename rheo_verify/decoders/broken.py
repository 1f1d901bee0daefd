"""Decoders that are lossy: by design, or broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rheo_verify.decoders.decoder import Decoder
from rheo_verify.decoders.dynamic_trees import PAPER, THRESHOLD, design
from rheo_verify.decoders.entry import Entry
from rheo_verify.decoders.rheosampling import rheosampling
from rheo_verify.drafting.build_then_prune import build_then_prune
from rheo_verify.drafting.domino_tree import DominoTree
from rheo_verify.drafting.frozen_tree import frozen
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.medusa import MedusaHeads
from rheo_verify.drafting.shapes import LEAF, chain, uniform
from rheo_verify.drafting.tree import Node
from rheo_verify.drafting.treespark import Fault, TreeSpark
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.rationals import ONE, exact
from rheo_verify.verification import medusa, recursive_rejection, spectr, transport_rules, traversal_verification
from rheo_verify.verification.rules import layer_rule

EPSILON, DELTA = exact("3/10"), exact("11/20")


def _token_ties(levels: int) -> Decoder:
    """Ranked by scores at a precision so low that all of them tie, and ties go by token."""
    broken = replace(design(1, levels, budget=2), ties="token")

    def draft(chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        flat = tuple(ONE / model.vocab for _ in range(model.vocab))
        return build_then_prune(chance, replace(model, draft=lambda _: flat), context, broken)

    return Decoder("token-ties", draft, layer_rule("rheo"))


def _pruned_transport(levels: int) -> Decoder:
    """Q is sampled from too, so that the rule can know the fills that the other draws would have had."""
    grow = rheosampling(design(0, levels, budget=4)).draft

    def draft(chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        return grow(chance, replace(model, sampling_draft=model.draft), context)

    return Decoder("pruned-transport", draft, transport_rules.of_pool())


FAULTS: tuple[tuple[Fault, str], ...] = (
    ("drawn", "a slot's survival reads the token drawn for it"),
    ("dropped", "a child of low survival is dropped after its draw"),
    ("pruned", "only the best nodes are kept after growing"),
    ("sorted", "siblings are sorted by q before verification"),
)


def _treespark(fault: Fault, what: str) -> Entry:
    name = f"treespark-{fault}"
    return Entry(
        name,
        lambda levels: Decoder(name, TreeSpark(THRESHOLD, 4, 2, levels, fault), recursive_rejection.RULE),
        False,
        f"treespark, broken: {what}",
        'a planted fault of "TreeSpark" (Zhou, Wang and Wang)',
        "lossy: given that a token survives, it no longer has the law that verification uses",
    )


ENTRIES = (
    Entry(
        "rheosampling-ad-hoc",
        lambda levels: rheosampling(replace(design(1, levels, budget=2), proxy=exact("1/4"))),
        False,
        "the sampled slot is scored by a constant, 1/4",
        f"{PAPER}, section 3.1 and Table 1 (its counterexample)",
        "lossy: whether the slot survives depends on what was drawn (claim table-1)",
    ),
    Entry(
        "raw-score-tree",
        lambda levels: rheosampling(replace(design(1, levels, budget=2), proxy="raw")),
        False,
        "the sampled slot is scored by q of its own token",
        f"{PAPER}, section 3.1",
        "lossy: a token decides its own survival (claim raw-score-ranking)",
    ),
    Entry(
        "token-ties",
        _token_ties,
        False,
        "ties among path scores are broken by token ids; scores so coarse that all tie",
        "claim tie-rule",
        "lossy; by position it would be lossless",
    ),
    Entry(
        "pruned-transport",
        _pruned_transport,
        False,
        "a transport plan for the n candidates that survived in a pruned dynamic tree",
        'claim pruned-optimum; the rule is that of Hu et al. 2025, "Towards Optimal Multi-draft Speculative Decoding"',
        "lossy: n depends on the drawn token, the plan takes it for fixed",
    ),
    *(_treespark(fault, what) for fault, what in FAULTS),
    Entry(
        "domino-tree-rejection",
        lambda levels: Decoder(
            "domino-tree-rejection", DominoTree(2, levels, 2, sampled=True), recursive_rejection.RULE
        ),
        False,
        "domino-tree-sampled, verified by rejection",
        'a planted fault of "DominoTree" (arXiv 2607.08642)',
        "lossy: the tokens that survive do not have the law they were drawn from",
    ),
    Entry(
        "traversal-deepest-first",
        lambda levels: Decoder(
            "traversal-deepest-first",
            frozen((LEAF, chain(levels - 1)), IID),
            traversal_verification.traversal("deepest"),
        ),
        False,
        "traversal verification that takes the deepest leaf first",
        'a planted fault of "Traversal Verification" (Weng et al. 2025)',
        "lossy: a sibling is tested against a law from which an earlier one should have been taken first",
    ),
    Entry(
        "spectr-lower-end",
        lambda levels: Decoder("spectr-lower-end", frozen(uniform(2, levels), IID), spectr.LOWER_END),
        False,
        "k-sequential selection with rho from the lower end of its bracket, the negative residual clipped",
        'a planted fault of "SpecTr" (Sun et al. 2023), section 4',
        "lossy by less than the bracket's width: what a float solver of rho does",
    ),
    Entry(
        "medusa-typical",
        lambda levels: Decoder("medusa-typical", MedusaHeads((2,) * levels), medusa.typical(EPSILON, DELTA)),
        False,
        "typical acceptance: a token passes if p(x) > min(epsilon, delta exp(-H(p))); epsilon 3/10, delta 11/20",
        'Cai et al. 2024, "Medusa", section 2.3.1',
        "lossy by design; the comparison with exp(-H) is decided exactly",
    ),
    Entry(
        "medusa-nucleus",
        lambda levels: Decoder("medusa-nucleus", MedusaHeads((2,) * levels), medusa.NUCLEUS),
        False,
        "for every candidate path the target draws for itself, and the longest agreement is kept",
        'Cai et al. 2024, "Medusa", as implemented for nucleus sampling',
        "lossy: the best of several independent draws; compare sampler-match-tree",
    ),
)
