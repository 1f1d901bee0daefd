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

from rheo_verify.checks.showing import html_of
from rheo_verify.errors import InputError
from rheo_verify.probability.arrays import Array, is_torch, join, mass, minimum, pick, positive_part, zero_at
from rheo_verify.probability.rationals import ratio
from rheo_verify.words import count

CACHE_ROWS, DEVICE_ROWS = 4096, 65536


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

    def _repr_html_(self) -> str | None:
        return html_of(self)


def check_layer(vocab: int, lead: int, candidates: int) -> None:
    """Raises `InputError` RV106 unless 0 <= m <= V and 1 <= n <= V."""
    if not 1 <= candidates <= vocab:
        raise InputError("RV106", f"n = {count(candidates, 'candidate')}, but a pool holds from 1 to V = {vocab}")
    if not 0 <= lead <= vocab:
        raise InputError("RV106", f"m = {lead} lead tokens must be between 0 and the vocabulary's {vocab}")


def closed_forms(target: Array, draft: Array, lead: int, candidates: int, sampling: Array | None = None) -> LayerRates:
    """All rates of a batch of contexts, each a `Weights` pair of arrays [..., 1].

    `target` p, `draft` q (it ranks), `sampling` q-hat (it is sampled from; q unless given): weights [..., V] of
    positive mass. Raises `InputError` RV106 when m or n is out of range. Claims `acceptance-rheo` (Theorem 3),
    `acceptance-rrsw` (D.2), `single-draft-rates`, `top-k-imperfect`; the optimum is derived in
    `docs/explanation/acceptance.md`.
    """
    check_layer(draft.shape[-1], lead, candidates)
    sampling = draft if sampling is None else sampling
    order = best_tokens(draft, candidates)
    whole, covered = mass(target), pick_mass(target, order)
    single = _single_draft(target, sampling), Weights(pick(target, order[..., :1]), whole)
    top_k = Weights(covered, whole)
    if candidates <= lead:
        return LayerRates(top_k, top_k, top_k, top_k, top_k, *single)
    tail = zero_at(sampling, order[..., :lead])
    rest = target if lead == 0 else zero_at(target, order[..., :lead])
    against_p, against_rest = _meet(target, tail, order), _meet(rest, tail, order)
    before = pick_mass(target, order[..., :-1])
    forms = (
        _with_sample(against_p, before, whole),
        _with_sample(against_rest, before, whole),
        _bound(against_p),
        _optimum(against_p),
    )
    rheo, rrsw, bound, optimum = (_if_sampled(against_p.sampled, form, top_k) for form in forms)
    return LayerRates(rheo, rrsw, top_k, bound, optimum, *single)


class _Meeting(NamedTuple):
    """What is wanted and what is offered, brought to one scale: `z * remaining` and `(mass of remaining) * tail`.

    Whole columns [..., 1]: `sampled` z, `total` the mass of either side, `residual` that of (wanted - offered)+. At the
    tokens of Top_n, [..., n]: `wanted`, `offered`, `left` of (wanted - offered)+.
    """

    sampled: Array
    total: Array
    residual: Array
    wanted: Array
    offered: Array
    left: Array

    @property
    def passed(self) -> Array:
        """min(wanted, offered) at the tokens of Top_n."""
        return self.wanted - self.left

    @property
    def passed_beyond(self) -> Array:
        """min(wanted, offered), summed over the tokens outside Top_n."""
        return self.total - self.residual - mass(self.passed)


def _meet(remaining: Array, tail: Array, order: Array) -> _Meeting:
    sampled, whole = mass(tail), mass(remaining)
    wanted, offered = sampled * remaining, whole * tail
    left = positive_part(wanted - offered)
    picked = (pick(rows, order) for rows in (wanted, offered, left))
    return _Meeting(sampled, sampled * whole, mass(left), *picked)


def _with_sample(meeting: _Meeting, before: Array, whole: Array) -> Weights:
    """Theorem 3 when what is wanted is p itself; D.2 when the lead was tested before, and it is what the lead left.

    Top_{n-1} is always among the candidates (`before` is its p). A token outside it is accepted when it is drawn and
    passes; x_n also as the fill that stands in when the draw falls inside Top_{n-1} and is rejected.
    """
    residual = meeting.residual + (meeting.residual == 0)
    drawn = meeting.passed_beyond + meeting.passed[..., -1:]
    rejected = mass((meeting.offered - meeting.passed)[..., :-1])
    accepted = (before * meeting.sampled + drawn) * residual + meeting.left[..., -1:] * rejected
    return Weights(accepted, whole * meeting.sampled * residual)


def _bound(meeting: _Meeting) -> Weights:
    """The bound of Theorem 3: every one of Top_n in full."""
    return Weights(mass(meeting.wanted) + meeting.passed_beyond, meeting.total)


def _optimum(meeting: _Meeting) -> Weights:
    """The largest flow in closed form: x_n is offered whenever the draw is inside Top_n, and Top_{n-1} always."""
    stand_in = minimum(meeting.wanted[..., -1:], mass(meeting.offered))
    return Weights(mass(meeting.wanted[..., :-1]) + stand_in + meeting.passed_beyond, meeting.total)


def _single_draft(target: Array, sampling: Array) -> Weights:
    offered, wanted = mass(sampling), mass(target)
    whole = offered * wanted
    return Weights(whole - mass(positive_part(offered * target - wanted * sampling)), whole)


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
    if 4 * count > rows.shape[-1]:
        if is_torch(rows):
            return rows.sort(dim=-1, descending=True, stable=True).indices[..., :count]
        return np.argsort(-rows, axis=-1, kind="stable")[..., :count]
    # A few passes beat a sort. argmax returns the first of equal maxima, in NumPy and in torch.
    found: list[Array] = []
    left = rows.clone() if is_torch(rows) else rows.copy()
    for _ in range(count):
        found.append(left.argmax(-1)[..., None])
        if is_torch(left):
            left.scatter_(-1, found[-1], -1)
        else:
            np.put_along_axis(left, found[-1], -1, axis=-1)
    return join(found)


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
    size = rows or (DEVICE_ROWS if is_torch(target) and target.device.type != "cpu" else CACHE_ROWS)
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
