"""Real models: drafting overhead, decoding speed, the exact layer check against softmax and sort.

    python -m benchmarks models [--device cuda] [--target DIR --head DIR] [--dtype bfloat16] [--rows N]

One prepared script for a CPU or a GPU; within five minutes on either. Everything is a ratio within this run.
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
from rheo_verify.drafting.batched_tree import batched_tree
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.models.eagle3_checkpoint import shapes
from rheo_verify.models.eagle3_config import read_config
from rheo_verify.models.eagle3_drafting import HeadState
from rheo_verify.models.eagle3_head import Eagle3Head
from rheo_verify.models.pair import Pair, load_pair, load_shipped
from rheo_verify.models.rows import RowSettings, draft_rows
from rheo_verify.probability.torch_sampling import TorchChance
from rheo_verify.verification.layer import in_one_draw
from rheo_verify.verification.rules import layer_rule

DESIGNS = (("topk", 10, "topk"), ("rheo m=0", 0, "rheo"), ("rheo m=1", 1, "rheo"), ("rheo m=2", 2, "rheo"))
HEADS = {
    "Llama-3.2-1B": {"hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "head_dim": 64},
    "Llama-3.1-8B": {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "head_dim": 128},
}
"""The sizes of heads for these targets."""


def once(function: Callable[[], Any], device: torch.device) -> float:
    """One call in seconds: of this process on a CPU, so that a busy machine counts less; of the clock on a GPU."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    if device.type == "cuda":
        torch.cuda.synchronize()
    begin = clock()
    function()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - begin


