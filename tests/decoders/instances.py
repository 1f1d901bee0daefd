"""Random models for properties: context-dependent, p and q apart, the draft at another temperature, zeros allowed."""

from __future__ import annotations

from hypothesis import strategies as st

from rheo_verify.models.model import Model, cached
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.distributions import normalise, temper


@st.composite
def models(draw: st.DrawFn, most_tokens: int = 3) -> Model:
    """Small models that make trouble: zeros, q-hat unlike q, q-hat = q at temperature 1/2 or 1/3, p = q."""
    from dataclasses import replace

    vocab = draw(st.integers(2, most_tokens))
    model = random_model(
        vocab,
        draw(st.integers(0, 10**6)),
        largest=draw(st.sampled_from([1, 2, 9])),
        zeros=draw(st.sampled_from([0, 0, 5])),
        independent_sampling=draw(st.booleans()),
        with_context=draw(st.sampled_from([True, True, True, False])),
    )
    power = draw(st.sampled_from([1, 2, 3]))
    sampling = model.sampling_draft
    model = replace(model, sampling_draft=cached(lambda context: temper(sampling(context), power)))
    if draw(st.integers(0, 7)) == 0:
        model = replace(model, target=model.sampling_draft)
    return model


@st.composite
def rows(draw: st.DrawFn, vocab: int) -> tuple:
    """A distribution with small numerators, zeros among them."""
    from rheo_verify.probability.rationals import exact

    weights = draw(st.lists(st.integers(0, 4), min_size=vocab, max_size=vocab).filter(any))
    return normalise(tuple(exact(weight) for weight in weights))
