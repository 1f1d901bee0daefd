"""Everything that is asked of a real pair in one go: exact layers, Table 4, tau of each design, the sampled checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rheo_verify.checks.greedy import GreedyCheck, greedy_check
from rheo_verify.checks.planted import planted
from rheo_verify.checks.real_layers import LayerCheck, check_layers
from rheo_verify.checks.sampled import SampledCheck, watch
from rheo_verify.checks.uniformity import HeadTail, head_tail
from rheo_verify.checks.verdict import Verdict
from rheo_verify.decoders.torch_decoding import TorchDecoding
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import LimitReached
from rheo_verify.limits import Progress
from rheo_verify.models.contexts import rows_along
from rheo_verify.models.pair import Pair
from rheo_verify.models.rows import RowSettings
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule

EXACT = 1e-12
"""The largest deviation of a float64 law from p that counts as rounding."""


@dataclass(frozen=True)
class Plan:
    """What to ask. tokens: emitted a design in the sampled check; draws: cycles at one fixed prompt.

    greedy: tokens emitted at temperature 0, none if 0. leads: values of m. level: chance of a false alarm per design.
    fault: a planted one (`checks.planted`), or None.
    """

    settings: RowSettings = field(default_factory=RowSettings)
    leads: tuple[int, ...] = (0, 1, 2)
    rule: str = "rheo"
    pool: int = 8
    depth: int = 5
    budget: int = 24
    tokens: int = 200
    draws: int = 400
    greedy: int = 64
    level: float = 0.01
    seed: int = 0
    fault: str | None = None
    dtypes: tuple[str, ...] = ("float64", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class DesignResult:
    """One design's decoding: its sampled check, and the fixed-prompt test."""

    name: str
    lead: int
    check: SampledCheck
    first_token: HeadTail | None

    def verdict(self, level: float) -> Verdict:
        """REFUTED if any sampled test raised an alarm."""
        bad = self.first_token is not None and self.first_token.p_value < level / 4
        return Verdict.REFUTED if bad else self.check.verdict


@dataclass(frozen=True)
class Empirical:
    """The answer. `layers`: exact checks in float64; `rounded`: the same in other types; `table4`: rule to rate.

    `stopped`: the limit that ended the work; what was not finished by then is missing.
    """

    plan: Plan
    pair: Pair
    rows: int
    layers: tuple[LayerCheck, ...]
    rounded: tuple[LayerCheck, ...]
    table4: dict[str, float]
    greedy: GreedyCheck | None
    designs: tuple[DesignResult, ...]
    stopped: LimitReached | None = None

    @property
    def exact(self) -> Verdict:
        """Of the exact check: every row, every outcome of the sampled token, within rounding."""
        found = Verdict.of(all(check.worst <= EXACT for check in self.layers))
        missing = len(self.layers) < len(_layers_asked(self.plan))
        return Verdict.INCONCLUSIVE if missing and found is Verdict.VERIFIED else found

    @property
    def sampled(self) -> Verdict:
        """Of the sampled checks together."""
        return Verdict.worst(it.verdict(self.plan.level) for it in self.designs)

    @property
    def verdict(self) -> Verdict:
        """REFUTED if anything was refuted; else the exact check's: samples can only refute.

        No more than INCONCLUSIVE at a limit, or where a planted fault was not seen.
        """
        if self._refuted:
            return Verdict.REFUTED
        return self.exact if self.stopped is None and self.plan.fault is None else Verdict.INCONCLUSIVE

    @property
    def unseen(self) -> bool:
        """Whether a fault was planted and nothing was refuted."""
        return self.plan.fault is not None and not self._refuted

    @property
    def _refuted(self) -> bool:
        greedy = Verdict.VERIFIED if self.greedy is None else self.greedy.verdict
        return Verdict.REFUTED in (self.sampled, greedy, self.exact)


def _layers_asked(plan: Plan) -> list[tuple[int, int]]:
    """m, and how many slots survive, of each exact check."""
    return [(lead, kept) for lead in plan.leads for kept in sorted({lead + 1, plan.pool})]


