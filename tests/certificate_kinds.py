"""Random certificates of `acceptance` and of `check`, and lies about them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rheo_verify.checks.acceptance import layer_at
from rheo_verify.checks.optimal import optimal_acceptance
from rheo_verify.checks.per_cycle import compare_cycles
from rheo_verify.checks.rates_certificate import CycleClaim, LayerClaim, RatesCertificate, rates_certificate
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.foreign.cases import random_case
from rheo_verify.foreign.evidence import keeping
from rheo_verify.foreign.paths_certificate import CODES, CaseClaim, PathsCertificate, paths_certificate
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.rationals import ratio, total
from rheo_verify.verification.optimal_transport import Plan


def random_rates(number: int, seed: int = 0) -> Iterator[RatesCertificate]:
    """Layers with and without a sampled slot, in turn with a cycle of the same tree and with `compare`'s decoders."""
    dice = random.Random(seed)
    for index in range(number):
        vocab = dice.randint(2, 5)
        model = random_model(
            vocab,
            dice.randrange(10**6),
            largest=dice.choice([1, 2, 3, 9]),
            zeros=dice.choice([0, 0, 5]),
            independent_sampling=dice.random() < 0.33,
        )
        design = TreeDesign(
            lead=dice.randint(0, min(2, vocab)),
            pool=dice.randint(1, 4),
            beam=dice.randint(1, 3),
            depth=dice.randint(1, 3),
            budget=dice.randint(1, 5),
        )
        if index % 3 == 2:
            cycles = compare_cycles(model, (), design, leads=range(3))
            yield rates_certificate(model, (), design, cycles)
        else:
            cycles = compare_cycles(model, (), design, leads=(design.lead,)) if index % 3 else ()
            optimum = optimal_acceptance(layer_at(model, (), design.lead, design.pool))
            yield rates_certificate(model, (), design, cycles, optimum)


def _drawn(row: list[float]) -> int:
    return random.choices(range(len(row)), row)[0]


def some_verifier(
    accept: Callable[[float, float], bool], left: Callable[[float, float], float], bonus: int, fault: str = ""
) -> Callable[..., Any]:
    """A verifier in plain Python; the standard one is right, and each part can be another."""

    def verify(target: Any, draft: Any, tokens: Any) -> Any:
        if fault == "raises" and tokens[0] == 0:
            raise ValueError("a planted fault")
        if fault == "writes":
            target[0][0] = draft[0][0] = 0.5
        for place, token in enumerate(tokens):
            if accept(target[place][token], draft[place][token]):
                continue
            row = [left(p, q) for p, q in zip(target[place], draft[place], strict=True)]
            return [*tokens[:place], _drawn(row if any(row) else target[place])], place + (fault == "counts")
        shown = [1 - t if fault == "invents" and t < 2 else t for t in tokens]
        return [*shown, _drawn(target[bonus])], len(tokens)

    return verify


def right(p: float, q: float) -> bool:
    """The standard acceptance test."""
    return bool(random.random() * q < p)


def residual(p: float, q: float) -> float:
    """What the target has above the draft."""
    return max(0.0, p - q)


VERIFIERS = (
    some_verifier(right, residual, -1),
    some_verifier(right, lambda p, q: p, -1),
    some_verifier(right, residual, -1),
    some_verifier(lambda p, q: p > 0, residual, -1),
    some_verifier(right, residual, 0),
    some_verifier(lambda p, q: True, residual, -1),
    some_verifier(right, residual, -1),
    some_verifier(right, residual, -1, "raises"),
    some_verifier(right, residual, -1, "counts"),
    some_verifier(right, residual, -1, "invents"),
    some_verifier(right, residual, -1, "writes"),
)
"""Sound ones and broken ones."""


def random_paths(number: int) -> Iterator[PathsCertificate]:
    """Verdicts on one random case each; who asks for fewer gets the first of them."""
    for index in range(number):
        if index == len(_MADE):
            _MADE.append(next(_ENDLESS))
        yield _MADE[index]


def endless_paths() -> Iterator[PathsCertificate]:
    """The same, made anew."""
    dice = random.Random(0)
    for index in itertools.count():
        case = random_case(dice.randint(2, 3), dice.randint(1, 2), dice.randrange(10**6))
        with keeping(1_000) as kept:
            report = check_verifier(VERIFIERS[index % len(VERIFIERS)], arrays="list", case=case)
        yield paths_certificate(report, kept.cases)


_MADE: list[PathsCertificate] = []
_ENDLESS = endless_paths()
THIRD = ratio(1, 3)


def rates_lies(it: RatesCertificate) -> list[RatesCertificate]:
    """The same certificate with one claim false."""
    target = it.rows["target"]
    turned = {tokens: (*row[1:], row[0]) for tokens, row in target.items()}
    found = [replace(it, cycles=(lie, *it.cycles[1:])) for cycle in it.cycles[:1] for lie in _cycle_lies(cycle)]
    found += [replace(it, layer=lie) for lie in _layer_lies(it.layer)] if it.layer else []
    if it.layer and len(set(target[()])) > 1:
        found.append(replace(it, rows={**it.rows, "target": turned}))
    found.append(replace(it, rows={**it.rows, "draft": {}}))
    return found


def _cycle_lies(cycle: CycleClaim) -> list[CycleClaim]:
    return [
        replace(cycle, tokens_per_cycle=cycle.tokens_per_cycle + THIRD),
        replace(cycle, trees=cycle.trees + 1),
    ]


