"""Small real checkpoints for tests: an untrained Llama and an EAGLE-3 head with random weights, in the real formats."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from rheo_verify.models.eagle3_checkpoint import shapes
from rheo_verify.models.eagle3_config import read_config
from rheo_verify.models.tensor_files import write_tensors

VOCAB, DRAFT_VOCAB = 96, 48
HEAD: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCAB,
    "draft_vocab_size": DRAFT_VOCAB,
    "rms_norm_eps": 1e-5,
    "torch_dtype": "float32",
}


def write_target(folder: Path, **changes: Any) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = {
        "vocab_size": VOCAB,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 8,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.25,
        "bos_token_id": 0,
        "eos_token_id": None,
        **changes,
    }
    options = {"max_shard_size": config.pop("max_shard_size")} if "max_shard_size" in config else {}
    LlamaForCausalLM(LlamaConfig(**config)).save_pretrained(folder, **options)
    return folder


def head_tensors(config: dict[str, Any] = HEAD, seed: int = 0) -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(seed)
    read = read_config(config, "test")
    tensors = {}
    for key, shape in shapes(read).items():
        spread = torch.randn(shape, generator=generator)
        tensors[key] = 1 + 0.1 * spread if len(shape) == 1 else spread * 1.5 / shape[-1] ** 0.5
    ids = torch.randperm(read.vocab, generator=generator)[: read.draft_vocab]
    tensors["d2t"] = ids - torch.arange(read.draft_vocab)
    tensors["t2d"] = torch.zeros(read.vocab, dtype=torch.bool).index_fill(0, ids, True)
    return tensors


def write_head(folder: Path, config: dict[str, Any] = HEAD, tensors: dict[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    write_tensors(folder / "model.safetensors", head_tensors(config) if tensors is None else tensors)
    return folder


@cache
def random_pair(seed: int = 0) -> Any:
    """A pair in memory, with fp32 weights."""
    import tempfile

    from rheo_verify.models.pair import load_pair

    with tempfile.TemporaryDirectory() as name:
        target = write_target(Path(name) / "target")
        head = write_head(Path(name) / "head", tensors=head_tensors(seed=seed))
        return load_pair(target, head)