def check_pair(pair: Pair, text: Sequence[int], plan: Plan, progress: Progress | None = None) -> Empirical:
    """Ask everything of a pair. `text` gives the real contexts: each position is one, its start is the prompt.

    A `LimitReached` that `progress` raises ends the work: the answer has what was finished, and the limit.
    """
    say = progress or (lambda what, done, total: None)
    target, drafts = rows_along(pair, text, plan.settings)
    layers: list[LayerCheck] = []
    rounded: list[LayerCheck] = []
    rates: dict[str, float] = {}
    designs: list[DesignResult] = []
    greedy = stopped = None
    rule = layer_rule(plan.rule)
    try:
        for number, (lead, kept) in enumerate(_layers_asked(plan)):
            say("layers checked exactly", number, len(_layers_asked(plan)))
            layers.append(check_layers(target, drafts, rule, lead=lead, pool=plan.pool, kept=kept, progress=say))
        rounded.extend(
            check_layers(target, drafts, rule, lead=1, pool=plan.pool, dtype=dtype, progress=say)
            for dtype in plan.dtypes
        )
        for name, lead in (("topk", 3), ("rrsw", 1), ("rheo", 1)):
            check = check_layers(target, drafts, layer_rule(name), lead=lead, pool=3, progress=say)
            rates[name] = float(check.acceptance.mean())
        greedy = _greedy(pair, text, plan, say) if plan.greedy else None
        _decode(pair, text, plan, "eagle-3 (top-K)", plan.pool, "topk", say, designs)
        for lead in plan.leads:
            _decode(pair, text, plan, f"rheosampling m={lead}, {plan.rule}", lead, plan.rule, say, designs)
    except LimitReached as limit:
        stopped = limit
    return Empirical(plan, pair, len(target), tuple(layers), tuple(rounded), rates, greedy, tuple(designs), stopped)


def _greedy(pair: Pair, text: Sequence[int], plan: Plan, say: Progress) -> GreedyCheck:
    settings = replace(plan.settings, temperature=0.0)
    live = TorchDecoding(
        pair, _design(plan, plan.leads[-1]), in_one_draw(layer_rule(plan.rule)), TorchChance(plan.seed), settings
    )
    live.start(list(text[: min(64, len(text))]))
    return greedy_check(live, plan.greedy, say)


def _design(plan: Plan, lead: int) -> TreeDesign:
    return TreeDesign(lead=lead, pool=plan.pool, beam=plan.pool, depth=plan.depth, budget=plan.budget)


def _decode(
    pair: Pair,
    text: Sequence[int],
    plan: Plan,
    name: str,
    lead: int,
    rule: str,
    say: Progress,
    designs: list[DesignResult],
) -> None:
    """Add the design's result to `designs`; at a limit too, if all tokens were emitted or a deviation is certain."""
    design = _design(plan, lead)
    sound = layer_rule(rule)
    used = planted(sound, plan.fault, plan.settings.temperature) if plan.fault else sound
    live = TorchDecoding(pair, design, in_one_draw(used), TorchChance(plan.seed), plan.settings)
    live.start(list(text[: min(64, len(text))]))
    check = SampledCheck(plan.level, plan.seed)
    first = None
    try:
        for _ in watch(live, check, sound, plan.tokens):
            say(f"tokens of {name}", min(check.process.tokens, plan.tokens), plan.tokens)
        first = _fixed_prompt(pair, text, plan, design, live, say)
    except LimitReached:
        if check.process.tokens >= plan.tokens or check.found_at is not None:
            designs.append(DesignResult(name, lead, check, None))
        raise
    designs.append(DesignResult(name, lead, check, first))


def _fixed_prompt(
    pair: Pair, text: Sequence[int], plan: Plan, design: TreeDesign, live: TorchDecoding, say: Progress
) -> HeadTail | None:
    """Draws of the first token at one prompt, each with a new tree; the networks' rows are the same every time."""
    if plan.draws < 1:
        return None
    fixed = TorchDecoding(
        pair,
        TreeDesign(lead=design.lead, pool=design.pool, beam=1, depth=1, budget=design.pool),
        live.rule,
        live.chance,
        plan.settings,
    )
    fixed.start(list(text[: min(33, len(text))]))
    drawn = []
    row = None
    for number in range(plan.draws):
        row, token = fixed.first_token()
        drawn.append(token)
        if number % 16 == 0:
            say(f"draws at one prompt, m={design.lead}", number, plan.draws)
    assert row is not None
    return head_tail(row.double().cpu().numpy(), drawn, seed=plan.seed)
