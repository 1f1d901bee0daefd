"""The verifier way in: scopes, contracts, state, refusals, limits, replays."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError, MisuseError
from rheo_verify.foreign import texts
from rheo_verify.foreign.cases import by_position, every_case, random_case, read_case, rows_up_to
from rheo_verify.foreign.refusal import Refused
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import cases_of, check_verifier
from rheo_verify.probability.distributions import distribution

QUICK = Scope(vocab=2, denominator=3, random=6)


def standard(target: Any, draft: Any, tokens: Any) -> Any:
    for i, token in enumerate(tokens):
        if random.random() * draft[i][token] < target[i][token]:
            continue
        residual = [max(p - q, 0.0) for p, q in zip(target[i], draft[i], strict=True)]
        return [*tokens[:i], *random.choices(range(len(residual)), residual)]
    return [*tokens, *random.choices(range(len(target[-1])), target[-1])]


def check(code: Any, **options: Any) -> Any:
    return check_verifier(code, **{"arrays": "list", "scope": QUICK, **options})


def test_the_number_of_rows_by_hand() -> None:
    assert [len(rows_up_to(2, n)) for n in (1, 2, 3, 4, 5)] == [2, 3, 5, 7, 11]
    assert [len(rows_up_to(3, n)) for n in (1, 2, 3, 4, 5, 6)] == [3, 6, 13, 22, 40, 55]
    assert sum(1 for _ in every_case(3, 1, 2)) == 36


def test_cases_come_in_their_order_and_every_row_is_a_distribution() -> None:
    for vocab, drafts, size in ((2, 1, 4), (2, 2, 2), (3, 1, 2)):
        keys = [case.key() for case in every_case(vocab, drafts, size)]
        assert keys == sorted(keys)
        assert len({str(key[-1]) for key in keys}) == len(keys)
    for case in itertools.islice(cases_of(Scope(denominator=2, random=30)), 400):
        for row in (*case.target.values(), *case.draft.values()):
            assert sum(row) == 1
            assert min(row) >= 0


def test_a_case_survives_being_written_and_read() -> None:
    for seed in range(12):
        case = random_case(3, 2, seed)
        again = read_case(json.loads(json.dumps(case.data())))
        assert again.target == case.target
        assert again.draft == case.draft
    with pytest.raises(InputError):
        read_case({"target": [["1", "0"]], "draft": [["1", "0"]]})


def test_path_counts_by_hand() -> None:
    half, third = distribution(["1/2", "1/2"]), distribution(["1/3", "2/3"])
    # drafts 0, 1; p/q = 2/3 or 4/3: token 0 is kept (2 bonus tokens) or rejected (1 residual token); 1 is always kept
    case = by_position([third, half], [half])
    report = check(standard, case=case)
    assert (report.verdict, report.cases, report.paths) == (Verdict.VERIFIED, 1, 2 + 1 + 2)


def test_standard_is_verified_and_the_scope_is_named() -> None:
    report = check(standard)
    assert report.verdict is Verdict.VERIFIED
    assert report.cases == 25 + 243 + 6
    assert "denominator <= 3" in report.scope
    assert report.threshold == 1e-9
    assert "VERIFIED" in texts.report_text(report)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (lambda p, q, x: [], "RV406"),
        (lambda p, q, x: None, "RV406"),
        (lambda p, q, x: [0.5], "RV406"),
        (lambda p, q, x: [len(p[0])], "RV406"),
        (lambda p, q, x: [*standard(p, q, x), 0, 0], "RV406"),
        (lambda p, q, x: (standard(p, q, x), 7), "RV409"),
        (lambda p, q, x: [0, 0], "RV408"),
        (lambda p, q, x: [0], "RV407"),
        (lambda p, q, x: standard(p, q, x) if p[0][0] else 1 / 0, "RV405"),
        (lambda p, q, x: (p[0].reverse(), p[0].reverse(), p[0].__setitem__(0, 0.5), standard(p, q, x))[-1], "RV410"),
    ],
)
def test_contracts_have_codes(code: Any, expected: str) -> None:
    report = check(code)
    assert report.verdict is Verdict.REFUTED
    assert expected in {finding.code for finding in report.findings}


def test_writing_into_inputs_can_be_allowed() -> None:
    def code(p: Any, q: Any, x: Any) -> Any:
        emitted = standard(p, q, x)
        p[0][0] = 9.0
        return emitted

    assert check(code).code == "RV410"
    assert check(code, in_place=True).verdict is Verdict.VERIFIED


def test_state_is_rebuilt_for_each_path() -> None:
    class Spoiled:
        def __init__(self) -> None:
            self.calls = 0
            self.u = random.random()

        def __call__(self, p: Any, q: Any, x: Any) -> Any:
            self.calls += 1
            assert self.calls == 1
            return standard(p, q, x)

    assert check(Spoiled).verdict is Verdict.VERIFIED

    class Held(Spoiled):
        def __init__(self) -> None:
            self.calls = 0

    assert in_the_second_call(check(Held()))
    memory: list[int] = []

    def remembers(p: Any, q: Any, x: Any) -> Any:
        memory.append(1)
        assert len(memory) == 1
        return standard(p, q, x)

    assert in_the_second_call(check(remembers))


def in_the_second_call(report: CheckReport) -> bool:
    """Every case holds, and only a second call on the same object fails."""
    return report.code == "RV405" and report.findings[0].message.startswith("in the second of two calls in a row")


def test_randomness_that_escapes_is_caught() -> None:
    counter = itertools.count()

    def drifts(p: Any, q: Any, x: Any) -> Any:
        return standard(p, q, x) if next(counter) % 2 else [x[0], 0]

    with pytest.raises(MisuseError) as escaped:
        check(drifts)
    assert escaped.value.code == "RV404"


def test_a_refusal_reaches_the_caller() -> None:
    with pytest.raises(Refused) as refused:
        check(lambda p, q, x: [int(float(random.random()) < 0.5)])
    assert refused.value.code == "RV402"


def test_a_time_limit_is_inconclusive() -> None:
    report = check(standard, scope=Scope(seconds=0.0))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "time limit" in report.scope


def test_the_counterexample_is_minimal_and_can_be_walked() -> None:
    def residual_from_target(p: Any, q: Any, x: Any) -> Any:
        emitted = standard(p, q, x)
        return emitted if len(emitted) == 2 else random.choices(range(len(p[0])), p[0])

    report = check(residual_from_target, scope=Scope(vocab=3, denominator=3, drafts=1, random=0))
    [finding] = report.findings
    assert (finding.code, str(finding.total_variation)) == ("RV401", "1/4")
    assert finding.data == {"target": [["1/2", "1/2"], ["0", "1"]], "draft": [["0", "1"]]}
    assert finding.replay == "1.0/1.1.1"
    walk = check(residual_from_target, case=read_case(finding.data), path="1.1.0").walk
    assert "emitted    0" in walk
    with pytest.raises(InputError):
        check(residual_from_target, case=read_case(finding.data), path="1.1.0.0.0.0")
    data = texts.report_json(report)
    assert data["findings"][0]["total_variation"] == "1/4"
    assert data["schema"] == "rheo_verify/check"


def test_scopes_are_read_and_checked() -> None:
    assert Scope.read("vocab=2,random=7").random == 7
    assert Scope.read("quick").denominator == 3
    for wrong in ("nonsense=1", "vocab=x", "vocab=9"):
        with pytest.raises(InputError):
            Scope.read(wrong)


def test_float32_code_has_the_bound_of_float32() -> None:
    torch = pytest.importorskip("torch")

    def single(target: Any, draft: Any, tokens: Any) -> Any:
        for i, token in enumerate(tokens):
            if torch.rand(()) < target[i, token] / draft[i, token]:
                continue
            return torch.cat([tokens[:i], torch.multinomial((target[i] - draft[i]).clamp(min=0), 1)])
        return torch.cat([tokens, torch.multinomial(target[-1], 1)])

    report = check_verifier(single, dtype="float32", scope=QUICK)
    assert report.verdict is Verdict.VERIFIED, report.findings
    assert report.threshold == 1e-6
