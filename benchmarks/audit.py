"""`audit` on a large transcript: speed and peak memory, and that a killed audit reads on where it was.

    python -m benchmarks audit [--size MB]

The transcript is written to a temporary folder: draws of known laws over 512 tokens, 128 of them stated in each line.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

VOCAB, STATED, DISTINCT = 512, 128, 400
WAITING = """if True:
    import json, sys
    from rheo_verify.cli import audit
    from rheo_verify.cli.main import run

    def write_and_wait(path, text, write=audit._write):
        write(path, text)
        if json.loads(text)["offset"] >= int(sys.argv[1]):
            print("written", flush=True)
            sys.stdin.read()

    audit.SECONDS, audit._write = 0.1, write_and_wait
    run(sys.argv[2:])
"""
"""An audit that waits, to be killed, once its state says that so many bytes were read."""


def write_transcript(path: Path, size: int, seed: int = 0) -> int:
    """Lines of at least `size` bytes together; how many. The rows repeat, the emitted tokens are drawn anew."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(DISTINCT):
        logits = rng.normal(size=VOCAB) * 2
        p = np.exp(logits) / np.exp(logits).sum()
        top = np.argsort(-p)[:STATED]
        stated = {str(token): round(math.log(p[token]), 6) for token in top.tolist()}
        drafts = np.argsort(-(logits + rng.normal(size=VOCAB)))[:8].tolist()
        rest = {"logprobs": stated, "rest": max(0.0, 1.0 - sum(map(math.exp, stated.values()))), "drafts": drafts}
        rows.append((p.cumsum(), json.dumps(rest)[1:]))
    lines = written = 0
    with path.open("w", encoding="ascii") as file:
        while written < size:
            cumulative, rest = rows[lines % DISTINCT]
            token = min(int(np.searchsorted(cumulative, rng.random())), VOCAB - 1)
            leaf = "true" if lines % 3 == 0 else "false"
            written += file.write(f'{{"id": "r{lines // 200}", "token": {token}, "leaf": {leaf}, {rest}\n')
            lines += 1
    return lines


def command(path: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "rheo_verify", "audit", str(path), "--json", *flags]


def measured(path: Path, *flags: str) -> tuple[dict[str, Any], float, float]:
    """The answer, the seconds of processor time, and the peak resident memory in MB of one audit in its own process."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command(path, *flags), stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return json.loads(out.read()), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def killed_and_resumed(path: Path, state: Path) -> tuple[dict[str, Any], int]:
    """The answer of an audit that was killed halfway, and the bytes that its state says it had read."""
    half = str(path.stat().st_size // 2)
    waiting = [sys.executable, "-c", WAITING, half, *command(path, "--state", str(state))[3:]]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    offset = int(json.loads(state.read_text())["offset"])
    return measured(path, "--state", str(state))[0], offset


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=16, metavar="MB", help="of the transcript; 1000 is a gigabyte")
    arguments, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peaks = []
        for part in (8, 1):
            path = folder / f"transcript-{part}.jsonl"
            size = arguments.size * 10**6 // part
            lines = write_transcript(path, size)
            answer, seconds, peak = measured(path)
            peaks.append(peak)
            print(
                f"  {size / 1e6:8,.1f} MB, {lines:9,} lines: {seconds:6.1f} s of CPU, {size / seconds / 1e6:.2f} MB/s, "
                f"peak memory {peak:.0f} MB, {answer['verdict']}",
                flush=True,
            )
        print(f"  peak memory of eight times the size: {peaks[1] - peaks[0]:+.1f} MB")
        again, offset = killed_and_resumed(path, folder / "state.json")
        same = again == answer
        print(f"  killed after {offset / 1e6:,.1f} MB and resumed: {'the same answer' if same else 'ANOTHER ANSWER'}")
    return 0 if same and peaks[1] < peaks[0] + 30 else 1


if __name__ == "__main__":
    sys.exit(main())
