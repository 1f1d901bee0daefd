"""Integrate a step function of coins that cannot be seen into, with a bound on the error.

A coin is a float in [0, 1) and stands for the real numbers up to the next float. The bound on the total variation rests
on one of two assumptions about the outcome along each coin while the others stay as they are:

- **one interval**: an outcome that was left does not come back. Then a cell whose corners agree is constant (edge by
  edge, face by face), cells that disagree are halved along the coin in which most corners do, and the volume that is
  undecided at the end bounds the error.
- **at most b changes**. Every cell of an n × … × n grid is given the outcome of its middle. A line has at most b cells
  with a change, m changes in a cell spoil at most min(m / 2, 1) of it, so replacing one coin by its cell's middle errs
  by at most b / 2n, and replacing all c coins, one after another, by at most c b / 2n.

What is evaluated can contradict an assumption; then there is no bound, and the contradiction is told.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rheo_verify.foreign.forms import exact_float
from rheo_verify.probability.rationals import ONE, ZERO, Rational, ratio, total
from rheo_verify.words import count

Point = tuple[float, ...]
Cell = tuple[tuple[float, float], ...]
Evaluate = Callable[[list[Point]], Sequence[Any]]


@dataclass(frozen=True)
class Integral:
    """The masses of all outcomes, wrong by at most `bound` in total variation; `sure` are lower bounds of each mass."""

    masses: dict[Any, Rational]
    sure: dict[Any, Rational]
    bound: Rational
    evaluations: int
    contradiction: str | None = None


def last_float(high: float, dtype: str) -> float:
    """The largest float of a dtype below `high`, itself a float of that dtype in (0, 1]."""
    if dtype != "float32":
        return math.nextafter(high, 0.0)
    part, exponent = math.frexp(high)
    return high - math.ldexp(1.0, exponent - 24 - (part == 0.5))


def by_corners(
    evaluate: Evaluate, coins: int, cells: int, most: int, enough: float = 0.0, dtype: str = "float64"
) -> Integral:
    """Under **one interval**: from `cells` (a power of two) per coin, halve until `enough` or `most` evaluations."""
    known: dict[Point, Any] = {}
    sure: dict[Any, Rational] = {}
    lost: list[Cell] = []
    contradiction = None
    waiting = _grid(coins, _fitting(cells, coins, most, 2**coins + 1))
    while waiting and len(known) < most:
        waiting.sort(key=_volume, reverse=True)
        room = max(1, (most - len(known)) // (2**coins + 1))
        now, waiting = waiting[:room], waiting[room:]
        corners = [list(itertools.product(*((low, last_float(high, dtype)) for low, high in cell))) for cell in now]
        middles = [_middle(cell, dtype) for cell in now]
        asked = dict.fromkeys(point for group in [*corners, middles] for point in group if point not in known)
        known.update(zip(asked, evaluate(list(asked)), strict=True))
        for cell, points, middle in zip(now, corners, middles, strict=True):
            values = [known[point] for point in points]
            axis = _widest(values, coins)
            if axis is not None:
                waiting += _halves(cell, axis)
            elif known[middle] == values[0]:
                sure[values[0]] = sure.get(values[0], ZERO) + _volume(cell)
            else:
                lost.append(cell)
                contradiction = f"the corners of a cell around the coins {middle} agree, and its middle differs"
        if total(map(_volume, [*waiting, *lost])) <= enough:
            break
    contradiction = contradiction or _comes_back(known, coins)
    rest = [*lost, *waiting]
    middles = [_middle(cell, dtype) for cell in rest]
    asked = dict.fromkeys(point for point in middles if point not in known)
    known.update(zip(asked, evaluate(list(asked)), strict=True) if asked else ())
    masses = dict(sure)
    for cell, middle in zip(rest, middles, strict=True):
        masses[known[middle]] = masses.get(known[middle], ZERO) + _volume(cell)
    bound = total(map(_volume, rest)) if contradiction is None else ONE
    return Integral(masses, sure if contradiction is None else {}, bound, len(known), contradiction)


def by_middles(evaluate: Evaluate, coins: int, cells: int, most: int, changes: int) -> Integral:
    """Under **at most `changes` changes**: one evaluation in the middle of each of `cells` strata per coin."""
    size = _fitting(cells, coins, most, 1)
    grid = list(itertools.product(range(size), repeat=coins))
    values = dict(zip(grid, evaluate([tuple((i + 0.5) / size for i in place) for place in grid]), strict=True))
    share = ratio(1, size**coins)
    masses: dict[Any, Rational] = {}
    for value in values.values():
        masses[value] = masses.get(value, ZERO) + share
    contradiction, bound = None, min(ONE, ratio(coins * changes, 2 * size))
    for axis in range(coins):
        for others in itertools.product(range(size), repeat=coins - 1):
            line = [values[(*others[:axis], i, *others[axis:])] for i in range(size)]
            seen = sum(a != b for a, b in itertools.pairwise(line))
            if seen > changes:
                contradiction, bound = f"the output changes {count(seen, 'time')} along coin {axis + 1}", ONE
    return Integral(masses, {}, bound, len(grid), contradiction)


def _comes_back(known: dict[Point, Any], coins: int) -> str | None:
    """Whether, on some line, an outcome was seen, then another, then the first again."""
    for axis in range(coins):
        lines: dict[Point, list[tuple[float, Any]]] = {}
        for point, value in known.items():
            lines.setdefault((*point[:axis], *point[axis + 1 :]), []).append((point[axis], value))
        for line in lines.values():
            line.sort(key=lambda seen: seen[0])
            runs = [value for value, _ in itertools.groupby(value for _, value in line)]
            if len(runs) != len(set(runs)):
                return f"an output that was left comes back along coin {axis + 1}"
    return None


def _fitting(cells: int, coins: int, most: int, per_cell: int) -> int:
    """The largest power of two up to `cells` for which a whole grid is within `most` evaluations; at least 1."""
    while cells > 1 and cells**coins * per_cell > most:
        cells //= 2
    return cells


def _grid(coins: int, cells: int) -> list[Cell]:
    sides = [(i / cells, (i + 1) / cells) for i in range(cells)]
    return list(itertools.product(sides, repeat=coins))


def _middle(cell: Cell, dtype: str) -> Point:
    return tuple((low + high) / 2 if low < last_float(high, dtype) else low for low, high in cell)


def _volume(cell: Cell) -> Rational:
    volume = ONE
    for low, high in cell:
        volume = volume * exact_float(high - low)
    return volume


def _widest(values: Sequence[Any], coins: int) -> int | None:
    """The coin along which most corners differ; None if all agree. Corners are in the order of `itertools.product`."""
    steps = [1 << (coins - 1 - axis) for axis in range(coins)]
    counts = [sum(values[i] != values[i + step] for i in range(len(values)) if not i & step) for step in steps]
    return counts.index(max(counts)) if any(counts) else None


def _halves(cell: Cell, axis: int) -> list[Cell]:
    low, high = cell[axis]
    middle = (low + high) / 2
    return [(*cell[:axis], side, *cell[axis + 1 :]) for side in ((low, middle), (middle, high))]
