"""Hypothesis strategies for layers: zeros, ties, p = q, and sampling drafts of their own come up often."""

from fractions import Fraction

from hypothesis import strategies as st

from rheo_verify.checks.acceptance import Layer
from rheo_verify.probability.distributions import distribution, one_hot

weights = st.integers(0, 6)


def rows(vocab):
    some = st.lists(weights, min_size=vocab, max_size=vocab).filter(any).map(distribution)
    return st.one_of(some, some, some, st.integers(0, vocab - 1).map(lambda token: one_hot(token, vocab)))


@st.composite
def layers(draw, largest=5, own_sampling=True):
    vocab = draw(st.integers(1, largest))
    draft = draw(rows(vocab))
    target = draw(st.one_of(rows(vocab), rows(vocab), st.just(draft)))
    sampling = draw(st.one_of(st.just(draft), rows(vocab))) if own_sampling else draft
    return Layer(target, draft, sampling, draw(st.integers(0, vocab)), draw(st.integers(1, vocab)))


def by_definition(layer, rule):
    """A rate straight from SPEC 1.3 in `Fraction`, one candidate after another: shares nothing with the package."""
    p, q, q_hat = (
        [Fraction(int(x.numerator), int(x.denominator)) for x in row]
        for row in (layer.target, layer.draft, layer.sampling_draft)
    )
    tokens = range(len(p))
    order = sorted(tokens, key=lambda v: (-q[v], v))
    lead = order[: layer.lead]
    z = sum(q_hat[v] for v in tokens if v not in lead)
    if layer.candidates <= layer.lead or z == 0:
        return sum(p[v] for v in order[: layer.candidates])
    q_tilde = [q_hat[v] / z if v not in lead else Fraction(0) for v in tokens]
    whole = Fraction(0)
    for y in tokens:
        if q_tilde[y]:
            fill = [v for v in order if v not in lead and v != y]
            slots = [*lead, y, *fill][: layer.candidates]
            if rule == "rheo":
                slots = [y] + [v for v in slots if v != y]
            whole += q_tilde[y] * _accepted(p, slots, y, q_tilde)
    return whole


def _accepted(p, slots, y, q_tilde):
    r, missed = list(p), Fraction(1)
    for u in slots:
        if u == y:
            chance = min(Fraction(1), r[u] / q_tilde[u])
            left = [max(Fraction(0), a - b) for a, b in zip(r, q_tilde, strict=True)]
        else:
            chance = r[u]
            left = [Fraction(0) if v == u else x for v, x in enumerate(r)]
        missed *= 1 - chance
        if not missed:
            break
        r = [x / sum(left) for x in left]
    return 1 - missed
