"""A conformance test in one line: ``TestMine = verifier_tests(my_verifier)``.

Each method of the class asks one question, so that a report names what fails: no token of probability zero, p = q,
one-hot rows, disjoint supports, all small cases, random cases by context.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheo_verify.foreign.cases import Case, by_position
from rheo_verify.foreign.scope import Scope
from rheo_verify.probability.distributions import Row, distribution
from rheo_verify.testing.assertions import assert_lossless

_UNEVEN = distribution(["1/6", "1/3", "1/2"])
_EVEN = distribution(["1/3", "1/3", "1/3"])
_HOT = distribution([0, 1, 0])
_OTHER = distribution([1, 0, 0])
_HALF = distribution(["1/2", "1/2", "0"])


def verifier_tests(verifier: Callable[..., Any], scope: Scope | str | None = None, **options: Any) -> type:
    """A class of tests for ``verifier(target, draft, tokens)``; options as for `check_verifier`."""

    def one(target: list[Row], draft: list[Row]) -> Callable[[Any], None]:
        case: Case = by_position(target, draft)

        def test(self: Any) -> None:
            assert_lossless(verifier, case=case, **options)

        return test

    def whole(self: Any) -> None:
        assert_lossless(verifier, scope=scope, **options)

    def contexts(self: Any) -> None:
        assert_lossless(verifier, scope=Scope(vocab=2, denominator=1, random=25), **options)

    return type(
        "VerifierConformance",
        (),
        {
            "__doc__": f"Conformance of {getattr(verifier, '__name__', 'a verifier')}.",
            "test_draft_equals_target": one([_UNEVEN, _EVEN, _HALF], [_UNEVEN, _EVEN]),
            "test_one_hot_draft": one([_UNEVEN, _HALF, _EVEN], [_HOT, _OTHER]),
            "test_one_hot_target": one([_HOT, _OTHER, _UNEVEN], [_UNEVEN, _EVEN]),
            "test_disjoint_supports": one([_HOT, _HOT, _UNEVEN], [_OTHER, _HALF]),
            "test_rows_with_zeros": one([_HALF, _UNEVEN, _EVEN], [_EVEN, _HALF]),
            "test_all_small_cases": whole,
            "test_rows_by_context": contexts,
        },
    )
