"""Real models: drafting overhead, decoding speed, the exact layer check against softmax and sort.

    python benchmarks/models.py [--device cuda] [--target DIR --head DIR] [--vocab V] [--rows N]

One prepared script for a CPU or a GPU; within five minutes on either.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from rheo_verify.checks.real_layers import check_layers
from rheo_verify.cli.empirical import default_text
from rheo_verify.decoders.torch_decoding import TorchDecoding
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.pair import load_pair, load_shipped
from rheo_verify.models.rows import RowSettings, draft_rows
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule


def clock(function: Callable[[], Any], repeats: int, device: torch.device) -> float:
    """The median time of a call in seconds."""
    times = []
    for _ in range(repeats + 1):
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        function()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return median(times[1:])


def layers(device: torch.device, vocab: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(0)
    target = torch.randn(rows, vocab, generator=generator).to(device) * 2
    ids = torch.arange(0, vocab, max(1, vocab // 8192), device=device)
    draft = target[:, ids] + torch.randn(rows, len(ids), generator=generator).to(device)
    p = torch.softmax(target.double(), -1)
    drafts = draft_rows(draft, ids, RowSettings())
    base = clock(lambda: torch.softmax(target.double(), -1).sort(-1), 3, device)
    print(f"{rows} rows of {vocab:,}: softmax and sort {1000 * base:.1f} ms")
    for rule, m in (("topk", 10), ("rheo", 0), ("rheo", 1), ("rrsw", 1)):
        spent = clock(lambda rule=rule, m=m: check_layers(p, drafts, layer_rule(rule), lead=m, pool=10), 3, device)
        gigabytes = p.numel() * 8 / spent / 1e9
        speed = f"{rows / spent:,.0f} rows/s, {gigabytes:.1f} GB/s of target rows"
        print(f"  {rule} m={m}: {spent / base:.2f} of that, {speed}")


def decoding(arguments: argparse.Namespace, device: torch.device) -> None:
    if arguments.target:
        pair = load_pair(arguments.target, arguments.head, dtype=arguments.dtype, device=str(device))
        prompt = list(range(5, 69))
    else:
        pair = load_shipped(dtype=arguments.dtype, device=str(device))
        prompt = [0, *default_text().encode()[:80]]
    runs = {}
    for name, m, rule in (
        ("topk", 10, "topk"),
        ("rheo m=0", 0, "rheo"),
        ("rheo m=1", 1, "rheo"),
        ("rheo m=2", 2, "rheo"),
    ):
        design = TreeDesign(lead=m, pool=10, beam=10, depth=7, budget=59)
        live = TorchDecoding(pair, design, in_one_draw(layer_rule(rule)), TorchChance(0), RowSettings())
        live.start(prompt)
        list(live.run(8))
        runs[name] = live
    # interleaved, so that a busy machine slows all of them alike
    drafting: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(arguments.cycles):
        for name, live in runs.items():
            drafting[name].append(_once(live, device))
    base = median(drafting["topk"])
    for name, live in runs.items():
        begin, before, cycles = time.perf_counter(), len(live.context), 0
        for _ in live.run(arguments.tokens):
            cycles += 1
        spent, emitted = time.perf_counter() - begin, len(live.context) - before
        draft = median(drafting[name])
        print(
            f"  {name:9} drafting pass {1000 * draft:6.1f} ms ({draft / base - 1:+.1%}), tau {emitted / cycles:.2f}, "
            f"{emitted / spent:.1f} tokens/s"
        )


def _once(live: TorchDecoding, device: torch.device) -> float:
    """One drafting pass at the present context; the head's tree is begun anew each time."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    begin = time.process_time() if device.type == "cpu" else time.perf_counter()
    live.draft()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return (time.process_time() if device.type == "cpu" else time.perf_counter()) - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--target")
    parser.add_argument("--head")
    parser.add_argument("--vocab", type=int, default=49152)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--cycles", type=int, default=9)
    arguments, _ = parser.parse_known_args()
    device = torch.device(arguments.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    layers(device, arguments.vocab, arguments.rows)
    decoding(arguments, device)


if __name__ == "__main__":
    main()