def _layer_lies(layer: LayerClaim) -> list[LayerClaim]:
    plan, rates = layer.optimum.plan, layer.rates
    chosen = max(plan.sets, key=lambda one: plan.sets[one])
    sent = {**plan.flow, chosen: {token: value + THIRD for token, value in plan.flow[chosen].items()}}
    more = replace(plan, flow=sent)
    found = [replace(layer, rates=rates._replace(**{name: getattr(rates, name) + THIRD})) for name in rates._fields]
    both = replace(layer, rates=rates._replace(optimal=more.accepted), optimum=replace(layer.optimum, plan=more))
    halved = replace(plan, sets={**plan.sets, chosen: plan.sets[chosen] / 2})
    lies = [halved, *infeasible(layer)]
    return [*found, both, *(replace(layer, optimum=replace(layer.optimum, plan=lie)) for lie in lies)]


def infeasible(layer: LayerClaim) -> list[Plan]:
    """Plans that accept as much as the layer's own, but are none: one for each condition that can be broken here."""
    plan, target = layer.optimum.plan, layer.optimum.target
    sent = {(chosen, token): value for chosen, flow in plan.flow.items() for token, value in flow.items()}
    full = {chosen for chosen, flow in plan.flow.items() if sum(flow.values()) == plan.sets[chosen]}
    served = {v for v, left in enumerate(plan.residual) if not left}
    found: dict[str, Plan] = {}
    for (chosen, token), value in sent.items():
        for other, instead in [(other, v) for other in plan.sets for v in range(len(target))]:
            if not value or (other, instead) == (chosen, token):
                continue
            broken = {
                "outside": instead not in other,
                "more than it has": other != chosen and other in full and instead == token and token in other,
                "more than p": instead != token and instead in served and other == chosen and instead in other,
            }
            moved = {
                **sent,
                (chosen, token): 0 * value,
                (other, instead): sent.get((other, instead), 0 * value) + value,
            }
            for name in [name for name, yes in broken.items() if yes]:
                flows = {one: {v: x for (s, v), x in moved.items() if s == one} for one in plan.sets}
                found.setdefault(name, replace(plan, flow=flows))
    return list(found.values())


def paths_lies(it: PathsCertificate) -> list[PathsCertificate]:
    """The same certificate with one claim false."""
    (case,) = it.cases
    first, *others = case.paths
    opposite = Verdict.VERIFIED if it.verdict is Verdict.REFUTED else Verdict.REFUTED
    turned = {tokens: (*row[1:], row[0]) for tokens, row in case.draft.items()}
    lies = [
        replace(case, total_variation=case.total_variation + THIRD),
        replace(case, findings={**case.findings, "RV405": case.findings.get("RV405", 0) + THIRD}),
        replace(case, threshold=ratio(1, 2)),
        replace(case, paths=(replace(first, probability=first.probability / 2), *others)),
        replace(case, paths=(replace(first, faults=(*first.faults, "RV411")), *others)),
        replace(case, target={}),
        replace(case, length=case.length + 1),
    ]
    lies += [replace(case, draft=turned)] if turned != case.draft else []
    lies += [replace(case, paths=(replace(first, emitted=None), *others))] if first.emitted and not first.faults else []
    hidden = [_restated(it, case, lambda path, code=code: set(path.faults) - {code}) for code in _faults(case)]
    return [replace(it, verdict=opposite), *(replace(it, cases=(lie,)) for lie in lies), *hidden, *_invented(it, case)]


def _faults(case: CaseClaim) -> list[str]:
    """Those faults of its paths that can be seen in what they emitted."""
    return sorted({code for path in case.paths for code in path.faults} & {"RV405", "RV407", "RV408"})


def _invented(it: PathsCertificate, case: CaseClaim) -> list[PathsCertificate]:
    """Faults that no path shows, with the findings and the verdict that would follow."""
    clean = next((path for path in case.paths if path.emitted and not path.faults), None)
    codes = ("RV407", "RV408") if clean else ()
    return [_restated(it, case, lambda path, code=code: {*path.faults, *[code] * (path is clean)}) for code in codes]


def _restated(it: PathsCertificate, case: CaseClaim, faults: Callable[..., set[str]]) -> PathsCertificate:
    """The certificate with other faults of its paths, and all that follows from them."""
    paths = tuple(replace(path, faults=tuple(sorted(faults(path)))) for path in case.paths)
    masses = {code: total(path.probability for path in paths if code in path.faults) for code in CODES}
    masses["RV401"] = case.total_variation
    findings = {code: mass for code, mass in masses.items() if mass > case.threshold}
    verdict = Verdict.REFUTED if findings else Verdict.VERIFIED
    return replace(it, verdict=verdict, cases=(replace(case, paths=paths, findings=findings),))


def leaves(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers of a JSON certificate are."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*at, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from leaves(value, (*at, index))
    elif isinstance(data, int) or (isinstance(data, str) and data.replace("/", "").isdigit()):
        yield at


def change(data: Any, at: tuple[Any, ...]) -> None:
    """Make the number at a place another one."""
    for key in at[:-1]:
        data = data[key]
    value = data[at[-1]]
    if isinstance(value, int):
        data[at[-1]] = value + 1
    else:
        top, _, bottom = value.partition("/")
        data[at[-1]] = f"{int(top) * 7 + int(bottom or 1)}/{int(bottom or 1) * 7}"
