"""RheoSampling (Hu, Weng, Zhang, Yairi: "RheoSampling", section 3) and the broken designs beside it."""

from __future__ import annotations

from collections.abc import Iterator

from rheo_verify.decoders.decoder import Decoder
from rheo_verify.drafting.best_first import best_first
from rheo_verify.drafting.build_then_prune import build_then_prune
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Node
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.verification.rules import layer_rule


def rheosampling(design: TreeDesign, rule: str = "rheo", *, lazy: bool = False) -> Decoder:
    """The decoder with this tree design: built and pruned as published, or grown lazily (claim `eager-equals-lazy`)."""
    grow = best_first if lazy else build_then_prune

    def draft(chance: Chance, model: Model, context: Context) -> Iterator[Node]:
        return grow(chance, model, context, design)

    return Decoder(f"rheosampling m={design.lead} {rule}", draft, layer_rule(rule))
