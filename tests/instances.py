"""Hypothesis strategies for small random instances, and the bridge to the brute force."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.size import most_trees
from rheo_verify.models.model import Model
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.rationals import fraction
from tests.brute_force import BruteForce


@st.composite
def models(draw: Any, largest_vocab: int = 4, zeros: bool = True) -> Model:
    """Random tables: few different weights (ties), zeros, sometimes a sampling draft of its own or no context."""
    return random_model(
        draw(st.integers(1, largest_vocab)),
        draw(st.integers(0, 10**6)),
        largest=draw(st.sampled_from([1, 2, 3, 9])),
        zeros=draw(st.sampled_from([0, 4, 9])) if zeros else 0,
        independent_sampling=draw(st.booleans()),
        with_context=draw(st.booleans()),
    )


@st.composite
def designs(draw: Any, vocab: int, **fixed: Any) -> TreeDesign:
    """Random tree designs for a vocabulary; `fixed` parameters are kept."""
    values: dict[str, Any] = {
        "lead": draw(st.integers(0, min(3, vocab))),
        "pool": draw(st.integers(1, 4)),
        "beam": draw(st.integers(1, 3)),
        "depth": draw(st.integers(1, 3)),
        "budget": draw(st.integers(1, 7)),
    }
    return TreeDesign(**{**values, **fixed})


@st.composite
def instances(draw: Any, most: int = 300, largest_vocab: int = 4, **fixed: Any) -> tuple[Model, TreeDesign]:
    """A model and a design with at most about `most` unpruned trees."""
    model = draw(models(largest_vocab))
    design = draw(designs(model.vocab, **fixed).filter(lambda it: most_trees(it, model.vocab) <= most))
    return model, design


def brute_force(model: Model, design: TreeDesign, rule: str = "rheo") -> BruteForce:
    """The oracle for the same question."""

    def rows(of: Any) -> Any:
        known: dict[tuple[int, ...], list[Fraction]] = {}

        def row(context: tuple[int, ...]) -> list[Fraction]:
            if context not in known:
                known[context] = [fraction(p) for p in of(context)]
            return known[context]

        return row

    proxy = design.proxy if isinstance(design.proxy, str) else fraction(design.proxy)
    return BruteForce(
        model.vocab,
        rows(model.target),
        rows(model.draft),
        rows(model.sampling_draft),
        m=design.lead,
        k=design.pool,
        beam=design.beam,
        depth=design.depth,
        budget=design.budget,
        proxy=proxy,
        epsilon=fraction(design.epsilon),
        ties=design.ties,
        rule=rule,
        verification=design.verification,
    )
