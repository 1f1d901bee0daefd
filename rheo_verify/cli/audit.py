"""`audit`: sequential tests of any engine's output, from a transcript in JSON lines."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from rheo_verify.cli.progress import ProgressBar
from rheo_verify.cli.settings import add_time_limit, limits_from
from rheo_verify.errors import InputError, LimitReached
from rheo_verify.words import count

EXAMPLES = """one line a token (docs/reference/transcripts.md):
  {"id": "r1", "token": 17, "logprobs": {"17": -0.51, "4": -1.6}, "rest": 0.197, "drafts": [17, 4], "leaf": false}

examples:
  rheo_verify audit transcript.jsonl
  rheo_verify audit transcript.jsonl --state audit.json

Samples can refute, never verify: exit code 1 if a deviation was found, 3 if none was.

"""

SECONDS = 1.0
"""How often the state is written: what a killed audit loses at most."""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "audit",
        help="test a transcript of emitted tokens against the target's log-probabilities",
        description="Anytime-valid sequential tests and a transform test of what an engine emitted. Reads a stream in "
        "constant memory; resumes where it stopped.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    parser.add_argument("file", metavar="FILE", help="a transcript, JSON lines; - is standard input")
    parser.add_argument("--state", metavar="STATE", help="read on from this file if there; written every second")
    parser.add_argument("--strict", action="store_true", help="end at the first line that cannot be used")
    parser.add_argument("--level", type=float, default=0.01, help="chance of a false alarm (default: 0.01)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the randomised transform (default: 0)")
    add_time_limit(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from rheo_verify.checks.transcripts import Audit, audit_file
    from rheo_verify.checks.verdict import Verdict
    from rheo_verify.models.table_file import read_json
    from rheo_verify.report import audit as report
    from rheo_verify.report.text import stdout_style

    if not 0 < args.level < 1:
        raise InputError("RV106", f"--level {args.level} must be between 0 and 1")
    if not 0 <= args.seed < 2**63:
        raise InputError("RV106", f"--seed {args.seed} must be from 0 to 2^63 - 1")
    state = None if args.state is None else Path(args.state)
    if state is not None and os.path.exists(state):
        audit = Audit.from_data(read_json(state, "RV607"), str(state))
        if audit.level != args.level:
            raise InputError("RV607", f"{state}: was begun at level {audit.level}, not {args.level}")
        if "seed" in args.given and audit.seed != args.seed:
            raise InputError("RV607", f"{state}: was begun with seed {audit.seed}, not {args.seed}")
    else:
        audit = Audit(args.level, args.seed)
    if args.file == "-":
        args.file = "/dev/stdin"
    size = os.path.getsize(args.file) if os.path.isfile(args.file) else 0
    stopped = None
    try:
        with ProgressBar() as bar:
            written, limits = time.monotonic(), limits_from(args, bar.update)
            for offset in audit_file(args.file, audit, strict=args.strict, every=256):
                limits.tell("bytes", offset, size)
                if state is not None and time.monotonic() - written >= SECONDS:
                    _write(state, json.dumps(audit.to_data()))
                    written = time.monotonic()
    except LimitReached as limit:
        stopped = limit
    finally:
        if state is not None:
            _write(state, json.dumps(audit.to_data()))
    if not audit.process.tokens and stopped is None:
        cut = f"line {audit.lines + 1} ends in the middle, after {count(audit.cut_off, 'byte')}"
        why = (
            audit.faults[0].removeprefix(f"{args.file}: ") if audit.faults else cut if audit.cut_off else "it has none"
        )
        raise InputError("RV606", f"{args.file}: not one line can be used ({why})")
    sys.stdout.write(
        report.to_json(audit, args.file) if args.json else report.to_text(audit, args.file, stdout_style())
    )
    if stopped is not None and audit.verdict is Verdict.INCONCLUSIVE:
        raise stopped
    return audit.verdict.exit_code


def _write(path: Path, text: str) -> None:
    """Replace a file in one step, so that an interruption leaves the old one."""
    beside = path.with_name(path.name + ".new")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise InputError("RV122", f"--state {path}: cannot be written ({error.strerror or error})") from None
