"""A search as JSON data, to be stored and taken up again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rheo_verify.checks.instances import Instance
from rheo_verify.checks.search import Scope, Search, Tally
from rheo_verify.errors import InputError
from rheo_verify.probability.rationals import exact, text

SCHEMA, VERSION = "rheo_verify/search-state", 1


def state_to_data(search: Search) -> dict[str, Any]:
    """The search as JSON data."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "scope": asdict(search.scope),
        "cursor": list(search.cursor),
        "tallies": [asdict(tally) for tally in search.tallies],
        "first": None if search.first is None else asdict(search.first),
        "best": None if search.best is None else asdict(search.best),
        "best_value": None if search.best_value is None else text(search.best_value),
        "seconds": search.seconds,
    }


def state_from_data(data: Any, source: str = "state") -> Search:
    """The inverse. Raises `InputError` RV504 on anything that `state_to_data` did not write."""
    try:
        if (data["schema"], data["version"]) != (SCHEMA, VERSION):
            raise ValueError("another schema or version")
        scope = data["scope"]
        shapes = tuple((int(n), int(m)) for n, m in scope["shapes"])
        shape, denominator, offset = map(int, data["cursor"])
        value = data["best_value"]
        found = Search(
            Scope(scope["where"], scope["vocab"], scope["denominator"], shapes, scope["largest"]),
            (shape, denominator, offset),
            tuple(_tally(tally) for tally in data["tallies"]),
            _instance(data["first"]),
            _instance(data["best"]),
            None if value is None else exact(value),
            float(data["seconds"]),
        )
        if len(found.tallies) != len(shapes) or not 0 <= shape <= len(shapes) or denominator < 1 or offset < 0:
            raise ValueError("the cursor or the counts do not fit the scope")
        if (found.first is None) != (sum(tally.found for tally in found.tallies) == 0):
            raise ValueError("the counts and the first instance contradict each other")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, InputError):
        message = f"{source}: is not a stored search, or is damaged; delete it to begin anew"
        raise InputError("RV504", message) from None
    return found


def store(search: Search, path: str | Path) -> None:
    """Write the state; a file that was there is replaced in one step. Raises `InputError` RV504."""
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_text(json.dumps(state_to_data(search), indent=1) + "\n", encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise InputError("RV504", f"{path}: the state cannot be written ({error.strerror})") from None


def take_up(scope: Scope, path: str | Path) -> Search | None:
    """The stored search of this scope, None if there is no such file. Raises `InputError` RV504 if it is another's."""
    from rheo_verify.models.table_file import read_json

    if not os.path.exists(path):
        return None
    found = state_from_data(read_json(path, "RV504"), str(path))
    if found.scope != scope:
        theirs = f'--where "{found.scope.where}" --vocab {found.scope.vocab} --denominator {found.scope.denominator}'
        raise InputError("RV504", f"{path}: holds another search ({theirs}, or other layers); give it its own file")
    return found


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _tally(data: Any) -> Tally:
    tally = Tally(*(_count(data[name]) for name in ("pairs", "found", "labelled", "labelled_found")))
    if tally.found > tally.pairs or tally.labelled_found > tally.labelled:
        raise ValueError("more instances are found than were looked at")
    return tally


def _instance(data: Any) -> Instance | None:
    if data is None:
        return None
    draft, target = (tuple(_count(weight) for weight in data[name]) for name in ("draft", "target"))
    found = Instance(_count(data["candidates"]), _count(data["lead"]), _count(data["denominator"]), draft, target)
    if not sum(draft) == sum(target) == found.denominator > 0 or len(draft) != len(target):
        raise ValueError("an instance's rows are not distributions")
    return found
