"""The sampled audit of any engine, from a transcript: JSON lines, one a token (docs/reference/transcripts.md).

    {"id": "r1", "token": 17, "logprobs": {"17": -0.51, "4": -1.6}, "rest": 0.197, "drafts": [17, 4], "leaf": false}

`logprobs` are the target's natural log-probabilities, under the sampling settings in force, of a stated set of tokens
that was chosen without looking at `token`; `rest` is the mass of all others (a probability). `drafts`: tokens that the
drafter ranks first, best first, none twice; never what it sampled. `leaf`: no drafted token was tested for this one.
Both optional.
Reading is a stream in constant memory; the state is small and goes to JSON, so an audit can be resumed at a byte.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rheo_verify.checks.batched_tilts import measured
from rheo_verify.checks.eprocess import BETS, EProcess
from rheo_verify.checks.tilts import Seen
from rheo_verify.checks.uniformity import Uniformity
from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError
from rheo_verify.models.table_file import integer
from rheo_verify.words import count

KEYS = ("id", "token", "logprobs", "rest", "drafts", "leaf")
_KNOWN = frozenset(KEYS)
TOLERANCE = 1e-3
LONGEST_LINE = 2**24
_MOST_REPORTED = 20
BATCH, BATCH_BYTES = 64, 2**20
"""At most so many lines, or the line that exceeds so many bytes, are taken in together."""


@dataclass
class Audit:
    """The running state: bytes and lines read, broken lines (the first few with their fault), and the tests.

    unknown: the first keys that are none of a line's, each with the line where it was first. cut_off: bytes of a last
    line that ends in the middle; it is left for the next time, and no part of the state.
    """

    level: float = 0.01
    seed: int = 0
    offset: int = 0
    lines: int = 0
    broken: int = 0
    faults: list[str] = field(default_factory=list)
    process: EProcess = field(default_factory=EProcess)
    by_target: Uniformity = field(default_factory=Uniformity)
    unknown: dict[str, int] = field(default_factory=dict)
    cut_off: int = 0

    @property
    def verdict(self) -> Verdict:
        """REFUTED, or INCONCLUSIVE: samples never verify. Half of the level is for each of the two tests."""
        return Verdict.REFUTED if self.found_at or self.by_target.p_value < self.level / 2 else Verdict.INCONCLUSIVE

    @property
    def found_at(self) -> int | None:
        """The token at which the e-process reached its bound, or that the target gives probability zero."""
        return self.process.impossible or self.process.found_at.get(self.level / 2)

    def to_data(self) -> dict[str, Any]:
        """All of the state, for a JSON file."""
        process = self.process
        return {
            "schema": "rheo_verify/audit-state",
            "version": 1,
            "level": self.level,
            "seed": self.seed,
            "offset": self.offset,
            "lines": self.lines,
            "broken": self.broken,
            "faults": self.faults,
            "tokens": process.tokens,
            "wealth": [None if it == -math.inf else it for it in process.wealth.tolist()],
            "highest": process.highest,
            "found_at": [[alpha, token] for alpha, token in process.found_at.items()],
            "information": process.information.tolist(),
            "impossible": process.impossible,
            "counts": self.by_target.counts.tolist(),
            "unknown": self.unknown,
        }

    @staticmethod
    def from_data(data: Any, where: str) -> Audit:
        """The inverse. Raises `InputError` RV607 when the state is not one of this version."""
        try:
            if data["schema"] != "rheo_verify/audit-state" or data["version"] != 1 or len(data["wealth"]) != len(BETS):
                raise ValueError("another schema or version")
            if not all(it is None or math.isfinite(it) for it in (*data["wealth"], data["highest"])):
                raise ValueError("a wealth that is none")
            wealth = np.array([-math.inf if it is None else it for it in data["wealth"]], dtype=float)
            process = EProcess(
                wealth,
                int(data["tokens"]),
                float(data["highest"]),
                {float(alpha): int(token) for alpha, token in data["found_at"]},
                np.array(data["information"], dtype=float).reshape(EProcess().information.shape),
                data["impossible"],
            )
            counts = Uniformity(np.array(data["counts"], dtype=np.int64))
            seed, offset, lines, broken = (int(data[key]) for key in ("seed", "offset", "lines", "broken"))
            if not 0 <= offset < 2**63 or min(seed, lines, broken) < 0:
                raise ValueError("a count that is none")
            unknown = {str(key): int(line) for key, line in data.get("unknown", {}).items()}
            faults, impossible, level = list(map(str, data["faults"])), data["impossible"], float(data["level"])
            if not 0 < level < 1 or not (impossible is None or type(impossible) is int):
                raise ValueError("no level, or no place")
            return Audit(level, seed, offset, lines, broken, faults, process, counts, unknown)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            message = f"{where}: is not the state of an audit, or is damaged; delete it to begin anew"
            raise InputError("RV607", message) from None


def audit_file(path: str | Path, audit: Audit, *, strict: bool = False, every: int = 4096) -> Iterator[int]:
    """Read on from `audit.offset`, updating `audit`; yields the bytes read now and then, and at the end.

    A line that cannot be used is counted and named by its number; with `strict` it ends the audit as `InputError`
    RV606. A last line that ends in the middle is left for the next time, as `cut_off`; with `strict` it is such a line.
    Raises RV607 if the file is shorter than before.
    """
    audit.cut_off = 0
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2) if file.seekable() else _skipped(file, audit.offset)
            if size < audit.offset:
                raise InputError("RV607", f"{path}: has {size:,} bytes, but {audit.offset:,} were read before")
            if file.seekable():
                file.seek(audit.offset)
            yield from _read(file, str(path), audit, strict, every)
    except OSError as error:
        raise InputError("RV120", f"{path}: cannot be read ({error.strerror or error})") from None
    yield audit.offset


def _skipped(stream: BinaryIO, size: int) -> int:
    """Read over the first `size` bytes of what cannot be gone back in; returns how many there were."""
    left = size
    while left and (passed := stream.read(min(left, 2**20))):
        left -= len(passed)
    return size - left


def _read(file: BinaryIO, path: str, audit: Audit, strict: bool, every: int) -> Iterator[int]:
    batch = _Batch(audit)
    try:
        while line := file.readline(LONGEST_LINE):
            size, whole = len(line), line.endswith(b"\n")
            if not whole and size < LONGEST_LINE and not _parses(line):
                audit.cut_off = size
                if strict:
                    place = f"{path}: line {audit.lines + len(batch.lines) + 1}"
                    raise InputError("RV606", f"{place}: ends in the middle, after {count(size, 'byte')}")
                return
            while not whole and len(line) >= LONGEST_LINE:
                rest = file.readline(LONGEST_LINE)
                size += len(rest)
                whole = not rest or rest.endswith(b"\n")
            batch.add(line, size, path, strict)
            here = (audit.lines + len(batch.lines)) % every == 0
            if here or len(batch.lines) >= BATCH or batch.size >= BATCH_BYTES:
                batch.flush()
            if here:
                yield audit.offset
    finally:
        batch.flush()


class _Batch:
    """Lines that are read and not yet taken into account: `audit` has nothing of them before `flush`."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit
        self.lines: list[Seen | str | None] = []
        self.unknown: dict[str, int] = {}
        self.size = 0

    def add(self, line: bytes, size: int, path: str, strict: bool) -> None:
        """Read a line of `size` bytes; with `strict` one that cannot be used is raised, and not counted."""
        seen: Seen | str | None = None
        number, unknown = self.audit.lines + len(self.lines) + 1, list[str]()
        try:
            if line.strip():
                seen = read_line(line, f"{path}: line {number}", unknown)
        except InputError as error:
            if strict:
                raise
            seen = error.message
        for key in unknown:
            self.unknown.setdefault(key, number)
        self.lines.append(seen)
        self.size += size

    def flush(self) -> None:
        """Take them in, all or, when interrupted anywhere, none: the new state comes in one step, in one call."""
        audit, lines = self.audit, self.lines
        places = [place for place, it in enumerate(lines) if isinstance(it, Seen)]
        batch = [it for it in lines if isinstance(it, Seen)]
        faults = [it for it in lines if isinstance(it, str)]
        process, by_target = deepcopy((audit.process, audit.by_target))
        if batch:
            numbers = measured(batch)
            stream = np.random.Generator(np.random.PCG64(audit.seed).advance(audit.lines))
            uniform = stream.random(len(lines))[places]
            process.see_all(batch, numbers, (audit.level / 2,))
            by_target.see_all((numbers.below + uniform * numbers.probability) / numbers.total)
        after = {
            "process": process,
            "by_target": by_target,
            "broken": audit.broken + len(faults),
            "faults": audit.faults + faults[: max(0, _MOST_REPORTED - len(audit.faults))],
            "unknown": dict(islice((audit.unknown | {**self.unknown, **audit.unknown}).items(), _MOST_REPORTED)),
            "lines": audit.lines + len(lines),
            "offset": audit.offset + self.size,
        }
        self.lines, self.unknown, self.size = [], {}, 0  # first: what is lost here is read again from `offset`
        vars(audit).update(after)


