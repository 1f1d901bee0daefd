"""Train the small real pair in `byte-llama/`: a byte-level Llama and an EAGLE-3 head for it, on a CPU in minutes.

    python toy_models/train_byte_llama.py [--out DIR] [--steps N] [--head-steps N] [--head-only] [--threads N]

The text is Python's language reference as every Python carries it (`pydoc_data.topics`, PSF licence) and this
project's own LICENSE (Apache-2.0). Tokens are bytes; byte 0 starts a sequence. The last twentieth is held out.
The target is transformers' own `LlamaForCausalLM`; the head is trained on its features by the training-time test of
EAGLE-3 (section 3): it takes its own hidden states for two further steps, as it will when it drafts.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from rheo_verify.models.eagle3_checkpoint import shapes
from rheo_verify.models.eagle3_config import read_config
from rheo_verify.models.eagle3_head import Eagle3Head, features_to_hidden, head_logits, rms_norm, rotate, rotation
from rheo_verify.models.tensor_files import write_tensors

HERE = Path(__file__).parent
DRAFT_VOCAB, WINDOW, BATCH = 128, 128, 8
HEAD = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 256,
    "draft_vocab_size": DRAFT_VOCAB,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "max_position_embeddings": 2048,
    "torch_dtype": "float16",
}


def text() -> torch.Tensor:
    """All training text as byte ids."""
    from pydoc_data.topics import topics

    whole = "\n\n".join([(HERE.parent / "LICENSE").read_text(), *(topics[name] for name in sorted(topics))])
    return torch.tensor(list(whole.encode()), dtype=torch.int64)


def windows(data: torch.Tensor, batch: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """A batch of random stretches of the text."""
    starts = torch.randint(0, len(data) - length, (batch,), generator=generator)
    rows = torch.stack([data[start : start + length] for start in starts])
    rows[::8, 0] = 0  # some windows start a sequence
    return rows


def rate(step: int, steps: int, top: float) -> float:
    """Warm-up, then a cosine down to a twentieth."""
    warm = min(1.0, (step + 1) / 50)
    return top * warm * (0.05 + 0.95 * (1 + math.cos(math.pi * step / steps)) / 2)


def train_target(data: torch.Tensor, held_out: torch.Tensor, steps: int) -> LlamaForCausalLM:
    """Train the target by next-byte prediction."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=256,
            hidden_size=128,
            intermediate_size=352,
            num_hidden_layers=8,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=2048,
            rms_norm_eps=1e-5,
            tie_word_embeddings=True,
            bos_token_id=0,
            eos_token_id=None,
            pad_token_id=None,
        )
    )
    print(f"target: {sum(p.numel() for p in model.parameters()):,} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.05)
    generator = torch.Generator().manual_seed(1)
    begin = time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, 3e-3)
        rows = windows(data, BATCH, WINDOW + 1, generator)
        logits = model(input_ids=rows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == steps - 1:
            with torch.no_grad():
                rows = windows(held_out, 16, WINDOW + 1, torch.Generator().manual_seed(2))
                out = model(input_ids=rows[:, :-1]).logits
                held = torch.nn.functional.cross_entropy(out.flatten(0, 1), rows[:, 1:].flatten())
            seconds = time.monotonic() - begin
            print(f"  step {step:5d}  loss {loss.item():.3f}  held out {held.item():.3f}  {seconds:.0f} s", flush=True)
    return model.eval()


def new_head(data: torch.Tensor, embedding: torch.Tensor) -> tuple[Eagle3Head, dict[str, torch.Tensor]]:
    """A head with fresh weights; its draft vocabulary is the most frequent bytes. And its maps, as files hold them."""
    torch.manual_seed(3)
    config = read_config(HEAD, "head")
    counts = torch.bincount(data, minlength=256)
    ids = counts.sort(descending=True, stable=True).indices[:DRAFT_VOCAB].sort().values
    weights = {}
    for key, shape in shapes(config).items():
        norm = len(shape) == 1
        weights[key] = torch.ones(shape) if norm else torch.randn(shape) * 0.7 / math.sqrt(shape[1])
        weights[key].requires_grad_()
    maps = {"d2t": ids - torch.arange(DRAFT_VOCAB), "t2d": torch.zeros(256, dtype=torch.bool).index_fill(0, ids, True)}
    return Eagle3Head(config, {**weights, "embed_tokens.weight": embedding}, ids, False, "new"), maps


def steps_of_head(head: Eagle3Head, hidden: torch.Tensor, tokens: torch.Tensor, depth: int) -> list[torch.Tensor]:
    """Logits of `depth` drafting steps, each [B, n - step, V']: hidden [B, n, H], tokens [B, n + depth - 1].

    At step s, pair i has token i+s and the hidden state of step s-1; it sees the first steps' keys of positions up to
    i, and of the later steps its own ones only: what a node of a tree sees of the prefix and of its ancestors.
    """
    c, w = head.config, head.weights
    count = hidden.shape[1]
    logits, keys, values = [], [], []
    causal = torch.ones(count, count, dtype=torch.bool).tril()
    for step in range(depth):
        embedded = torch.nn.functional.embedding(tokens[:, step : step + count], w["embed_tokens.weight"])
        x = torch.cat(
            (
                rms_norm(embedded, w["midlayer.input_layernorm.weight"], c.eps),
                rms_norm(hidden, w["midlayer.hidden_norm.weight"], c.eps),
            ),
            -1,
        )
        turn = rotation(torch.arange(count) + step, c.head_dim, c.theta, x.dtype)

        def project(name: str, heads: int, x: torch.Tensor = x) -> torch.Tensor:
            out = x @ w[f"midlayer.self_attn.{name}_proj.weight"].T
            return out.view(len(out), count, heads, -1).transpose(1, 2)

        query = rotate(project("q", c.heads), turn)
        groups = c.heads // c.key_value_heads
        keys.append(rotate(project("k", c.key_value_heads), turn).repeat_interleave(groups, 1))
        values.append(project("v", c.key_value_heads).repeat_interleave(groups, 1))
        scores = (query @ keys[0].transpose(-1, -2)).masked_fill(~causal, -torch.inf)
        own = [(query * key).sum(-1, keepdim=True) for key in keys[1:]]
        weight = (torch.cat([scores, *own], -1) / math.sqrt(c.head_dim)).softmax(-1)
        mixed = weight[..., :count] @ values[0]
        for number, value in enumerate(values[1:]):
            mixed = mixed + weight[..., count + number : count + number + 1] * value
        hidden = hidden + mixed.transpose(1, 2).flatten(2) @ w["midlayer.self_attn.o_proj.weight"].T
        x = rms_norm(hidden, w["midlayer.post_attention_layernorm.weight"], c.eps)
        gate = torch.nn.functional.silu(x @ w["midlayer.mlp.gate_proj.weight"].T)
        hidden = hidden + (gate * (x @ w["midlayer.mlp.up_proj.weight"].T)) @ w["midlayer.mlp.down_proj.weight"].T
        logits.append(head_logits(head, hidden))
    return logits


def train_head(
    target: LlamaForCausalLM, data: torch.Tensor, held_out: torch.Tensor, steps: int, depth: int = 3
) -> tuple[Eagle3Head, dict[str, torch.Tensor]]:
    """Train the head towards the target's own rows; returns it with its maps."""
    head, maps = new_head(data, target.get_input_embeddings().weight.detach())
    trained = [value for value in head.weights.values() if value.requires_grad]
    print(f"head: {sum(p.numel() for p in trained):,} parameters")
    optimizer = torch.optim.AdamW(trained, lr=1e-3, betas=(0.9, 0.95), weight_decay=0.01)
    layers = target.config.num_hidden_layers
    captured = (2, layers // 2, layers - 3)

    def losses(rows: torch.Tensor) -> tuple[list[torch.Tensor], float]:
        with torch.no_grad():
            out = target(input_ids=rows, output_hidden_states=True)
            features = torch.cat([out.hidden_states[layer] for layer in captured], -1)
        count = rows.shape[1] - depth
        hidden = features_to_hidden(head, features[:, :count])
        found = []
        top = 0.0
        for step, logits in enumerate(steps_of_head(head, hidden, rows[:, 1:], depth)):
            wanted = out.logits[:, step + 1 : step + 1 + count]
            p = wanted.softmax(-1)[..., head.to_target]
            found.append(-(p * logits.log_softmax(-1)).sum(-1).mean())
            if step == 0:
                top = (head.to_target[logits.argmax(-1)] == wanted.argmax(-1)).float().mean().item()
        return found, top

    generator = torch.Generator().manual_seed(4)
    begin = time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, 2e-3)
        found, _ = losses(windows(data, BATCH, WINDOW, generator))
        loss = sum(0.8**number * it for number, it in enumerate(found))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if step % 100 == 0 or step == steps - 1:
            with torch.no_grad():
                held, top = losses(windows(held_out, 16, WINDOW, torch.Generator().manual_seed(5)))
            shown = " ".join(f"{it.item():.3f}" for it in held)
            print(f"  step {step:5d}  held out {shown}  top-1 {top:.3f}  {time.monotonic() - begin:.0f} s", flush=True)
    return head, maps


def main() -> None:
    """Train both and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE / "byte-llama")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--head-steps", type=int, default=600)
    parser.add_argument("--head-only", action="store_true", help="keep the target that lies in DIR")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    whole = text()
    data, held_out = whole[: -len(whole) // 20], whole[-len(whole) // 20 :]
    if not args.head_only:
        train_target(data, held_out, args.steps).half().save_pretrained(args.out / "target")
    # The head learns from the weights as they are shipped.
    target = LlamaForCausalLM.from_pretrained(args.out / "target", dtype=torch.float32).eval()
    head, maps = train_head(target, data, held_out, args.head_steps)
    folder = args.out / "head"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(HEAD, indent=1) + "\n")
    kept = {key: value.detach().half() for key, value in head.weights.items() if key != "embed_tokens.weight"}
    write_tensors(folder / "model.safetensors", {**kept, **maps})


if __name__ == "__main__":
    main()
