"""The exact law of two-draft rejection without replacement, three tokens deep: this project, Storm, dyce, icepool.

    python benchmarks/decoders.py [--vocab 8] [--levels 3] [--repeat 7]

All are given the same context-dependent tables in rationals and compute the law of what one cycle emits; the run fails
unless all agree in every probability. Ours is the very code that the command
`rheo_verify decoders rrs-without-replacement` runs.
The others are used as their documentation has it: Storm's exact engine on an explicit chain, one call of
`compute_expected_number_of_visits`; dyce and icepool by substituting dice for outcomes. Whatever of `stormpy`, `dyce`,
`icepool` is not installed is left out.
Times are CPU seconds, the best of several rounds in which each takes its turn. `build` is what comes before, once:
reading the tables into integers, and for Storm listing the chain's states (in Python) and filling its matrix. `law` is
what is compared: ours in integers over common denominators, as dyce's and icepool's; Storm's in lowest terms, as
`rheo_verify, reduced` is.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product

from rheo_verify.checks.cycle_law import CycleLaws
from rheo_verify.decoders.registry import entry
from rheo_verify.models.integer_rows import IntegerRows
from rheo_verify.models.model import Model
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.rationals import fraction, over_common_denominator

EXACT = Fraction(0)  # dyce's threshold below which it would drop paths
NAME = "rrs-without-replacement"
Tokens = tuple[int, ...]
Law = dict[Tokens, Fraction]
Run = Callable[[], tuple[float, Law]]


def integer_rows(model: Model, levels: int) -> IntegerRows:
    """The tables in integers."""
    rows = IntegerRows(model)
    for length in range(levels + 1):
        for context in product(range(model.vocab), repeat=length):
            rows.target(context), rows.draft(context), rows.sampling_draft(context)
    return rows


def ours(model: Model, levels: int) -> Run:
    """`CycleLaws`, as the command runs it; the law in integers over common denominators."""
    rows = integer_rows(model, levels)

    def run() -> tuple[float, Law]:
        laws = CycleLaws(entry(NAME).make(levels), model, rows=rows)
        begin = time.process_time()
        law = laws.in_integers(())
        seconds = time.process_time() - begin
        assert law is not None
        ends = [(tokens, *row) for tokens, row in law.items()]
        return seconds, {(*t, v): Fraction(w, scale) for t, weights, scale in ends for v, w in enumerate(weights) if w}

    return run


def ours_reduced(model: Model, levels: int) -> Run:
    """The same, each probability reduced to lowest terms."""
    rows = integer_rows(model, levels)

    def run() -> tuple[float, Law]:
        laws = CycleLaws(entry(NAME).make(levels), model, rows=rows)
        begin = time.process_time()
        law = laws.at(()).law
        seconds = time.process_time() - begin
        return seconds, {tokens: fraction(p) for tokens, p in law.items()}

    return run


class Steps:
    """The published steps at one context, as integer weights: what the other tools are told."""

    @staticmethod
    @cache
    def at(model: Model, context: Tokens) -> Steps:
        """Made before the clock starts, as all tables are."""
        return Steps(model, context)

    def __init__(self, model: Model, context: Tokens) -> None:
        self.p, _ = over_common_denominator(model.target(context))
        self.q, _ = over_common_denominator(model.sampling_draft(context))

    def first(self) -> dict[int, int]:
        return {x: q for x, q in enumerate(self.q) if q}

    def first_test(self, x: int) -> tuple[int, int]:
        return self._test(x, self.p, self.q)

    def second(self, x: int) -> dict[int, int]:
        return {y: q for y, q in self.first().items() if y != x}

    def second_test(self, x: int, y: int) -> tuple[int, int]:
        return self._test(y, self._left(self.p, self.q), self._without(x))

    def residual(self, x: int) -> dict[int, int]:
        left = self._left(self._left(self.p, self.q), self._without(x))
        return {v: weight for v, weight in enumerate(left) if weight}

    def residual_alone(self) -> dict[int, int]:
        return {v: weight for v, weight in enumerate(self._left(self.p, self.q)) if weight}

    def _without(self, x: int) -> list[int]:
        return [0 if v == x else q for v, q in enumerate(self.q)]

    @staticmethod
    def _test(x: int, r: list[int], q: list[int]) -> tuple[int, int]:
        yes = min(r[x] * sum(q), q[x] * sum(r))
        return yes, q[x] * sum(r) - yes

    @staticmethod
    def _left(r: list[int], q: list[int]) -> list[int]:
        return [max(r[v] * sum(q) - q[v] * sum(r), 0) for v in range(len(r))]


def storm(model: Model, levels: int) -> Run:
    """An explicit Markov chain: a state for every point of the program (both drafts drawn first) and every end."""
    import stormpy
    from stormpy.analysis import compute_expected_number_of_visits
    from stormpy.datastructures import SparseMatrixBuilder
    from stormpy.models import SparseDtmc, SparseModelComponents, StateLabeling
    from stormpy.numbers import Rational

    del stormpy
    numbers: dict[tuple, int] = {}
    rows: list[list[tuple[tuple, Fraction]]] = []

    def state(key: tuple) -> None:
        if key in numbers:
            return
        numbers[key] = len(rows)
        edges = [(to, p) for to, p in chain_edges(model, levels, key) if p]
        rows.append(edges)
        for to, _ in edges:
            state(to)

    sys.setrecursionlimit(10_000)
    state(("node", ()))
    builder = SparseMatrixBuilder[Rational]()
    for number, edges in enumerate(rows):
        for column, p in sorted((numbers[to], p) for to, p in edges):
            builder.add_next_value(number, column, Rational(p))
    labels = StateLabeling(len(rows))
    labels.add_label("init")
    labels.add_label_to_state("init", 0)
    components = SparseModelComponents[Rational](transition_matrix=builder.build(), state_labeling=labels)
    dtmc = SparseDtmc[Rational](components)

    def run() -> tuple[float, Law]:
        begin = time.process_time()
        result = compute_expected_number_of_visits(dtmc)
        seconds = time.process_time() - begin
        return seconds, {
            key[1]: Fraction(str(result.get_value(number))) for key, number in numbers.items() if key[0] == "end"
        }

    return run


def chain_edges(model: Model, levels: int, key: tuple) -> list[tuple[tuple, Fraction]]:
    """The transitions out of a point of the program. Emitted sequences lead to one last state."""
    kind, context, *drawn = key
    if kind in ("end", "stop"):
        return [(("stop", ()), Fraction(1))]
    steps = Steps.at(model, context)

    def spread(weights: dict[int, int], to: Callable[[int], tuple]) -> list[tuple[tuple, Fraction]]:
        whole = sum(weights.values())
        return [(to(v), Fraction(weight, whole)) for v, weight in weights.items()]

    if kind == "node" and len(context) == levels:
        return spread(dict(enumerate(steps.p)), lambda v: ("end", (*context, v)))
    if kind == "node":
        return spread(steps.first(), lambda x: ("drawn", context, x))
    x = drawn[0]
    if kind == "drawn" and steps.second(x):
        return spread(steps.second(x), lambda y: ("test", context, x, y))
    if kind == "drawn":
        return [(("test", context, x), Fraction(1))]
    if kind == "residual":
        rest = steps.residual(x) if len(drawn) == 2 else steps.residual_alone()
        return spread(rest, lambda v: ("end", (*context, v)))
    first = kind == "test"
    yes, no = steps.first_test(x) if first else steps.second_test(*drawn)
    after = ("second" if first and len(drawn) == 2 else "residual", context, *drawn)
    accepted = drawn[0] if first else drawn[1]
    return [(("node", (*context, accepted)), Fraction(yes, yes + no)), (after, Fraction(no, yes + no))]


def icepool_die(model: Model, levels: int) -> Run:
    """Dice that map to dice."""
    import icepool

    def node(context: Tokens) -> icepool.Die:
        steps = Steps.at(model, context)
        if len(context) == levels:
            return icepool.Die({(*context, v): weight for v, weight in enumerate(steps.p) if weight})
        below: dict[int, icepool.Die] = {}

        def descend(x: int) -> icepool.Die:
            if x not in below:
                below[x] = node((*context, x))
            return below[x]

        def rejected(x: int) -> icepool.Die:
            if not steps.second(x):
                return icepool.Die({(*context, v): weight for v, weight in steps.residual_alone().items()})
            rest = {(*context, v): weight for v, weight in steps.residual(x).items()}

            def second(y: int) -> icepool.Die:
                return mixture(steps.second_test(x, y), lambda: descend(y), lambda: icepool.Die(rest))

            return icepool.Die(steps.second(x)).map(second)

        def first(x: int) -> icepool.Die:
            return mixture(steps.first_test(x), lambda: descend(x), lambda: rejected(x))

        return icepool.Die(steps.first()).map(first)

    def mixture(test: tuple[int, int], yes: Callable, no: Callable) -> icepool.Die:
        if not test[1]:
            return yes()
        if not test[0]:
            return no()
        return icepool.Die([yes(), no()], times=list(test))

    def run() -> tuple[float, Law]:
        begin = time.process_time()
        die = node(())
        seconds = time.process_time() - begin
        whole = die.denominator()
        return seconds, {tokens: Fraction(weight, whole) for tokens, weight in die.items()}

    return run


def dyce_histogram(model: Model, levels: int) -> Run:
    """Histograms that `expand` into histograms."""
    from dyce import H, expand

    def node(context: Tokens) -> H:
        steps = Steps.at(model, context)
        if len(context) == levels:
            return H({(*context, v): weight for v, weight in enumerate(steps.p) if weight})
        below: dict[int, H] = {}

        def descend(x: int) -> H:
            if x not in below:
                below[x] = node((*context, x))
            return below[x]

        def rejected(x: int) -> H:
            if not steps.second(x):
                return H({(*context, v): weight for v, weight in steps.residual_alone().items()})
            rest = H({(*context, v): weight for v, weight in steps.residual(x).items()} or {(): 1})
            return expand(
                lambda y: mixture(steps.second_test(x, y.outcome), lambda: descend(y.outcome), lambda: rest),
                H(steps.second(x)),
                min_path_probability=EXACT,
            )

        return expand(
            lambda x: mixture(steps.first_test(x.outcome), lambda: descend(x.outcome), lambda: rejected(x.outcome)),
            H(steps.first()),
            min_path_probability=EXACT,
        )

    def mixture(test: tuple[int, int], yes: Callable, no: Callable) -> H:
        if not test[1]:
            return yes()
        if not test[0]:
            return no()
        return expand(lambda it: yes() if it.outcome else no(), H({1: test[0], 0: test[1]}), min_path_probability=EXACT)

    def run() -> tuple[float, Law]:
        begin = time.process_time()
        histogram = node(())
        seconds = time.process_time() - begin
        return seconds, {tokens: Fraction(weight, histogram.total) for tokens, weight in histogram.items()}

    return run


CONTENDERS = {
    "rheo_verify": ours,
    "rheo_verify, reduced": ours_reduced,
    "stormpy": storm,
    "icepool": icepool_die,
    "dyce": dyce_histogram,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", type=int, default=8)
    parser.add_argument("--levels", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=7)
    args = parser.parse_args()
    model = random_model(args.vocab, 0)
    begin = time.process_time()
    for length in range(args.levels + 1):
        for context in product(range(args.vocab), repeat=length):
            Steps.at(model, context)
    reading = time.process_time() - begin
    print(
        f"{NAME}: {args.vocab} tokens, trees of {args.levels} levels, context-dependent tables; best of {args.repeat}"
    )
    laws: dict[str, Law] = {}
    best: dict[str, float] = {}
    built: dict[str, float] = {}
    runs: dict[str, Run] = {}
    for name, make in CONTENDERS.items():
        if importlib.util.find_spec(name.partition(",")[0]) is None:
            print(f"{name:<22} is not installed")
            continue
        begin = time.process_time()
        runs[name] = make(model, args.levels)
        built[name] = time.process_time() - begin + (0 if name.startswith("rheo_verify") else reading)
    for attempt in range(args.repeat):
        for name, run in runs.items():
            if best.get(name, 0) > 5 and attempt > 1:
                continue
            seconds, laws[name] = run()
            best[name] = min(seconds, best.get(name, seconds))
    print(f"{'':<22}{'build':>10}{'law':>12}")
    for name, seconds in best.items():
        line = f"{name:<22}{built[name]:>10.4f}{seconds:>10.4f} s{seconds / best['rheo_verify']:>8.1f} x"
        print(f"{line}  {len(laws[name]):,} sequences", flush=True)
    assert sum(laws["rheo_verify"].values()) == 1
    disagreeing = [name for name, law in laws.items() if law != laws["rheo_verify"]]
    print("all agree in every probability" if not disagreeing else f"DISAGREE: {', '.join(disagreeing)}")
    return 1 if disagreeing else 0


if __name__ == "__main__":
    sys.exit(main())
