"""k i.i.d. drafts per node (SpecInfer, SpecTr): every sibling is drawn from q-hat, and tokens may repeat.

Miao et al. 2024, "SpecInfer", section 4; Sun et al. 2023, "SpecTr", section 3. A repeated token is a sibling.
"""

from __future__ import annotations

from rheo_verify.drafting.siblings import Drawn, Siblings, Weights


def _following(draft: Weights, sampling: Weights, drawn: Drawn, count: int) -> Weights:
    return sampling


IID = Siblings("iid", _following, memory=lambda drawn: ())
