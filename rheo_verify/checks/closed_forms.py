"""Acceptance at one layer in closed form, for a batch of contexts at once, in any number system.

Rows are weights, shape [..., V], not normalised; the vocabulary is the last axis. Every rate comes as a pair
`Weights(accepted, whole)`, each [..., 1], and the rate is their quotient: so the same lines run on NumPy arrays of
rationals, of Python or machine integers (no division: exact), of floats, and on torch tensors.

Notation of the paper (appendix D): x1, x2, … the tokens by decreasing draft probability, Top_k the first k of them, m
lead tokens, n candidates of which all survive, q~ the law of the sampled one, z its mass before it is normalised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheo_verify.errors import InputError
from rheo_verify.probability.arrays import Array, is_torch, mass, minimum, pick, positive_part, zero_at
from rheo_verify.probability.rationals import ratio

NUMPY_ROWS, TORCH_ROWS = 1024, 65536


class Weights(NamedTuple):
    """A rate as a quotient that nobody has taken yet: `accepted / whole`."""

    accepted: Array
    whole: Array


class LayerRates(NamedTuple):
    """Acceptance at one layer. Fields hold rationals for one context, arrays [...] for a batch, or `Weights`.

    rheo: `acceptance-rheo`. rrsw: `acceptance-rrsw`. top_k: the n most probable draft tokens, no sample.
    upper_bound: the bound of Theorem 3. optimal: the most any layer rule can accept (`optimal-acceptance`).
    single_sampled, single_top1: one draft token, sampled from q-hat or the most probable one (`single-draft-rates`).
    """

    rheo: Array
    rrsw: Array
    top_k: Array
    upper_bound: Array
    optimal: Array
    single_sampled: Array
    single_top1: Array


def check_layer(vocab: int, lead: int, candidates: int) -> None:
    """Raises `InputError` RV106 unless 0 <= m <= V and 1 <= n <= V."""
    if not 1 <= candidates <= vocab:
        raise InputError("RV106", f"n = {candidates} candidates, but a pool holds 1 to {vocab} of {vocab} tokens")
    if not 0 <= lead <= vocab:
        raise InputError("RV106", f"m = {lead} lead tokens must be between 0 and the vocabulary's {vocab}")


def closed_forms(target: Array, draft: Array, lead: int, candidates: int, sampling: Array | None = None) -> LayerRates:
    """All rates of a batch of contexts, each a `Weights` pair of arrays [..., 1].

    `target` p, `draft` q (it ranks), `sampling` q-hat (it is sampled from; q unless given): weights [..., V] of
    positive mass. Raises `InputError` RV106 when m or n is out of range. Claims `acceptance-rheo` (Theorem 3),
    `acceptance-rrsw` (D.2), `single-draft-rates`, `top-k-imperfect`; the optimum is derived in `docs/acceptance.md`.
    """
    check_layer(draft.shape[-1], lead, candidates)
    sampling = draft if sampling is None else sampling
    order = best_tokens(draft, candidates)
    whole, covered = mass(target), pick_mass(target, order)
    single = _single_draft(target, sampling), Weights(pick(target, order[..., :1]), whole)
    top_k = Weights(covered, whole)
    if candidates <= lead:
        return LayerRates(top_k, top_k, top_k, top_k, top_k, *single)
    before, last = order[..., : candidates - 1], order[..., candidates - 1 :]
    first = order[..., :lead]
    tail = zero_at(sampling, first)
    rest = zero_at(target, first)
    forms = (
        _with_sample(target, target, tail, before, last),
        _with_sample(target, rest, tail, before, last),
        _bound(target, tail, order),
        _optimum(target, tail, order, before, last),
    )
    rheo, rrsw, bound, optimum = (_if_sampled(mass(tail), form, top_k) for form in forms)
    return LayerRates(rheo, rrsw, top_k, bound, optimum, *single)


def _with_sample(target: Array, remaining: Array, tail: Array, before: Array, last: Array) -> Weights:
    """Theorem 3 when `remaining` is p itself; D.2 when the lead was tested before, and `remaining` is what it left.

    Top_{n-1} is always among the candidates. A token outside it is accepted when it is drawn and passes; x_n also as
    the fill that stands in when the draw falls inside Top_{n-1} and is rejected.
    """
    wanted, offered = mass(tail) * remaining, mass(remaining) * tail
    residual = positive_part(wanted - offered)
    whole = mass(residual)
    whole = whole + (whole == 0)
    drawn = mass(zero_at(minimum(wanted, offered), before))
    rejected = pick_mass(positive_part(offered - wanted), before)
    accepted = (pick_mass(target, before) * mass(tail) + drawn) * whole + pick(residual, last) * rejected
    return Weights(accepted, mass(target) * mass(tail) * whole)


def _bound(target: Array, tail: Array, order: Array) -> Weights:
    """The bound of Theorem 3: every one of Top_n in full."""
    wanted, offered = mass(tail) * target, mass(target) * tail
    drawn = mass(zero_at(minimum(wanted, offered), order))
    return Weights(pick_mass(wanted, order) + drawn, mass(wanted))


def _optimum(target: Array, tail: Array, order: Array, before: Array, last: Array) -> Weights:
    """The largest flow in closed form: x_n is offered whenever the draw is inside Top_n, and Top_{n-1} always."""
    wanted, offered = mass(tail) * target, mass(target) * tail
    drawn = mass(zero_at(minimum(wanted, offered), order))
    stand_in = minimum(pick(wanted, last), pick_mass(offered, order))
    return Weights(pick_mass(wanted, before) + stand_in + drawn, mass(wanted))


def _single_draft(target: Array, sampling: Array) -> Weights:
    wanted, offered = mass(sampling) * target, mass(target) * sampling
    return Weights(mass(minimum(wanted, offered)), mass(wanted))


def _if_sampled(sampled: Array, form: Weights, otherwise: Weights) -> Weights:
    """`form` where there is a sampled slot (the lead does not carry all of q-hat), `otherwise` where there is none."""
    yes, no = sampled > 0, sampled == 0
    return Weights(
        form.accepted * yes + otherwise.accepted * no,
        form.whole * yes + otherwise.whole * no,
    )


def pick_mass(rows: Array, tokens: Array) -> Array:
    """The weight of some tokens: [..., V] and ids [..., n] give [..., 1]."""
    return mass(pick(rows, tokens))


def best_tokens(rows: Array, count: int) -> Array:
    """The `count` tokens of largest weight, best first, ties by token id: shape [..., count] (SPEC 1.1, step 1)."""
    if is_torch(rows):
        return rows.sort(dim=-1, descending=True, stable=True).indices[..., :count]
    if 4 * count > rows.shape[-1]:
        return np.argsort(-rows, axis=-1, kind="stable")[..., :count]
    left, found = rows.copy(), []
    for _ in range(count):
        best = left.argmax(axis=-1)[..., None]
        found.append(best)
        np.put_along_axis(left, best, -1, axis=-1)
    return np.concatenate(found, axis=-1)


def quotients(weights: Weights) -> Array:
    """The rates themselves, [...]: rationals for arrays of integers or rationals, else floats of the same kind."""
    accepted, whole = weights.accepted[..., 0], weights.whole[..., 0]
    if is_torch(accepted):
        return accepted / whole
    if accepted.dtype != object and accepted.dtype.kind not in "iu":
        return accepted / whole
    rates = np.empty(accepted.shape, dtype=object)
    for index in np.ndindex(accepted.shape):
        rates[index] = ratio(accepted[index], whole[index])
    return rates


def batch_rates(
    target: Array, draft: Array, lead: int, candidates: int, sampling: Array | None = None, rows: int | None = None
) -> LayerRates:
    """All rates of B contexts, arrays [B], from weights [B, V]; `rows` at a time, so that the work stays in cache.

    Floats are meant here (NumPy or torch, float64 for results good to about 1e-12); exact arrays work too, slowly.
    """
    size = rows or (TORCH_ROWS if is_torch(target) else NUMPY_ROWS)
    parts = []
    for start in range(0, max(1, len(target)), size):
        piece = slice(start, start + size)
        some = None if sampling is None else sampling[piece]
        forms = closed_forms(target[piece], draft[piece], lead, candidates, some)
        parts.append([quotients(form) for form in forms])
    return LayerRates(*(_stack(columns) for columns in zip(*parts, strict=True)))


def _stack(columns: tuple[Array, ...]) -> Array:
    if is_torch(columns[0]):
        import torch

        return torch.cat(columns)
    return np.concatenate(columns)
