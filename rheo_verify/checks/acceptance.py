"""What a layer accepts at one context, exactly: in closed form, and by enumeration of its sampled token.

The two ways share no line: the closed forms are sums over the vocabulary, the enumeration builds the candidate pool for
every outcome of Y and asks the rule for its law.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rheo_verify.checks.closed_forms import LayerRates, check_layer, closed_forms, quotients
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.pool import Candidate, Pool, pool_at
from rheo_verify.errors import InputError
from rheo_verify.models.model import Context, Model, context_free
from rheo_verify.probability.arrays import row_array
from rheo_verify.probability.distributions import Row, normalise
from rheo_verify.probability.laws import Law, collect
from rheo_verify.probability.rationals import ONE, ZERO, Rational, ratio, total
from rheo_verify.verification.layer import LayerRule, exact_law
from rheo_verify.verification.rules import layer_rule

MOST_IN_SETS = 2_000_000
"""Tokens of all candidate sets together, each counted in every set that it is in."""


@dataclass(frozen=True)
class Layer:
    """One context whose n candidates all survive: the pool of SPEC 1.1 with K = n.

    `target` p, `draft` q, `sampling_draft` q-hat: rows of V probabilities. `lead` is m, `candidates` is n. Raises
    `InputError` RV104 when the rows differ in length, RV106 when m or n is out of range.
    """

    target: Row
    draft: Row
    sampling_draft: Row
    lead: int
    candidates: int

    def __post_init__(self) -> None:
        if not len(self.target) == len(self.draft) == len(self.sampling_draft):
            sizes = f"target {len(self.target)}, draft {len(self.draft)}, sampling draft {len(self.sampling_draft)}"
            raise InputError("RV104", f"the rows differ in length: {sizes} tokens")
        check_layer(len(self.target), self.lead, self.candidates)

    @property
    def pool(self) -> Pool:
        """The candidate pool before Y is drawn."""
        model = context_free(self.target, self.draft, self.sampling_draft)
        return pool_at(model, (), TreeDesign(lead=self.lead, pool=self.candidates))


def layer_at(model: Model, context: Context, lead: int, candidates: int) -> Layer:
    """The layer of a model at a context. A pool holds at most V tokens, so `candidates` above V means V."""
    return Layer(
        model.target(context),
        model.draft(context),
        model.sampling_draft(context),
        lead,
        min(candidates, model.vocab),
    )


def layer_rates(layer: Layer) -> LayerRates:
    """All rates of one layer in closed form, as rationals.

    >>> from rheo_verify.probability.distributions import distribution
    >>> uniform = distribution([1, 1, 1, 1])
    >>> rates = layer_rates(Layer(distribution([1, 0, 2, 1]), uniform, uniform, lead=1, candidates=3))
    >>> str(rates.rheo), str(rates.rrsw), str(rates.optimal)
    ('29/30', '1', '1')
    """
    rows = [row_array(row) for row in (layer.target, layer.draft, layer.sampling_draft)]
    forms = closed_forms(rows[0], rows[1], layer.lead, layer.candidates, rows[2])
    return LayerRates(*(quotients(form).item() for form in forms))


def draws(layer: Layer) -> Iterator[tuple[Rational, tuple[Candidate, ...]]]:
    """Every outcome of the layer's draw: its probability, and the candidates in slot order."""
    pool = layer.pool
    if pool.sampling_law is None:
        yield ONE, pool.candidates(None)
        return
    for token in pool.outcomes:
        yield pool.sampling_law[token], pool.candidates(token)


def enumerated_rate(layer: Layer, rule: LayerRule | str) -> Rational:
    """What a rule accepts, by the rule's own law averaged over Y. The slow twin of `layer_rates`."""
    rule = layer_rule(rule) if isinstance(rule, str) else rule
    law = layer.pool.verification_law
    accepted = []
    for probability, candidates in draws(layer):
        laws = [law if candidate.kind == "sampled" else None for candidate in candidates]
        found = exact_law(rule, layer.target, [candidate.token for candidate in candidates], laws)
        accepted.append(probability * total(found.accept))
    return total(accepted)


def emitted_law(layer: Layer, rule: LayerRule | str) -> Row:
    """The law of the token that the layer emits, averaged over Y: the target's, if the rule is lossless there."""
    rule = layer_rule(rule) if isinstance(rule, str) else rule
    law = layer.pool.verification_law
    rows = []
    for probability, candidates in draws(layer):
        tokens = [candidate.token for candidate in candidates]
        laws = [law if candidate.kind == "sampled" else None for candidate in candidates]
        emitted = exact_law(rule, layer.target, tokens, laws).emitted(tokens)
        rows.append([probability * value for value in emitted])
    return tuple(total(column) for column in zip(*rows, strict=True))


def candidate_sets(layer: Layer) -> Law[frozenset[int]]:
    """The law of the candidate set: what the ordered tuples offer, whatever their order (`optimal-acceptance`).

    Only the first fills can be candidates, so a large vocabulary costs no more than its outcomes of Y. Raises
    `InputError` RV108 where all sets together have too many tokens.
    """
    pool = layer.pool
    size = max(1, len(pool.outcomes)) * layer.candidates
    if size > MOST_IN_SETS:
        message = f"the candidate sets have {size:,} tokens together, more than {MOST_IN_SETS:,}: {layer.candidates:,}"
        raise InputError("RV108", f"{message} in each, one set for each of {len(pool.outcomes):,} draws")
    lead, fill = pool.order[: layer.lead], pool.order[layer.lead : layer.candidates]
    if pool.sampling_law is None:
        return {frozenset(pool.order[: layer.candidates]): ONE}
    count = layer.candidates - layer.lead - 1
    return collect(
        (frozenset((*lead, drawn, *[token for token in fill if token != drawn][:count])), pool.sampling_law[drawn])
        for drawn in pool.outcomes
    )


def largest_gap(vocab: int, lead: int, candidates: int) -> Rational:
    """The largest `optimal - rheo` over all p and q (q-hat = q): `w / (w + 1 + max(w, k))`, w = V - n, k = n - m - 1.

    0 if k <= 0 or w = 0; always below 1/2. Proof in `docs/explanation/acceptance.md`; `widest_layer` reaches it.

    >>> [str(largest_gap(vocab, 0, 2)) for vocab in (2, 3, 4, 5)]
    ['0', '1/3', '2/5', '3/7']
    """
    check_layer(vocab, lead, candidates)
    beyond, stand_ins = vocab - candidates, candidates - lead - 1
    return ZERO if stand_ins <= 0 else ratio(beyond, beyond + 1 + max(beyond, stand_ins))


def widest_layer(vocab: int, lead: int, candidates: int) -> Layer:
    """A layer whose gap is `largest_gap`: p = q~ on the lead's fill, and the rest of p on x_n.

    Raises `InputError` RV106 unless m + 2 <= n, below which there is no gap.
    """
    beyond, stand_ins = vocab - candidates, candidates - lead - 1
    if stand_ins < 1:
        raise InputError("RV106", f"m = {lead}, n = {candidates}: there is no gap unless m + 2 <= n")
    check_layer(vocab, lead, candidates)
    inside = max(ratio(beyond, 2 * beyond + 1), ratio(stand_ins, beyond + 1 + stand_ins))
    first = [inside / stand_ins] * stand_ins
    tail = [*first, *[(1 - inside) / (beyond + 1)] * (beyond + 1)]
    draft = [*[tail[0]] * lead, *tail]
    target = [*[ZERO] * lead, *first, 1 - inside, *[ZERO] * beyond]
    row = normalise(draft)
    return Layer(normalise(target), row, row, lead, candidates)
