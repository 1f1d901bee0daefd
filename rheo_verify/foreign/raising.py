"""Code that raises whatever it is given has no law to speak of: it is told as bad input, and not as refuted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable

from rheo_verify.errors import InputError, RheoVerifyError
from rheo_verify.foreign.cases import Case
from rheo_verify.foreign.reports import Finding

Judged = tuple[list[Finding], int]
_OF_A_SIZE = 8
"""Cases of each vocabulary and number of drafts that tell: if the code raises on these in one place, it always does."""


def raised_always(
    found: list[Finding], cases: Iterable[Case], judged: Callable[[Case], Judged | None], until: float
) -> None:
    """Raises `InputError` RV132 if the code raised on every path of the first of the cases, and of the others.

    Of the others some of each size are run, far apart, and the rest only where they raise in several places. `found` is
    of the first. Where that is not known `until`, in seconds of `time.monotonic()`, the first case stands.
    """
    if not _never_returned(found):
        return
    listed = list(cases)
    telling, rest = _far_apart(listed)
    places = {_place(found)}
    for number, each in enumerate([*telling, *rest]):
        if number == len(telling) and len(places) == 1:
            break
        if time.monotonic() > until:
            return
        try:
            answer = judged(each)
        except RheoVerifyError:
            return
        if answer is None or not _never_returned(answer[0]):
            return
        places.add(_place(answer[0]))
    run = len(telling) if len(places) == 1 else len(listed)
    every = "the one case" if len(listed) == 1 else f"{'all ' if run == len(listed) else ''}{run:,} cases"
    every += f" of all sizes among {len(listed):,}" if run < len(listed) else ""
    message = f"on {every}, on every path, {_said(found)}"
    raise InputError("RV132", f"{message}; does it fit --as, --arrays and --logits?")


def _far_apart(cases: list[Case]) -> tuple[list[Case], list[Case]]:
    """The first and the last case of each size with some between them, and all others."""
    sizes: dict[tuple[int, int], list[int]] = {}
    for number, case in enumerate(cases):
        sizes.setdefault((case.vocab, case.drafts), []).append(number)
    chosen = {0}
    for places in sizes.values():
        last, steps = len(places) - 1, min(_OF_A_SIZE, len(places)) - 1
        chosen.update(places[last * step // max(1, steps)] for step in range(steps + 1))
    return [cases[n] for n in sorted(chosen)], [case for n, case in enumerate(cases) if n not in chosen]


def _never_returned(found: list[Finding]) -> bool:
    return bool(found) and found[0].code == "RV405" and found[0].probability == 1


def _said(found: list[Finding]) -> str:
    return re.sub(r"^drafts \([\d, ]*\): ", "", found[0].message)


def _place(found: list[Finding]) -> str:
    """What was raised, and where."""
    known = re.match(r"it raised \S+( at .+?:\d+)?", _said(found))
    return known[0] if known else _said(found)
