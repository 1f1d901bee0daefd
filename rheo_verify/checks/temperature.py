"""Models at a temperature T: target and sampling draft are tempered, the ranking draft is not (paper, section 5.4).

T = 1/k is exact (`norm(p^k)`). Any other T > 0 takes float64 powers, which are then used as the exact rationals that
they are: results are marked `exact=False`. T -> 0 is a limit, exact again, and depends on m (claim `cold-limit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rheo_verify.checks.per_cycle import Cycle, compare_cycles, pruned_trees, top_k_design
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.tree import Tree
from rheo_verify.errors import InputError
from rheo_verify.limits import Limits
from rheo_verify.models.model import Context, Model, cached, temper_model
from rheo_verify.probability.distributions import Row, normalise, one_hot, ranking, without
from rheo_verify.probability.rationals import ONE, ZERO, Rational, exact, text
from rheo_verify.words import count

LARGEST_INVERSE = 1000
SMALLEST, LARGEST = Fraction(1, 1000), 1000


@dataclass(frozen=True)
class Tempered:
    """A model at a temperature, and whether its rows are exact."""

    temperature: Rational
    model: Model
    exact: bool


def at_temperature(model: Model, temperature: Rational) -> Tempered:
    """The model at T > 0. Raises `InputError` RV106 outside 1/1000 … 1000."""
    if not SMALLEST <= temperature <= LARGEST:
        raise InputError("RV106", f"temperature {text(temperature)} must be between {SMALLEST} and {LARGEST}")
    if temperature.numerator == 1:
        tempered = model if temperature == 1 else temper_model(model, int(temperature.denominator))
        return Tempered(temperature, tempered, True)
    power = 1 / float(temperature)
    source = f"{model.source}, temperature {text(temperature)} in float64"
    return Tempered(temperature, _with_rows(model, lambda row: _float_power(row, power), source), False)


def greedy_limit(row: Row) -> Row:
    """`norm(row^(1/T))` as T -> 0: uniform on the tokens of largest probability, one-hot if there is one."""
    best = max(row)
    return normalise([ONE if value == best else ZERO for value in row])


def cold_model(model: Model, lead: int) -> Model:
    """T -> 0 as the limit of what is sampled from: q~ (off the m lead tokens) tends to its own largest tokens.

    This is the limit of the decoder at temperature T. The limit of q-hat itself is `greedy_limit`, and leaves no
    sampled slot for m >= 1, since the lead carries all of it.
    """
    target = cached(lambda context: greedy_limit(model.target(context)))

    def sampling(context: Context) -> Row:
        off_lead = without(model.sampling_draft(context), ranking(model.draft(context))[:lead])
        return greedy_limit(off_lead) if any(off_lead) else model.sampling_draft(context)

    return replace(model, target=target, sampling_draft=cached(sampling), source=f"{model.source}, T -> 0")


@dataclass(frozen=True)
class AtTemperature:
    """Decoders side by side at one temperature; 0 stands for the limit T -> 0."""

    temperature: Rational
    exact: bool
    cycles: tuple[Cycle, ...]


def each_temperature(
    model: Model,
    context: Context,
    design: TreeDesign,
    temperatures: Sequence[Rational],
    *,
    leads: Sequence[int] = (0, 1, 2),
    limits: Limits | None = None,
) -> Iterator[AtTemperature]:
    """Tau of rheo for each m, and of pure top-K, at each temperature (the paper's Figure 4); T = 0 is the limit."""
    for temperature in temperatures:
        if temperature == 0:
            rows = [
                compare_cycles(cold_model(model, m), context, design, leads=(m,), rules=("rheo",), limits=limits)
                for m in leads
            ]
            plain = compare_cycles(cold_model(model, 0), context, design, leads=(), limits=limits)
            cycles = (*(row for each in rows for row in each if row.rule == "rheo"), *plain)
            yield AtTemperature(temperature, True, cycles)
        else:
            warm = at_temperature(model, temperature)
            cycles = compare_cycles(warm.model, context, design, leads=leads, rules=("rheo",), limits=limits)
            yield AtTemperature(temperature, warm.exact, cycles)


def compare_temperatures(
    model: Model,
    context: Context,
    design: TreeDesign,
    temperatures: Sequence[Rational],
    *,
    leads: Sequence[int] = (0, 1, 2),
    limits: Limits | None = None,
) -> tuple[AtTemperature, ...]:
    """`each_temperature`, all of them."""
    return tuple(each_temperature(model, context, design, temperatures, leads=leads, limits=limits))


@dataclass(frozen=True)
class ColdLimit:
    """Claim `cold-limit` at one context: the trees as T -> 0 beside pure top-K's.

    `tree`: this m, sampling from the limit of q~ (for m = 0 that of q-hat). `top_k`: the tree without a sampled slot.
    `one_hot_draft`: this m, sampling from q-hat one-hot at x1. Trees are in order of priority.
    """

    lead: int
    tree: Tree
    top_k: Tree
    one_hot_draft: Tree

    @property
    def same_tree(self) -> bool:
        """Whether slots and tokens are those of top-K (the order of revelation aside)."""
        return set(self.tree) == set(self.top_k)

    @property
    def verdict(self) -> Verdict:
        """VERIFIED if what the claim says of every model holds here.

        m = 0: exactly the top-K tree. m >= 1: q-hat one-hot at x1 gives exactly the top-K tree, and in every pool the
        limit of q~ gives top-K's tokens in top-K's slots; that the whole tree may differ is `same_tree`.
        """
        shared = {node.slots: node for node in self.top_k}
        same_tokens = all(shared[node.slots].tokens == node.tokens for node in self.tree if node.slots in shared)
        whole = self.same_tree if self.lead == 0 else True
        return Verdict.of(same_tokens and whole and set(self.one_hot_draft) == set(self.top_k))


def cold_limit(model: Model, context: Context, design: TreeDesign) -> ColdLimit:
    """The trees of claim `cold-limit` for this design. Ties of q among its largest tokens go by token id."""
    first = cached(lambda here: one_hot(ranking(model.draft(here))[0], model.vocab))
    second = cached(lambda here: one_hot(ranking(model.draft(here))[design.lead], model.vocab))
    if design.lead >= min(design.pool, model.vocab):
        raise InputError(
            "RV106", f"m = {design.lead} leaves no sampled slot among K = {count(design.pool, 'candidate')}"
        )

    def only_tree(sampling: Callable[[Context], Row], shape: TreeDesign) -> Tree:
        ((tree, _),) = pruned_trees(replace(model, sampling_draft=sampling), context, shape)
        return tree

    return ColdLimit(
        design.lead,
        only_tree(second, design),
        only_tree(first, top_k_design(design, model.vocab)),
        only_tree(first, design),
    )


def _float_power(row: Row, power: float) -> Row:
    best = max(row)
    return normalise([exact(Fraction(float(value / best) ** power)) if value else ZERO for value in row])


def _with_rows(model: Model, change: Callable[[Row], Row], source: str) -> Model:
    return replace(
        model,
        target=cached(lambda context: change(model.target(context))),
        sampling_draft=cached(lambda context: change(model.sampling_draft(context))),
        source=source,
    )
