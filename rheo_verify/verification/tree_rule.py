"""Rules that look at the whole tree at once, and so cannot be said layer by layer: block, traversal, Medusa's.

As a layer rule, a tree rule has two faces: `verify`, the published steps, and `law`, the law of what they emit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rheo_verify.drafting.tree import TokenPath, Tree
from rheo_verify.models.model import Context, Model
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.laws import Law


@dataclass(frozen=True)
class TreeRule:
    """A verification of a whole tree under its published name.

    `verify(chance, model, context, tree)` returns the emitted tokens; `law(model, context, tree)` their exact law.
    """

    name: str
    verify: Callable[[Chance, Model, Context, Tree], TokenPath]
    law: Callable[[Model, Context, Tree], Law[TokenPath]]
