"""Rocq, if it is installed: build `proofs/rocq` with its own Makefile, and ask what each theorem rests on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rheo_verify.checks.verdict import Verdict

CLOSED = "Closed under the global context"


@dataclass(frozen=True)
class RocqAnswer:
    """What Rocq said of one theorem."""

    verdict: Verdict
    checker: str
    text: str
    seconds: float


def check_theorems(folder: Path, names: Sequence[str]) -> dict[str, RocqAnswer]:
    """For each `File.theorem`: VERIFIED if the files compile and it rests on no axiom, INCONCLUSIVE without coqc."""
    if shutil.which("coqc") is None or shutil.which("make") is None:
        why = "coqc is not installed (Debian: coq, libcoq-mathcomp-ssreflect, libcoq-mathcomp-algebra)"
        return {name: RocqAnswer(Verdict.INCONCLUSIVE, "Rocq", why, 0.0) for name in names}
    checker = f"Rocq {_version()}"
    missing = [name for name in names if not _is_stated(folder, name)]
    present = [name for name in names if name not in missing]
    answers = {name: RocqAnswer(Verdict.REFUTED, checker, "there is no theorem of this name", 0.0) for name in missing}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        place = folder
        if not os.access(folder, os.W_OK):
            place = Path(scratch) / "rocq"
            shutil.copytree(folder, place)
        done = _run(["make", "-C", str(place)], place)
        if "Cannot find a physical path bound to logical path" in done.stderr and "mathcomp" in done.stderr:
            why = "MathComp is not installed (Debian: libcoq-mathcomp-ssreflect, libcoq-mathcomp-algebra)"
            return {name: RocqAnswer(Verdict.INCONCLUSIVE, checker, why, 0.0) for name in names}
        if done.returncode:
            text = "it does not compile: " + (done.stderr or done.stdout).strip()[-300:]
            return answers | {name: RocqAnswer(Verdict.REFUTED, checker, text, 0.0) for name in present}
        query = Path(scratch) / "query.v"
        query.write_text(_query(present), encoding="utf-8")
        done = _run(["coqc", "-Q", str(place), "RheoVerify", "-w", "none", str(query)], Path(scratch))
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


def statement(folder: Path, name: str) -> str:
    """The theorem as it stands in its file, up to its proof; empty if it is not there."""
    file, _, theorem = name.partition(".")
    path = folder / f"{file}.v"
    if not path.is_file():
        return ""
    pattern = rf"^(?:Theorem|Corollary|Lemma) {re.escape(theorem)}\b.*?\.(?=\s*(?:\n|Proof))"
    found = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return found.group(0) if found else ""


def _is_stated(folder: Path, name: str) -> bool:
    return bool(statement(folder, name))


def _query(names: Sequence[str]) -> str:
    files = sorted({name.partition(".")[0] for name in names})
    lines = [f"From RheoVerify Require {' '.join(files)}."]
    for name in names:
        lines += [f"Print Assumptions RheoVerify.{name}.", "Compute true."]
    return "\n".join(lines) + "\n"


def _version() -> str:
    found = re.search(r"version ([\w.+~-]+)", _run(["coqc", "--version"], Path.cwd()).stdout)
    return found.group(1) if found else "of unknown version"


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
