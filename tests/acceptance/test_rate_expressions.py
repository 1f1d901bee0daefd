"""Questions are parsed, never evaluated; faults are named with their place."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo_verify.checks.closed_forms import LayerRates
from rheo_verify.checks.rate_expressions import NAMES, holds_for, read_quantity, read_question
from rheo_verify.errors import InputError

RATES = LayerRates(*(Fraction(n, 10) for n in (3, 5, 2, 9, 7, 4, 1)))


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("rheo < rrsw", True),
        ("rheo > rrsw", False),
        ("rheo<=0.3", True),
        ("rheo != 3/10", False),
        ("rheo == 3/10 and topk == 1/5", True),
        ("rheo > 1 or top_k < 1", True),
        ("not rheo > 1", True),
        ("not not rheo > 1", False),
        ("not (rheo > 1 or rrsw > 0)", False),
        ("rheo < rrsw < optimal < bound", True),
        ("rheo < rrsw < topk", False),
        ("optimal - rheo >= 2*topk", True),
        ("2*(rheo + rrsw)/4 == 0.4", True),
        ("(rheo + rrsw) * -1 < 0", True),
        ("-rheo < -top1", True),
        ("((rheo)) < ((1))", True),
        ("(rheo < rrsw) and (single < upper_bound)", True),
        ("rheo > 1 and rheo > 2 or rheo > 0", True),
        ("rheo > 0 or rheo > 1 and rheo > 2", True),
        ("1/2*rheo < 1/6", True),
        ("rheo - rrsw - topk == -2/5", True),
    ],
)
def test_answers(written, answer):
    assert holds_for(read_question(written), RATES) is answer


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "is missing at its end"),
        ("rheo", "is missing at its end"),
        ("rheo <", "a rate or a number is missing at its end"),
        ("rheo < foo", "not 'foo', at character 8"),
        ("rheo < 1)", "at character 9"),
        ("(rheo < 1", "')' is missing at its end"),
        ("(rheo", "')' is missing"),
        ("rheo & rrsw", "'&' is not understood at character 6"),
        ("rheo * rrsw < 1", "no products, at character 6"),
        ("rheo / rrsw < 1", "numbers other than zero, at character 6"),
        ("rheo / 0 < 1", "numbers other than zero"),
        ("rheo = 1", "'=' is not understood"),
        ("__import__('os') < 1", "is not"),
        ("rheo < 1 and", "is missing at its end"),
        ("and rheo < 1", "not 'and'"),
        ("rheo < 1 rrsw", "the end is expected, not 'rrsw'"),
        ("(" * 200 + "rheo" + ")" * 200 + " < 1", "nested at most"),
        ("not " * 100 + "rheo < 1", "nested at most"),
        ("-" * 100 + "rheo < 1", "nested at most"),
        ("rheo < " + "1" * 600, "at most 500 characters"),
    ],
)
def test_faults_are_named(written, message):
    with pytest.raises(InputError, match="RV503") as fault:
        read_question(written)
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


@given(st.text(alphabet="rheosw<>=!+-*/() 019.andot_", max_size=40))
def test_any_text_is_answered_or_refused_in_one_line(written):
    try:
        question = read_question(written)
    except InputError as refusal:
        fault = refusal
    else:
        assert holds_for(question, RATES) in (True, False)
        return
    assert fault.code == "RV503"
    assert "\n" not in str(fault)


def test_quantities():
    assert read_quantity("2*optimal - rheo/3 + 1").value(RATES) == Fraction(7, 5) - Fraction(1, 10) + 1
    assert set(NAMES.values()) == set(LayerRates._fields)
    with pytest.raises(InputError, match="RV503"):
        read_quantity("rheo < 1")
