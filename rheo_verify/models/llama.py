"""Llama targets: transformers' own `LlamaForCausalLM`, unmodified, from a local folder or a GGUF file."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from rheo_verify.errors import CannotRun, InputError
from rheo_verify.models.llama_checkpoint import check_target, last_lines
from rheo_verify.models.torch_setup import torch_and_transformers, torch_device, torch_dtype
from rheo_verify.words import count

Tensor = Any


@dataclass(frozen=True)
class Target:
    """A loaded target. `network` is the `LlamaForCausalLM`; `captured` the hidden states that an EAGLE-3 head reads."""

    network: Any
    vocab: int
    hidden: int
    layers: int
    captured: tuple[int, int, int]
    source: str
    dtype: Any
    device: Any
    cache_argument: str

    @property
    def embedding(self) -> Tensor:
        """The input embedding, [V, H]."""
        return self.network.get_input_embeddings().weight.detach()


def captured_layers(layers: int) -> tuple[int, int, int]:
    """Which of transformers' `hidden_states` EAGLE-3 captures in a target of `layers` layers. For 32: 2, 16, 29."""
    if layers < 4:
        raise InputError(
            "RV605", f"a target of {count(layers, 'layer')} is too shallow for EAGLE-3, which reads three of them"
        )
    return 2, layers // 2, layers - 3


def load_target(folder: str | Path, *, dtype: str = "float32", device: str = "cpu") -> Target:
    """A target from a local folder (`.safetensors`, sharded or not, `.bin`), or a `.gguf` file or a folder with one.

    Nothing is downloaded. Raises `InputError`: RV600 not installed, RV601 unreadable, RV602 not a Llama, RV603 keys.
    """
    path = Path(folder)
    kind, where = torch_dtype(dtype), torch_device(device)
    options, source = _options(path)
    return target_from(_load(source, options, kind, path).to(where), str(path))


def target_from(network: Any, source: str) -> Target:
    """A `Target` around a `LlamaForCausalLM` that is loaded already."""
    config = network.config
    weight = network.get_input_embeddings().weight
    names = inspect.signature(network.model.forward).parameters
    return Target(
        network=network.eval(),
        vocab=config.vocab_size,
        hidden=config.hidden_size,
        layers=config.num_hidden_layers,
        captured=captured_layers(config.num_hidden_layers),
        source=source,
        dtype=weight.dtype,
        device=weight.device,
        cache_argument="cache" if "cache" in names else "past_key_values",
    )


def _options(path: Path) -> tuple[dict[str, Any], Path]:
    """Keyword arguments for transformers, and the folder they are about."""
    if path.suffix == ".gguf":
        if not path.is_file():
            raise InputError("RV601", f"{path}: there is no such file")
        return {"gguf_file": path.name}, path.parent
    if not path.is_dir():
        raise InputError("RV601", f"{path}: there is no such folder")
    if not (path / "config.json").is_file():
        found = sorted(path.glob("*.gguf"))
        if len(found) == 1:
            return {"gguf_file": found[0].name}, path
        raise InputError("RV601", f"{path}: there is no config.json, and not exactly one .gguf file")
    check_target(path)
    return {}, path


def _load(source: Path, options: dict[str, Any], dtype: Any, path: Path) -> Any:
    _, transformers = torch_and_transformers()
    try:
        with redirect_stderr(StringIO()):  # its bars, terminal or not
            network, report = transformers.LlamaForCausalLM.from_pretrained(
                source, dtype=dtype, local_files_only=True, output_loading_info=True, **options
            )
    except ImportError as error:
        raise CannotRun("RV600", f"{path}: {last_lines(error)}") from None
    except Exception as error:
        raise InputError("RV601", f"{path}: transformers cannot load it: {last_lines(error)}") from None
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        keys = sorted(map(str, report.get(kind) or ()))
        if keys:
            more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            raise InputError("RV603", f"{path}: {kind.replace('_', ' ')}: {keys[0]}{more}")
    return network


@dataclass
class TargetState:
    """A target's keys and values along a context that grows. Holds the cache; one state, one sequence."""

    target: Target
    cache: Any
    length: int = 0

    @staticmethod
    def new(target: Target) -> TargetState:
        """Nothing seen yet."""
        _, transformers = torch_and_transformers()
        return TargetState(target, transformers.DynamicCache(config=target.network.config))

    def forward(
        self, tokens: Sequence[int], depths: Sequence[int], mask: Tensor, *, last: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Run `tokens` (n of them) at positions length + depths; `mask` bool [n, n]: who sees whom. All see the past.

        Returns logits [n, V] (of the `last` tokens alone, unless that is 0) and features [n, 3 H]. The cache then holds
        the n tokens too; `keep` drops some of them. Raises `InputError` RV106 beyond the target's positions.
        """
        import torch

        device, dtype = self.target.device, self.target.dtype
        most = self.target.network.config.max_position_embeddings
        furthest = self.length + max(depths)
        if furthest >= most:
            needed = f"position {furthest} is needed, but the target's max_position_embeddings is {most}"
            raise InputError("RV106", f"{needed}: a shorter prompt, or fewer tokens")
        seen = torch.zeros(len(tokens), self.length + len(tokens), dtype=dtype, device=device)
        seen[:, self.length :].masked_fill_(~mask.to(device), torch.finfo(dtype).min)
        with torch.no_grad():
            out = self.target.network(
                input_ids=torch.tensor([list(tokens)], device=device),
                position_ids=torch.tensor([[self.length + depth for depth in depths]], device=device),
                attention_mask=seen[None, None],
                use_cache=True,
                output_hidden_states=True,
                logits_to_keep=last,
                **{self.target.cache_argument: self.cache},
            )
        features = torch.cat([out.hidden_states[layer][0] for layer in self.target.captured], -1)
        return out.logits[0], features

    def prefill(self, tokens: Sequence[int], chunk: int = 512, *, logits: bool = True) -> tuple[Tensor, Tensor]:
        """Run a chain of tokens and keep them all: logits [n, V] (else [1, V], the last's) and features [n, 3 H]."""
        import torch

        parts = []
        for start in range(0, len(tokens), chunk):
            part = tokens[start : start + chunk]
            mask = torch.ones(len(part), len(part), dtype=torch.bool).tril()
            parts.append(self.forward(part, range(len(part)), mask, last=0 if logits else 1))
            self.length += len(part)
        return torch.cat([it[0] for it in (parts if logits else parts[-1:])]), torch.cat([it[1] for it in parts])

    def keep(self, offsets: Sequence[int]) -> None:
        """After a `forward`: keep the past and these of its tokens (offsets in order), drop the rest from the cache."""
        import torch

        kept = self.length + len(offsets)
        index = torch.tensor([self.length + it for it in offsets], dtype=torch.int64, device=self.target.device)
        for layer in self.cache.layers:
            for name in ("keys", "values"):
                held = getattr(layer, name)
                held[:, :, self.length : kept] = held[:, :, index]
                setattr(layer, name, held[:, :, :kept])
        self.length = kept
