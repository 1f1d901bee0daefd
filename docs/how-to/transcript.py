"""`python docs/how-to/transcript.py` writes transcript.jsonl: an engine that samples colder than it says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

TOKENS, TEMPERATURE = 300, 0.5


def lines() -> str:
    """One line a token; the stated law is that at temperature 1."""
    random = np.random.default_rng(0)
    written = []
    for number in range(TOKENS):
        p = random.dirichlet([1.0, 1.0, 1.0, 1.0])
        drawn = p ** (1 / TEMPERATURE)
        token = int(random.choice(4, p=drawn / drawn.sum()))
        logprobs = {str(v): round(math.log(it), 5) for v, it in enumerate(p)}
        drafts = [int(v) for v in np.argsort(-p)[:2]]
        written.append(json.dumps({"id": f"r{number // 50}", "token": token, "logprobs": logprobs, "drafts": drafts}))
    return "\n".join(written) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "transcript.jsonl").write_text(lines(), encoding="utf-8")
