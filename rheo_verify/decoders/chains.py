"""Decoders that draft one path, and the one that drafts none."""

from __future__ import annotations

from rheo_verify.decoders.decoder import Decoder
from rheo_verify.decoders.entry import Entry
from rheo_verify.drafting.frozen_tree import frozen
from rheo_verify.drafting.iid import IID
from rheo_verify.drafting.shapes import LEAF, chain, uniform
from rheo_verify.drafting.top import TOP
from rheo_verify.drafting.two_stage import TWO_STAGE
from rheo_verify.probability.rationals import exact
from rheo_verify.verification import block_verification, lenient, recursive_rejection, sampler_match

LENIENCE = exact("3/2")

ENTRIES = (
    Entry(
        "autoregressive",
        lambda levels: Decoder("autoregressive", frozen(LEAF, IID), sampler_match.RULE),
        True,
        "the target alone: no draft, one token a cycle",
        "the definition of the target's law",
        "nothing to verify: every cycle draws from p",
    ),
    Entry(
        "speculative-sampling",
        lambda levels: Decoder("speculative-sampling", frozen(chain(levels), IID), recursive_rejection.RULE),
        True,
        "a chain of drafts, each accepted with min(1, p/q), the first rejected one replaced from norm((p - q)+)",
        'Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", section 2.3; '
        'Chen et al. 2023, "Accelerating Large Language Model Decoding with Speculative Sampling", algorithm 2',
        "exact as published",
    ),
    Entry(
        "greedy-draft",
        lambda levels: Decoder("greedy-draft", frozen(chain(levels), TOP), recursive_rejection.RULE),
        True,
        "a chain of the drafter's most probable tokens, verified as point masses: accepted with probability p(x)",
        'Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", section 2.3, with a draft '
        "at temperature 0",
        "exact as published; the draft's law at verification must be the point mass, not q",
    ),
    Entry(
        "block-verification",
        lambda levels: Decoder("block-verification", frozen(chain(levels), IID), block_verification.RULE),
        True,
        "a chain verified jointly: for every i, i tokens are accepted at least as often as by speculative-sampling",
        'Sun et al. 2024, "Block Verification Accelerates Speculative Decoding", algorithm 2',
        "exact as published; a coin of weights 0/0 falls yes",
    ),
    Entry(
        "sampler-match",
        lambda levels: Decoder("sampler-match", frozen(chain(levels), IID), sampler_match.RULE),
        True,
        "a chain: accept while the draft equals the target's own draw",
        'as served by common engines; "EAGLE" (Li et al. 2024) verifies so at temperature 0',
        "exact for every draft, whatever its law; it wastes the sample",
    ),
    Entry(
        "sampler-match-tree",
        lambda levels: Decoder("sampler-match-tree", frozen(uniform(2, levels), IID), sampler_match.RULE),
        True,
        "a tree of two i.i.d. drafts a node, with one shared target draw a node",
        "as sampler-match; equal siblings count once",
        "exact for every tree; one draw a node is what makes it so (independent draws a path: medusa-nucleus)",
    ),
    Entry(
        "loopspec",
        lambda levels: Decoder("loopspec", frozen(uniform(2, levels), TWO_STAGE), recursive_rejection.RULE),
        True,
        "two-stage self-drafting: x from the first loop; where the second loop thinks less of x, a second token y from "
        "what it has in excess",
        '"LoopSpec" (arXiv 2609.17184)',
        "exact: y is tested against its own law R under the residual of x. Two rows stand for the two loops",
    ),
    Entry(
        "lenient",
        lambda levels: Decoder("lenient", frozen(chain(levels), IID), lenient.lenient(LENIENCE)),
        False,
        "a chain accepted with min(1, l p/q), l = 3/2",
        'Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", appendix A.5 (lenience)',
        "lossy by design; the total variation as a function of l is shown under its name",
    ),
)
