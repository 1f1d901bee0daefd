"""A check says how far it is, to whoever listens, and to nobody else."""

from __future__ import annotations

import itertools
import random
import re
import types
from pathlib import Path

import pytest

from rheo_verify.cli import progress
from rheo_verify.cli.main import run
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.progress import followed, telling
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import cases_of, check_verifier

ROOT = Path(__file__).parents[2]
QUICK = Scope(vocab=2, denominator=2, random=4)


def first_of_target(target, draft, tokens):  # type: ignore[no-untyped-def]
    """Rejects everything: lossless, and slow to no purpose."""
    return [random.choices(range(len(target[0])), target[0])[0]]


def draw(row):  # type: ignore[no-untyped-def]
    return random.choices(range(len(row)), row)[0]


def target_alone(target, draft, prompt, n):  # type: ignore[no-untyped-def]
    tokens = list(prompt)
    for _ in range(n):
        row = target(tokens)
        tokens.append(random.choices(range(len(row)), row)[0])
    return tokens[len(prompt) :]


def test_every_way_in_tells_of_every_case() -> None:
    told: list[tuple[str, int, int]] = []
    with telling(lambda *what: told.append(what)):
        report = check_verifier(first_of_target, arrays="list", scope=QUICK)
    total = len(list(cases_of(QUICK)))
    assert told == [("cases", number, total) for number in range(total)]
    assert report.cases == total
    told.clear()
    with telling(lambda *what: told.append(what)):
        check_sampler(draw, arrays="list", logits=False, scope=QUICK)
        seen = len(told)
        check_decoder(target_alone, arrays="list", scope=DecoderScope.read("denominator=2,random=2"))
    assert 0 < seen < len(told)
    assert {what for what, _, _ in told} == {"cases"}


def test_nobody_is_told_afterwards() -> None:
    told: list[int] = []
    with telling(lambda what, done, total: told.append(done)):
        assert next(followed("abc", "letters")) == "a"
    assert next(followed(itertools.count(), "numbers")) == 0
    assert told == [0]


def test_verbose_shows_cases_and_the_answer_is_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command = ["check", "docs/tutorial/verifier_mended.py:verify", "--arrays", "numpy", "--scope", "quick"]
    assert run(command) == 0
    plain = capsys.readouterr()
    clock = itertools.count(0, 3)
    # The clock of the shown lines alone: with everybody's, the check's own limit of seconds would come.
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: next(clock) / 10))
    assert run([*command, "--verbose"]) == 0
    verbose = capsys.readouterr()
    assert (verbose.out, plain.err) == (plain.out, "")
    assert re.search(r"s  cases: [\d,]+ of [\d,]+, about \d+ s left", verbose.err)
