"""One path of foreign code in words: every random call with its line, what was asked, what came, and how probable."""

from __future__ import annotations

from rheo_verify.errors import InputError
from rheo_verify.foreign.texts import both
from rheo_verify.foreign.watching import Asked, Drawn, Event, Used, Watched, watch
from rheo_verify.models.model import Context
from rheo_verify.probability.replay import read_choices
from rheo_verify.words import count


def walk(trial: Watched, path: str) -> str:
    """Paths of one case, step by step; several are written ``1.0/1.1.1``. Raises `InputError` RV109 on what is none."""
    return "\n".join(_one(trial, each) for each in path.split("/"))


def _one(trial: Watched, path: str) -> str:
    watching, (outcome, breaches) = watch(trial, read_choices(path))
    if watching.position != len(watching.choices):
        raise InputError(
            "RV109",
            f"the path has {count(len(watching.choices), 'choice')}, but only {watching.position} asked for",
        )
    lines = [f"path {path}, probability {both(watching.probability)}"]
    drafts: Context = ()
    names: dict[int, int] = {}
    for number, event in enumerate(watching.events, start=1):
        lines.append(f"  {number:3}  {_step(event, drafts, names)}")
        if isinstance(event, Drawn) and event.given:
            drafts = (*drafts, event.index)
    emitted = "nothing that can be read" if outcome is None else " ".join(map(str, outcome))
    lines.append(f"  emitted    {emitted}")
    return "\n".join([*lines, *(f"  {breach.code}: {breach.message}" for breach in breaches)]) + "\n"


def _step(event: Event, drafts: Context, names: dict[int, int]) -> str:
    if isinstance(event, Asked):
        return f"{event.line}: the {event.model} is asked for the row after ({', '.join(map(str, event.context))})"
    if isinstance(event, Used):
        return f"{event.line}: {event.function} reads ({', '.join(f'{x:.6g}' for x in event.row)})"
    if isinstance(event, Drawn):
        law = ", ".join(both(value) for value in event.law)
        if event.given:
            return f"draft {len(drafts) + 1} is token {event.index}, drawn from ({law}): {both(event.probability)}"
        return f"{event.line}: {event.index} is drawn from ({law}), with probability {both(event.probability)}"
    name = "a coin" if event.variable is None else f"u{names.setdefault(event.variable, len(names) + 1)}"
    answer = "yes" if event.below else "no"
    if event.probability == 1:
        return f"{event.line}: {name} < {both(event.threshold)}? {answer}, for certain"
    low, high = (event.low, event.threshold) if event.below else (event.threshold, event.high)
    known = "" if event.variable is None else f"; now {name} is in [{both(low)}, {both(high)})"
    return (
        f"{event.line}: {name} < {both(event.threshold)}? {answer}, with probability {both(event.probability)}{known}"
    )
