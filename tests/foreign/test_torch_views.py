"""Views of random numbers are views: what is written through one is seen through all, as torch itself has it."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from rheo_verify.foreign.refusal import Refused
from tests.foreign.helpers import agrees_with_samples, law

torch = pytest.importorskip("torch")
Q = Fraction
HALVES = torch.tensor([[1.0, 0.0], [1.0, 3.0]])


def written_after_the_view() -> Any:
    u = torch.rand(2)
    first = u[0]
    u.mul_(0.5)
    return bool(first < 0.375)


def set_after_the_view() -> Any:
    u = torch.rand(2)
    first = u[:1]
    u[0] = 2.0
    return bool(first < 0.5)


def filled_after_the_view() -> Any:
    noise = torch.empty(3)
    part = noise[:2]
    noise.uniform_()
    return bool(part[0] < 0.25)


def view_of_the_whole() -> Any:
    noise = torch.zeros(2, 3)
    row = noise.view(-1)
    noise.exponential_()
    return int(row.argmin())


def detached() -> Any:
    u = torch.rand(2)
    u.detach().mul_(0.5)
    return bool(u[0] < 0.375)


def filled_row() -> Any:
    noise = torch.ones(2, 2)
    noise[1].exponential_(generator=torch.Generator().manual_seed(torch.randint(9, ()).item()))
    return int((HALVES / noise)[1].argmax()), float(noise[0, 0])


def divided_view() -> Any:
    table = torch.tensor([[1.0, 3.0, 1.0, 1.0]])
    noise = torch.empty(2, 2).exponential_()
    table.reshape(2, 2).div_(noise)
    return int(table[0, :2].argmax())


def without_views_kept() -> Any:
    with torch.inference_mode():
        noise = torch.ones(2, 2)
        row = noise[1]
        row.uniform_()
        return bool(noise[1, 0] < 0.25), bool(row[1] < 0.5)


def transposed() -> Any:
    table = torch.zeros(2, 2)
    table.t()[0].uniform_()
    return bool(table[1, 0] < 0.25), float(table[1, 1])


def copied_in() -> Any:
    table = torch.zeros(2, 2)
    table[1].copy_(torch.rand(2))
    return bool(table[1, 0] < 0.25), float(table[0, 0])


def one_row_is_plain() -> Any:
    table = torch.zeros(2, 2)
    second = table[1]
    table[0].uniform_()
    second.add_(1.0)
    table[1, 1] = 3.0
    return tuple(second.tolist()), int(torch.multinomial(table[1], 1)), bool(table[0, 1] < 0.5)


def unbound() -> Any:
    table = torch.zeros(2, 2)
    first, second = table.unbind(0)
    first.uniform_()
    second.fill_(0.25)
    return bool(table[0, 0] < table[1, 1])


def given_out() -> Any:
    out = torch.zeros(2, dtype=torch.bool)
    torch.lt(torch.rand(2), 0.25, out=out)
    return tuple(out.tolist())


def divided_out() -> Any:
    out = torch.zeros(2)
    row = out[:]
    torch.div(HALVES[1], torch.empty(2).exponential_(), out=out)
    return int(row.argmax())


def masked() -> Any:
    u = torch.rand(3).masked_fill(torch.tensor([True, False, False]), -1.0)
    u.masked_fill_(torch.tensor([False, True, False]), 2.0)
    return int(u.argmax()), int(u.argmin()), bool(u[2] < 0.25)


def emptied() -> Any:
    u = torch.rand(2)
    u.zero_()
    return tuple(u.tolist())


def both(p: Fraction) -> dict[bool, Fraction]:
    return {True: p, False: 1 - p}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (written_after_the_view, both(Q(3, 4))),
        (set_after_the_view, {False: 1}),
        (filled_after_the_view, both(Q(1, 4))),
        (view_of_the_whole, dict.fromkeys(range(6), Q(1, 6))),
        (detached, both(Q(3, 4))),
        (filled_row, {(0, 1.0): Q(1, 4), (1, 1.0): Q(3, 4)}),
        (divided_view, {0: Q(1, 4), 1: Q(3, 4)}),
        (without_views_kept, {(a, b): (Q(1, 4) if a else Q(3, 4)) / 2 for a in (True, False) for b in (True, False)}),
        (transposed, {(True, 0.0): Q(1, 4), (False, 0.0): Q(3, 4)}),
        (copied_in, {(True, 0.0): Q(1, 4), (False, 0.0): Q(3, 4)}),
        (one_row_is_plain, {((1.0, 3.0), i, b): Q(1 + 2 * i, 8) for i in (0, 1) for b in (True, False)}),
        (unbound, both(Q(1, 4))),
        (given_out, {(a, b): Q((1, 3)[not a] * (1, 3)[not b], 16) for a in (True, False) for b in (True, False)}),
        (divided_out, {0: Q(1, 4), 1: Q(3, 4)}),
        (masked, {(1, 0, True): Q(1, 4), (1, 0, False): Q(3, 4)}),
        (emptied, {(0.0, 0.0): 1}),
    ],
)
def test_laws_by_hand_and_as_torch_draws(call: Any, expected: dict[Any, Fraction]) -> None:
    assert law(call) == expected
    agrees_with_samples(call, 400)


def test_the_bits_of_random_numbers_are_refused() -> None:
    with pytest.raises(Refused, match="RV402: torch view as another dtype"):
        law(lambda: bool((torch.rand(1).view(torch.int32) < 5).any()))


@pytest.mark.parametrize("seed", range(8))
def test_programs_of_views_at_random(seed: int) -> None:
    """Views, writes and reads in any order: the law is that of torch's own runs."""
    chance = random.Random(seed)
    steps = [(chance.randrange(6), chance.randrange(7)) for _ in range(8)]

    def program() -> Any:
        table = torch.zeros(2, 2)
        views = [table, table[0], table.t(), table[:, 1], table.reshape(4), table[1:], table.detach()]
        for step, which in steps:
            if step < 2:
                views[which][..., 0].uniform_()
            elif step == 2:
                views[which].mul_(0.5)
            elif step == 3:
                views[which][..., -1] = 0.75
            elif step == 4:
                views[which] = views[which].unsqueeze(0)
            else:
                views[which].clone().add_(1.0)
        return tuple(bool(each.flatten()[-1] < 0.25) for each in views), tuple((table < 0.125).flatten().tolist())

    agrees_with_samples(program, 200)
