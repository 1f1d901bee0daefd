"""Running the machine-checked proofs that `proofs/` holds: Rocq, symbolic, bounded; and saying what could not run.

The folder is found beside the package in a checkout, and inside it when it was installed from a wheel. It is loaded as
a package of its own, so that nothing in it is imported before a proof is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import rheo_verify
from rheo_verify.checks.rocq import RocqAnswer, check_theorems
from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import CannotRun, InputError, not_installed
from rheo_verify.limits import Progress

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "proofs", _PACKAGE.parent / "proofs")
_NAME = "rheo_verify_proofs"
LEVELS = {0: "random instances", 1: "every instance in a scope", 2: "all reals, fixed sizes", 3: "all sizes"}


@dataclass(frozen=True)
class Step:
    """One check of one claim. `what` is the check, `answer` its scope, counterexample, or why it did not run."""

    level: int
    what: str
    checker: str
    verdict: Verdict
    answer: str
    seconds: float
    beside: bool = False


@dataclass(frozen=True)
class Proved:
    """What was found about one claim; `claim` is an entry of the registry."""

    claim: Any
    steps: tuple[Step, ...]

    @property
    def level(self) -> int | None:
        """The highest level at which every check held, None if there is none."""
        levels = {step.level for step in self.steps if not step.beside}
        held = [n for n in levels if all(s.verdict is Verdict.VERIFIED for s in self.steps if s.level == n)]
        return max(held, default=None)

    @property
    def verdict(self) -> Verdict:
        """VERIFIED only if everything that was asked for ran and held."""
        return Verdict.worst(step.verdict for step in self.steps) if self.steps else Verdict.INCONCLUSIVE


def proofs_folder() -> Path:
    """Where the proofs are. Raises `CannotRun` RV704 when they are not there."""
    for folder in _FOLDERS:
        if (folder / "registry.py").is_file():
            return folder
    raise CannotRun("RV704", "the folder proofs/ is neither in this installation nor beside it")


def load(name: str) -> ModuleType:
    """A module of `proofs/`, by its name below that folder."""
    if _NAME not in sys.modules:
        folder = proofs_folder()
        place = [str(folder)]
        spec = importlib.util.spec_from_file_location(_NAME, folder / "__init__.py", submodule_search_locations=place)
        if spec is None or spec.loader is None:
            raise CannotRun("RV704", f"{folder} cannot be loaded")
        package = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
    return importlib.import_module(f"{_NAME}.{name}")


def chosen_claims(names: Sequence[str]) -> list[Any]:
    """The claims of these ids, all if there are none. Raises `InputError` RV705 for an unknown one."""
    known = {claim.id: claim for claim in load("registry").CLAIMS}
    for name in names:
        if name not in known:
            raise InputError("RV705", f"there is no claim {name!r}; the claims are {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


def prove(claims: Iterable[Any], level: int | None = None, progress: Progress | None = None) -> Iterator[Proved]:
    """Check each claim at one level, or at all. Every check runs once, however many claims rest on it.

    `progress` is told what is checked next, how many checks are done, and how many there are.
    """
    claims = list(claims)
    tell = progress or (lambda *_: None)
    theorems = sorted({name for claim in claims for name in _theorems(claim)}) if level in (None, 3) else []
    asked = {(number, check) for claim in claims for number, check, _ in _functions(claim) if level in (None, number)}
    total = len(asked) + bool(theorems)
    if theorems:
        tell("Rocq: building proofs/rocq", 0, total)
    rocq = check_theorems(proofs_folder() / "rocq", theorems) if theorems else {}
    known: dict[tuple[int, str], Step] = {}
    for claim in claims:
        steps = [_rocq_step(name, rocq[name], name not in claim.rocq) for name in _theorems(claim) if name in rocq]
        for number, check, beside in _functions(claim):
            if level in (None, number):
                if (number, check) not in known:
                    tell(check, len(known) + bool(theorems), total)
                    known[number, check] = _run(number, check)
                found = known[number, check]
                steps.append(Step(number, *_fields(found), beside=beside))
        yield Proved(claim, tuple(sorted(steps, key=lambda step: (-step.level, step.beside))))


def _fields(step: Step) -> tuple[str, str, Verdict, str, float]:
    return step.what, step.checker, step.verdict, step.answer, step.seconds


def _theorems(claim: Any) -> list[str]:
    return [*claim.rocq, *(name for name in claim.beside if ":" not in name)]


def _functions(claim: Any) -> list[tuple[int, str, bool]]:
    levels = {check: level for other in load("registry").CLAIMS for level, check in other.checks}
    usual = {"symbolic": 2, "bounded": 1}
    beside = [(levels.get(n, usual[n.partition(".")[0]]), n, True) for n in claim.beside if ":" in n]
    return [*((level, check, False) for level, check in claim.checks), *beside]


def _rocq_step(name: str, answer: RocqAnswer, beside: bool) -> Step:
    return Step(3, name, answer.checker, answer.verdict, answer.text, answer.seconds, beside)


def _run(level: int, check: str) -> Step:
    module_name, _, function = check.partition(":")
    begin = time.monotonic()
    refuted: type[Exception] = load("check").Refuted
    try:
        module = load(module_name)
        checker = getattr(
            module, "CHECKER", f"rheo_verify {rheo_verify.__version__}, Python {platform.python_version()}"
        )
        answer = getattr(module, function)()
        verdict = Verdict.VERIFIED
    except ModuleNotFoundError as missing:
        package = {"z3": "z3-solver"}.get(missing.name or "", missing.name)
        answer = not_installed(package, "proofs").message
        checker, verdict = str(package), Verdict.INCONCLUSIVE
    except refuted as error:
        answer, verdict = str(error), Verdict.REFUTED
    return Step(level, check, checker, verdict, answer, time.monotonic() - begin)