def layers(device: torch.device, vocab: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(0)
    target = torch.randn(rows, vocab, generator=generator).to(device) * 2
    ids = torch.arange(0, vocab, max(1, vocab // 8192), device=device)
    draft = target[:, ids] + torch.randn(rows, len(ids), generator=generator).to(device)
    p = torch.softmax(target.double(), -1)
    drafts = draft_rows(draft, ids, RowSettings())
    calls: dict[str, Callable[[], Any]] = {"softmax and sort": lambda: torch.softmax(target.double(), -1).sort(-1)}
    for rule, m in (("topk", 10), ("rheo", 0), ("rheo", 1), ("rheo", 2), ("rrsw", 1)):
        calls[f"{rule} m={m}"] = lambda rule=rule, m=m: check_layers(p, drafts, layer_rule(rule), lead=m, pool=10)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(4):
        for name, call in calls.items():
            times[name].append(once(call, device))
    base = min(times["softmax and sort"])
    print(f"exact layer check of {rows} rows of {vocab:,}, against one softmax and sort of them ({1000 * base:.1f} ms)")
    for name, spent in times.items():
        best = min(spent)
        print(f"  {name:16} {best / base:6.2f} ×  {rows / best:9,.0f} rows/s, {p.numel() * 8 / best / 1e9:6.1f} GB/s")


def head_like(target: str, dtype: torch.dtype, device: torch.device) -> Eagle3Head:
    """Random weights; the speed of a head does not depend on them. One row of embeddings stands for all."""
    rest = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "num_hidden_layers": 1}
    rest |= {"num_key_value_heads": 8, "vocab_size": 128256, "draft_vocab_size": 32000, "rms_norm_eps": 1e-5}
    config = read_config(HEADS[target] | rest, target)
    generator = torch.Generator(device).manual_seed(0)
    weights = {}
    for key, shape in shapes(config).items():
        spread = torch.randn(shape, generator=generator, device=device, dtype=dtype)
        weights[key] = spread / shape[-1] ** 0.5 if len(shape) > 1 else 1 + spread / 10
    weights["embed_tokens.weight"] = weights["norm.weight"].expand(config.vocab, -1)
    step = config.vocab // config.draft_vocab
    to_target = torch.arange(0, config.draft_vocab * step, step, device=device)
    return Eagle3Head(config, weights, to_target, True, f"random weights of the size of a head for {target}")


def drafting(name: str, state: HeadState, vocab: int, passes: int, device: torch.device) -> None:
    """Whole drafting passes (head forwards and tree) of each design, in turns."""
    calls: dict[str, Callable[[], Any]] = {}
    for label, m, _ in (*DESIGNS, ("topk again", 10, "")):
        design, chance = TreeDesign(lead=m, pool=10, beam=10, depth=7, budget=59), TorchChance(0)
        calls[label] = lambda design=design, chance=chance: batched_tree(
            chance, design, RowSettings(), state.head.to_target, vocab, state.root(), state.step
        )
    times: dict[str, list[float]] = {label: [] for label in calls}
    for number in range(passes + 1):
        for label, call in calls.items():
            spent = once(call, device)
            if number:
                times[label].append(spent)
    print(f"drafting pass over topk's, {passes} in turns (K = W = 10, D = 7, R = 59, S = 128): {name}")
    for label, spent in times.items():
        ratio = median(ours / base for ours, base in zip(spent, times["topk"], strict=True)) - 1
        best = min(spent) / min(times["topk"]) - 1
        words = f"{ratio:+6.1%} (median of ratios)  {best:+6.1%} (best)"
        print(f"  {label:10} median {1000 * median(spent):8.2f} ms  {words}")


def decoding(pair: Pair, prompt: list[int], tokens: int) -> None:
    print(f"decoding of {tokens} tokens, forward of the target included: {pair.target.source}")
    for name, m, rule in DESIGNS:
        design = TreeDesign(lead=m, pool=10, beam=10, depth=7, budget=59)
        live = TorchDecoding(pair, design, in_one_draw(layer_rule(rule)), TorchChance(0), RowSettings())
        live.start(prompt)
        list(live.run(8))
        begin, before, cycles = time.perf_counter(), len(live.context), 0
        for _ in live.run(tokens):
            cycles += 1
        spent, emitted = time.perf_counter() - begin, len(live.context) - before
        print(f"  {name:10} tau {emitted / cycles:.2f}, {emitted / spent:.1f} tokens/s")


def state_of(pair: Pair, prompt: list[int]) -> HeadState:
    live = TorchDecoding(pair, TreeDesign(lead=1, pool=10), in_one_draw(layer_rule("rheo")), TorchChance(0))
    live.start(prompt)
    return live.head_state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--target", help="a Llama checkpoint, with --head, beside the shipped pair")
    parser.add_argument("--head")
    parser.add_argument("--vocab", type=int, nargs="+", default=[49152, 4096, 256])
    parser.add_argument("--rows", type=int, default=64, help="of a vocabulary of 4,096 and more; else more of them")
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--passes", type=int, default=30, help="drafting passes a design; a tenth for the large heads")
    parser.add_argument("--no-large-heads", action="store_true", help="leave out the heads of the sizes of Llama's")
    arguments, _ = parser.parse_known_args()
    if (arguments.target is None) != (arguments.head is None):
        parser.error("give --target and --head together")
    device = torch.device(arguments.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    for vocab in arguments.vocab:
        layers(device, vocab, arguments.rows * max(1, 4096 // vocab))
    shipped = load_shipped(dtype=arguments.dtype, device=str(device))
    runs = [("the shipped pair", shipped, [0, *default_text().encode()[:80]])]
    if arguments.target:
        pair = load_pair(arguments.target, arguments.head, dtype=arguments.dtype, device=str(device))
        runs.append((arguments.target, pair, list(range(5, 69))))
    for name, pair, prompt in runs:
        drafting(name, state_of(pair, prompt), pair.target.vocab, arguments.passes, device)
    for target in HEADS if not arguments.no_large_heads else ():
        head = head_like(target, shipped.target.dtype, device)
        state = HeadState(head)
        features = torch.randn(64, 3 * head.config.target_hidden, device=device, dtype=shipped.target.dtype)
        state.extend(features, list(range(64)))
        drafting(head.source, state, head.config.vocab, max(3, arguments.passes // 10), device)
    for _, pair, prompt in runs:
        decoding(pair, prompt, arguments.tokens)


if __name__ == "__main__":
    main()