def _parses(line: bytes) -> bool:
    try:
        json.loads(line, parse_int=integer)
    except (ValueError, RecursionError):
        return False
    return True


def read_line(line: bytes, where: str, unknown: list[str] | None = None) -> Seen:
    """One line as an observation over its stated tokens and "the rest". Raises `InputError` RV606 with the place.

    unknown: gets the keys that no line has; they are not read.
    """
    if len(line) >= LONGEST_LINE:
        raise InputError("RV606", f"{where}: is longer than {LONGEST_LINE // 2**20} MB")
    try:
        data = json.loads(line, parse_int=integer, object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise InputError("RV606", f"{where}: is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise InputError("RV606", f"{where}: is not JSON at column {error.colno}") from None
    except RecursionError:
        raise InputError("RV606", f"{where}: is nested too deeply") from None
    except ValueError as error:
        raise InputError("RV606", f"{where}: {error}") from None
    if not isinstance(data, dict):
        raise InputError("RV606", f"{where}: is not an object")
    if unknown is not None and not data.keys() <= _KNOWN:
        unknown += (key for key in data if key not in _KNOWN)
    for key in ("token", "logprobs"):
        if key not in data:
            raise InputError("RV606", f"{where}: the key {key!r} is missing")
    stated = data["logprobs"]
    if not isinstance(stated, dict) or not stated:
        raise InputError("RV606", f"{where}: logprobs must be an object from token to log-probability")
    tokens, values = _stated(stated, where)
    places = dict(zip(tokens, range(len(tokens)), strict=True))
    if len(places) != len(tokens):
        raise InputError("RV606", f"{where}: logprobs name a token twice")
    if values.max() > 1e-6:
        raise InputError("RV606", f"{where}: a log-probability is positive: {values.max()}")
    rest = _number(data.get("rest", 0.0), f"{where}: rest")
    p = np.empty(len(tokens) + 1)
    np.exp(values, out=p[:-1])
    p[-1] = rest
    whole = float(p.sum())
    if rest < 0 or abs(whole - 1) > TOLERANCE or not p.any():
        raise InputError("RV606", f"{where}: the probabilities and the rest sum to {whole:.6f}, not 1")
    drafts = data.get("drafts")
    if drafts is not None and not isinstance(drafts, list):
        raise InputError("RV606", f"{where}: drafts must be a list of tokens")
    leaf = data.get("leaf")
    if leaf not in (None, True, False):
        raise InputError("RV606", f"{where}: leaf must be true or false")
    if not {*map(type, drafts or ())} <= {int}:
        raise InputError("RV606", f"{where}: drafts must be whole numbers, the ids of tokens")
    if len({*(drafts or ())}) < len(drafts or ()):
        raise InputError("RV606", f"{where}: drafts name a token twice")
    known = None if drafts is None else tuple(places[it] for it in drafts if it in places)
    return Seen(p / whole, places.get(_token(data["token"], where), len(tokens)), known, None, leaf)


def _stated(stated: dict[str, Any], where: str) -> tuple[list[int], Any]:
    """Token ids and log-probabilities, read all at once if nothing is odd; else one by one, to name what is."""
    if {*map(type, stated.values())} <= {float, int}:
        try:
            tokens, values = list(map(int, stated)), np.fromiter(stated.values(), float, len(stated))
            if min(tokens) >= 0 and not np.isnan(values).any() and values.max() < math.inf:
                return tokens, values
        except (ValueError, OverflowError):
            pass
    tokens = [_token(it, where) for it in stated]
    return tokens, np.array([_number(it, f"{where}: logprobs") for it in stated.values()])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _token(value: Any, where: str) -> int:
    try:
        token = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else -1
    except ValueError:
        token = -1
    if token < 0:
        raise InputError("RV606", f"{where}: {value!r} is not a token id")
    return token


def _number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number) or number == math.inf:
        raise InputError("RV606", f"{where}: {value!r} is not a number")
    return number
