"""RV414 looks at what a comparison decides at u = 0: one side of every search is safe there, the other is not."""

from __future__ import annotations

import bisect
import operator
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheo_verify.foreign.answering import answering
from rheo_verify.probability.enumeration import enumerate_paths

CDF = [0.0, 0.5, 1.0]
"""Of a row whose first token has probability zero."""
NUMPY: dict[str, tuple[Callable[[], Any], bool]] = {
    "<": (lambda: random.random() < 0.0, False),
    "<=": (lambda: random.random() <= 0.0, True),
    "not >": (lambda: not random.random() > 0.0, True),
    ">=": (lambda: random.random() >= 0.0, False),
    "0 >": (lambda: operator.gt(0.0, random.random()), False),
    "0 >=": (lambda: operator.ge(0.0, random.random()), True),
    "np <=": (lambda: (np.random.random(2) <= 0.0).any(), True),
    "np <": (lambda: (np.random.random(2) < 0.0).any(), False),
    "bisect_right": (lambda: bisect.bisect_right(CDF, random.random()), False),
    "bisect_left": (lambda: bisect.bisect_left(CDF, random.random()), True),
    "searchsorted right": (lambda: np.searchsorted(CDF, np.random.random(), side="right"), False),
    "searchsorted left": (lambda: np.searchsorted(CDF, np.random.random()), True),
    "searchsorted right, array": (lambda: tuple(np.searchsorted(CDF, np.random.random(1), side="right")), False),
    "searchsorted left, array": (lambda: tuple(np.searchsorted(CDF, np.random.random(1))), True),
    "method right": (lambda: np.array(CDF).searchsorted(np.random.random(), side="right"), False),
    "method right, in lines": (
        lambda: np.array(CDF).searchsorted(
            np.random.random(),  # ü: columns are counted in bytes
            side="right",
        ),
        False,
    ),
    "method left": (lambda: np.array(CDF).searchsorted(np.random.random()), True),
    "method right, array": (lambda: tuple(np.array(CDF).searchsorted(np.random.random(1), side="right")), False),
    "method left, array": (lambda: tuple(np.array(CDF).searchsorted(np.random.random(1), "left")), True),
    "digitize": (lambda: np.digitize(np.random.random(), CDF), False),
    "digitize right": (lambda: np.digitize(np.random.random(), CDF, right=True), True),
}


def law_and_warning(call: Callable[[], Any]) -> tuple[dict[Any, float], bool]:
    law: dict[Any, float] = {}
    with answering(call) as door:
        for path in enumerate_paths(lambda chance: door.run(chance, call)):
            result = path.result
            result = int(result[0]) if isinstance(result, tuple) else int(result)
            law[result] = law.get(result, 0.0) + float(path.probability)
    return law, "RV414" in door.warnings.values()


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_and_bisect(name: str) -> None:
    call, warns = NUMPY[name]
    law, warned = law_and_warning(call)
    assert warned is warns
    if re.search("left|right|side|digitize", name):  # a search: the second interval, or the third
        assert law == {1: 0.5, 2: 0.5}


def test_a_comparison_before_another_one_hides_nothing() -> None:
    """The two questions that one search asks come from one place; those of two tests, or of a loop, do not."""

    def loop() -> int:
        u = np.random.random()
        for cut in CDF:
            if u < cut:
                return 1
            if not u > cut:
                return 0
        return 2

    assert law_and_warning(loop)[1]

    def less(u: Any, cut: float) -> Any:
        return u < cut

    def again() -> int:
        u = np.random.random()
        return int(not less(u, 0.0) and not u > 0.0)

    assert law_and_warning(again)[1]


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    cdf = torch.tensor(CDF)
    calls: dict[str, tuple[Callable[[], Any], bool]] = {
        "right": (lambda: torch.searchsorted(cdf, torch.rand(1), right=True), False),
        "side": (lambda: torch.searchsorted(cdf, torch.rand(1), side="right"), False),
        "left": (lambda: torch.searchsorted(cdf, torch.rand(1)), True),
        "named": (lambda: torch.searchsorted(sorted_sequence=cdf, input=torch.rand(1), right=True), False),
        "scalar": (lambda: torch.searchsorted(cdf, torch.rand(()), right=True), False),
        "bucketize right": (lambda: torch.bucketize(torch.rand(1), cdf, right=True), False),
        "bucketize": (lambda: torch.bucketize(torch.rand(1), cdf), True),
        "bucketize named": (lambda: torch.bucketize(input=torch.rand(1), boundaries=cdf, right=True), False),
        "numpy": (lambda: np.searchsorted(CDF, torch.rand(()).item(), side="right"), False),
        "count <=": (lambda: (cdf <= torch.rand(1)).sum(), False),
        "count <": (lambda: (cdf < torch.rand(1)).sum(), True),
    }
    for name, (call, warns) in calls.items():
        assert law_and_warning(call) == ({1: 0.5, 2: 0.5}, warns), name
