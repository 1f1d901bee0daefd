"""k drafts per node without replacement: each from q-hat with the earlier ones removed and renormalised.

Jeon et al. 2024, "Recursive Speculative Decoding", section 3; Yang et al. 2024, "Multi-Candidate Speculative Decoding";
EAGLE-1 and Sequoia draft so too. There is no further sibling when q-hat has no mass left.
"""

from __future__ import annotations

from rheo_verify.drafting.siblings import Drawn, Siblings, Weights


def _following(draft: Weights, sampling: Weights, drawn: Drawn, count: int) -> Weights | None:
    left = list(sampling)
    for token in drawn:
        left[token] = left[token] * 0
    return left if any(left) else None


WITHOUT_REPLACEMENT = Siblings("without-replacement", _following, memory=frozenset, removes=True)
