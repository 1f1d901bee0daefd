"""Rocq, if it is installed: build `proofs/rocq` with its own Makefile, and ask what each theorem rests on."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rheo_verify.checks.verdict import Verdict

CLOSED = "Closed under the global context"
_STATED = r"^(?:Theorem|Corollary|Lemma) {}\b"


@dataclass(frozen=True)
class RocqAnswer:
    """What Rocq said of one theorem."""

    verdict: Verdict
    checker: str
    text: str
    seconds: float


def check_theorems(folder: Path, names: Sequence[str]) -> dict[str, RocqAnswer]:
    """For each theorem: VERIFIED if the files compile and it rests on no axiom, INCONCLUSIVE without coqc."""
    if shutil.which("coqc") is None or shutil.which("make") is None:
        why = "coqc is not installed (Debian: coq, libcoq-mathcomp-ssreflect, libcoq-mathcomp-algebra)"
        return {name: RocqAnswer(Verdict.INCONCLUSIVE, "Rocq", why, 0.0) for name in names}
    checker = f"Rocq {_version()}"
    places = {name: place for name in names if (place := place_of(folder, name)) is not None}
    missing, present = [name for name in names if name not in places], list(places)
    answers = {name: RocqAnswer(Verdict.REFUTED, checker, "there is no theorem of this name", 0.0) for name in missing}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        built = folder
        if not os.access(folder, os.W_OK):
            built = Path(scratch) / "rocq"
            shutil.copytree(folder, built)
        done = _run(["make", "-j2", "-C", str(built)], built)
        if "Cannot find a physical path bound to logical path" in done.stderr and "mathcomp" in done.stderr:
            why = "MathComp is not installed (Debian: libcoq-mathcomp-ssreflect, libcoq-mathcomp-algebra)"
            return {name: RocqAnswer(Verdict.INCONCLUSIVE, checker, why, 0.0) for name in names}
        if done.returncode:
            text = "it does not compile: " + (done.stderr or done.stdout).strip()[-300:]
            return answers | {name: RocqAnswer(Verdict.REFUTED, checker, text, 0.0) for name in present}
        query = Path(scratch) / "query.v"
        query.write_text(_query(present, places), encoding="utf-8")
        done = _run(["coqc", "-Q", str(built), "RheoVerify", "-w", "none", str(query)], Path(scratch))
    seconds = (time.monotonic() - begin) / max(1, len(present))
    if done.returncode:
        text = "it cannot be asked for its assumptions: " + done.stderr.strip()[-300:]
        return answers | {name: RocqAnswer(Verdict.REFUTED, checker, text, seconds) for name in present}
    parts = re.split(r"^\s*= true\s*\n\s*: bool\s*$", done.stdout, flags=re.MULTILINE)
    for name, part in zip(present, parts, strict=False):
        closed = part.strip() == CLOSED
        text = "closed under the global context" if closed else "rests on: " + " ".join(part.split())[:300]
        answers[name] = RocqAnswer(Verdict.of(closed), checker, text, seconds)
    return answers


def place_of(folder: Path, theorem: str) -> str | None:
    """The name of the file that states the theorem."""
    pattern = re.compile(_STATED.format(re.escape(theorem)), re.MULTILINE)
    return next((path.stem for path in sorted(folder.glob("*.v")) if pattern.search(path.read_text("utf-8"))), None)


def statement(folder: Path, theorem: str) -> tuple[tuple[str, ...], str]:
    """What the open sections assume before the theorem, and the theorem up to its proof; empty if it is not there."""
    file = place_of(folder, theorem)
    if file is None:
        return (), ""
    content = (folder / f"{file}.v").read_text("utf-8")
    found = re.search(
        _STATED.format(re.escape(theorem)) + r".*?\.(?=\s*(?:\n|Proof))", content, re.MULTILINE | re.DOTALL
    )
    if found is None:
        return (), ""
    opened: list[list[str]] = [[]]
    for line in re.findall(
        r"^(?:Section|End|Variables?|Hypothes[ie]s|Context)\b[^.]*\.(?=\s)", content[: found.start()], re.M
    ):
        if line.startswith("Section"):
            opened.append([])
        elif line.startswith("End"):
            opened.pop()
        else:
            opened[-1].append(line)
    return tuple(line for section in opened for line in section), found.group(0)


def _query(names: Sequence[str], places: dict[str, str]) -> str:
    lines = [f"From RheoVerify Require {' '.join(sorted(set(places.values())))}."]
    for name in names:
        lines += [f"Print Assumptions RheoVerify.{places[name]}.{name}.", "Compute true."]
    return "\n".join(lines) + "\n"


def _version() -> str:
    found = re.search(r"version ([\w.+~-]+)", _run(["coqc", "--version"], Path.cwd()).stdout)
    return found.group(1) if found else "of unknown version"


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`; but what ends the waiting ends the program's own children, too."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            out, errors = process.communicate()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself meanwhile
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)
