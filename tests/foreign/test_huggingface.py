"""transformers' own code, unmodified, under enumeration: sampling, assisted generation, `_speculative_sampling`."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import run
from rheo_verify.foreign.cases import Case, by_position, random_case
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.texts import report_text
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.probability.distributions import distribution

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
transformers.logging.set_verbosity_error()
CASE = by_position(
    [distribution(row) for row in (["1/4", "3/4"], ["2/3", "1/3"], ["1/2", "1/2"])],
    [distribution(row) for row in (["2/3", "1/3"], ["1/4", "3/4"])],
)


def check(case: Case, **options: Any) -> Any:
    from rheo_verify.foreign.huggingface import check_generate

    return check_generate(case, length=3, **options)


def test_plain_sampling_by_hand() -> None:
    report = check(CASE, assistant=False)
    assert (report.verdict, report.paths) == (Verdict.VERIFIED, 8)
    assert report.threshold == 1e-6


@pytest.mark.parametrize("processing", [Processing(), Processing(temperature=0.5), Processing(top_p=0.7)])
def test_assisted_generation(processing: Processing) -> None:
    report = check(CASE, processing=processing)
    assert report.verdict is Verdict.VERIFIED, report.findings
    assert report.paths > 2


def test_assisted_generation_on_three_tokens() -> None:
    report = check(random_case(3, 2, 0))
    assert report.verdict is Verdict.VERIFIED, report.findings


def test_relaxed_verification_is_refuted() -> None:
    report = check(CASE, options={"assistant_ensemble_weight": 0.5})
    assert (report.verdict, report.code) == (Verdict.REFUTED, "RV401")


def speculative(target: Any, draft: Any, tokens: Any) -> Any:
    from transformers.generation.utils import _speculative_sampling

    valid, matches = _speculative_sampling(tokens[None], draft[None], len(tokens), target[None])
    return valid[0], int(matches)


def test_speculative_sampling() -> None:
    report = check_verifier(speculative, logits=True, scope=Scope(vocab=2, denominator=2, random=2))
    assert report.verdict is Verdict.VERIFIED, report.findings
    assert {code for code, _ in report.warnings} == {"RV414"}  # its test is u <= p/q


@pytest.mark.parametrize(
    ("options", "processing"),
    [
        ({"assistant_ensemble_weight": 0.5}, Processing()),
        ({"assistant_ensemble_weight": 0.5, "num_assistant_tokens": 1}, Processing(temperature=0.5)),
    ],
)
def test_a_finding_comes_with_a_command_that_shows_it_again(
    options: dict[str, Any], processing: Processing, capsys: pytest.CaptureFixture[str]
) -> None:
    report = check(CASE, options=options, processing=processing)
    text = report_text(report)
    [command] = re.findall(r"^  again +python -m rheo_verify (.*)$", text, re.MULTILINE)
    assert run(shlex.split(command)) == 1
    again = capsys.readouterr().out
    assert again.startswith(text.rstrip())
    assert re.search(r"^path \S+, probability", again, re.MULTILINE)
    assert "utils.py:" in again  # the line of transformers that asked
    assert run(shlex.split(re.sub(r":[^:]*$", ":9.9", command))) == 2
    assert "choice 1 of the path is 9" in capsys.readouterr().err


def test_options_that_no_command_can_give_have_no_command() -> None:
    class Nothing(transformers.LogitsProcessor):  # type: ignore[misc,name-defined]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            return torch.zeros_like(scores)

    options = {"logits_processor": transformers.LogitsProcessorList([Nothing()])}
    report = check(CASE, assistant=False, options=options)
    assert report.verdict is Verdict.REFUTED
    assert "again" not in report_text(report)
