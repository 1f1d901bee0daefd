"""Random verdicts with their certificates, and ways of corrupting a certificate."""

from __future__ import annotations

import copy
import importlib.util
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rheo_verify.checks.certificate import Certificate, certificate_of
from rheo_verify.checks.enumeration import enumerate_design
from rheo_verify.checks.verdict import Verdict
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.drafting.size import most_trees
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.rationals import exact, text
from rheo_verify.verification.rules import layer_rule

ROOT = Path(__file__).parent.parent
CHECKER = ROOT / "proofs" / "check_certificate.py"
coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed (Debian: apt install coq)")


@cache
def checker(name: str = "check_certificate") -> Any:
    spec = importlib.util.spec_from_file_location(name, CHECKER.with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rejected(data: Any) -> bool:
    try:
        checker().check(data)
    except Exception:
        return True
    return False


def coqc(source: str, folder: Path, name: str = "certificate", *options: str) -> subprocess.CompletedProcess[str]:
    (folder / f"{name}.v").write_text(source)
    command = ["coqc", *options, "-Q", str(folder), "", f"{name}.v"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200)


THEOREM = re.compile(r"^Theorem \w+ :\n  (.*)\n  = (.*)\.\n", re.MULTILINE)


def told(body: str, name: str, *, lie: bool = False) -> str:
    """A certificate's body as one module in which all its theorems are one term, for many of them in one file.

    Of a lie Rocq must refuse that term, or the file does not compile: `Fail` is an error about what does not fail. The
    term is checked as the theorems are, by the virtual machine in the kernel.
    """
    data, _, theorems = body.partition("\nTheorem ")
    found = THEOREM.findall("Theorem " + theorems)
    assert len(found) == theorems.count("Qed.") > 3
    proofs = [f"(eq_refl ({right}) <: {left}\n  = {right})" for left, right in found]
    term = "\n  ".join(f"(conj {proof}" for proof in proofs) + " I" + ")" * len(proofs)
    return f"Module {name}.\n{data}\n{'Fail ' if lie else ''}Definition holds :=\n  {term}.\nEnd {name}.\n"


def refused(prelude: str, honest: Iterable[str], lies: Iterable[str], folder: Path) -> None:
    """Rocq accepts every honest body and refuses every lie, each by itself: one run, so that it loads once."""
    true = [told(body, f"Honest{number}") for number, body in enumerate(honest)]
    false = [told(body, f"Lie{number}", lie=True) for number, body in enumerate(lies)]
    done = coqc(prelude + "\nSet Printing Depth 9.\n" + "\n".join([*true, *false]), folder, "many", "-test-mode")
    assert done.returncode == 0, done.stderr
    messages = (done.stdout + done.stderr).split("The command has indeed failed with message:")[1:]
    assert len(messages) == len(false)
    assert all("expected to have type" in " ".join(message.split()) for message in messages), messages


def random_certificates(number: int, seed: int = 0, most: int = 200, depth: int = 3) -> Iterator[Certificate]:
    """As many certificates, of sound and of broken designs in turn; a third of the models has a sampling draft."""
    dice = random.Random(seed)
    given = 0
    while given < number:
        vocab = dice.randint(2, 4)
        broken = given % 2 == 1
        design = TreeDesign(
            lead=dice.randint(0, 2),
            pool=dice.randint(2, 4),
            beam=dice.randint(1, 3),
            depth=dice.randint(1, depth),
            budget=dice.randint(1, 5),
            proxy=dice.choice(["raw", exact("1/4"), exact(0)]) if broken else "rheo",
            ties=dice.choice(["position", "token"]) if broken else "position",
            verification="sampling" if not broken else dice.choice(["sampling", "ranking"]),
        )
        model = random_model(
            vocab,
            dice.randrange(10**6),
            largest=dice.choice([1, 2, 3, 9]),
            zeros=dice.choice([0, 0, 5]),
            independent_sampling=dice.random() < 0.33,
        )
        if most_trees(design, vocab) > most or design.lead > vocab:
            continue
        result = enumerate_design(model, design, layer_rule(dice.choice(["rheo", "rheo", "rrsw", "topk"])))
        if broken and result.verdict is Verdict.VERIFIED and dice.random() < 0.9:
            continue
        given += 1
        yield certificate_of(result)


def _shift(values: dict[Any, str], dice: random.Random) -> None:
    """Move a little probability from one entry to another (the sum stays one), or off the only one."""
    source = max(values, key=lambda key: Fraction(values[key]))
    moved = Fraction(values[source]) / dice.randint(2, 50)
    others = [key for key in values if key != source]
    if others:
        other = dice.choice(others)
        values[other] = text(Fraction(values[other]) + moved)
    values[source] = text(Fraction(values[source]) - moved)


def _class_probability(data: Any, dice: random.Random) -> None:
    values = {index: it["probability"] for index, it in enumerate(data["classes"])}
    _shift(values, dice)
    for index, it in enumerate(data["classes"]):
        it["probability"] = values[index]


def _class_dropped(data: Any, dice: random.Random) -> None:
    gone = data["classes"].pop(dice.randrange(len(data["classes"])))
    if data["classes"]:
        first = data["classes"][0]
        first["probability"] = text(Fraction(first["probability"]) + Fraction(gone["probability"]))


def _class_split(data: Any, dice: random.Random) -> None:
    it = dice.choice(data["classes"])
    it["probability"] = text(Fraction(it["probability"]) / 2)
    data["classes"].append(copy.deepcopy(it))


def _token(data: Any, dice: random.Random) -> None:
    node = dice.choice(dice.choice(data["classes"])["nodes"])
    node[1][-1] = (node[1][-1] + 1) % data["vocab"]


def _slot(data: Any, dice: random.Random) -> None:
    dice.choice(dice.choice(data["classes"])["nodes"])[0][-1] += 1


def _kind(data: Any, dice: random.Random) -> None:
    node = dice.choice(dice.choice(data["classes"])["nodes"])
    node[2] = "fill" if node[2] == "sampled" else "sampled"


def _number(key: str) -> Callable[[Any, random.Random], None]:
    def corrupt(data: Any, dice: random.Random) -> None:
        data[key] = text(Fraction(data[key]) + Fraction(1, dice.randint(2, 10**6)))

    return corrupt


def _budget_entry(data: Any, dice: random.Random) -> None:
    place = dice.randrange(len(data["budgets"]))
    data["budgets"][place] = text(Fraction(data["budgets"][place]) + Fraction(1, 1000))


def _verdict(data: Any, dice: random.Random) -> None:
    data["verdict"] = "REFUTED" if data["verdict"] == "VERIFIED" else "VERIFIED"


def _claims_lossless(data: Any, dice: random.Random) -> None:
    """The lie that matters most: a lossy design said to be lossless, consistently (and the other way round)."""
    lossless = data["verdict"] == "VERIFIED"
    _verdict(data, dice)
    data["total_variation"] = data["budgets"][-1] = "1/100" if lossless else "0"


def _emitted(data: Any, dice: random.Random) -> None:
    _shift(data["emitted"], dice)


def _target(data: Any, dice: random.Random) -> None:
    row = data["rows"]["target"][""]
    values: dict[Any, str] = dict(enumerate(row))
    _shift(values, dice)
    row[:] = values.values()


def _row(data: Any, dice: random.Random) -> None:
    name = dice.choice([name for name, rows in data["rows"].items() if rows])
    row = data["rows"][name][dice.choice(sorted(data["rows"][name]))]
    place = dice.randrange(len(row))
    row[place] = text(Fraction(row[place]) + Fraction(1, 7))


def _row_missing(data: Any, dice: random.Random) -> None:
    del data["rows"]["draft"][""]


def _more_budget(data: Any, dice: random.Random) -> None:
    data["design"]["budget"] += 1


CORRUPTIONS: tuple[Callable[[Any, random.Random], None], ...] = (
    _class_probability,
    _class_dropped,
    _class_split,
    _token,
    _slot,
    _kind,
    _number("total_variation"),
    _number("tokens_per_cycle"),
    _budget_entry,
    _verdict,
    _claims_lossless,
    _emitted,
    _target,
    _row,
    _row_missing,
    _more_budget,
)
