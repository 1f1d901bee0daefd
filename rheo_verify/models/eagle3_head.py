"""The forward pass of an EAGLE-3 head: one Llama layer over [embedding, hidden], on plain tensors.

Pair i joins the target's feature at position i with the embedding of token i+1, at position i. The head returns logits
over its draft vocabulary and the hidden state that its own next step takes in place of a feature (EAGLE-3, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rheo_verify.models.eagle3_config import Eagle3Config

if TYPE_CHECKING:
    import torch

Tensor = Any
Rotation = tuple[Tensor, Tensor]
"""Cosine and sine of the rotary angles at some positions, [n, d] each; [1, d] if the n pairs share one."""


@dataclass(frozen=True)
class Eagle3Head:
    """Weights by their SafeAILab names, `embed_tokens.weight` always present (the target's when not its own).

    `to_target` [V'] maps draft ids to target ids; `own_embedding` says whether the checkpoint brought embeddings.
    """

    config: Eagle3Config
    weights: dict[str, Tensor]
    to_target: Tensor
    own_embedding: bool
    source: str


@dataclass(frozen=True)
class KeyValues:
    """Keys and values of the positions that queries may look at: [kv heads, n, head dim] each."""

    keys: Tensor
    values: Tensor

    def __len__(self) -> int:
        return int(self.keys.shape[1])

    def joined(self, other: KeyValues) -> KeyValues:
        """Both, in order."""
        import torch

        return KeyValues(torch.cat((self.keys, other.keys), 1), torch.cat((self.values, other.values), 1))

    def first(self, count: int) -> KeyValues:
        """The first `count` positions."""
        return KeyValues(self.keys[:, :count], self.values[:, :count])


def features_to_hidden(head: Eagle3Head, features: Tensor) -> Tensor:
    """Three target hidden states side by side, [n, 3 H_target], joined to [n, H]."""
    return features @ head.weights["fc.weight"].T


def head_forward(
    head: Eagle3Head, tokens: Tensor, hidden: Tensor, turn: Rotation, past: KeyValues | None, mask: Tensor
) -> tuple[Tensor, KeyValues]:
    """One step for n pairs: `tokens` [n], `hidden` [n, H], `turn` of their positions, `mask` bool [n, past + n].

    True in the mask: seen. Returns the hidden states [n, H] *before* the last norm, as the next step takes them, and
    the keys and values of past and present together. `head_logits` turns hidden states into logits.
    """
    import torch

    c, w = head.config, head.weights
    embedded = torch.nn.functional.embedding(tokens, w["embed_tokens.weight"])
    x = torch.cat(
        (
            rms_norm(embedded, w["midlayer.input_layernorm.weight"], c.eps),
            rms_norm(hidden, w["midlayer.hidden_norm.weight"], c.eps),
        ),
        -1,
    )
    query = rotate(_split(x @ w["midlayer.self_attn.q_proj.weight"].T, c.heads), turn)
    key = rotate(_split(x @ w["midlayer.self_attn.k_proj.weight"].T, c.key_value_heads), turn)
    present = KeyValues(key, _split(x @ w["midlayer.self_attn.v_proj.weight"].T, c.key_value_heads))
    seen = present if past is None else past.joined(present)
    attended = attention(query, seen.keys, seen.values, mask)
    hidden = hidden + attended @ w["midlayer.self_attn.o_proj.weight"].T
    x = rms_norm(hidden, w["midlayer.post_attention_layernorm.weight"], c.eps)
    gate = torch.nn.functional.silu(x @ w["midlayer.mlp.gate_proj.weight"].T)
    return hidden + (gate * (x @ w["midlayer.mlp.up_proj.weight"].T)) @ w["midlayer.mlp.down_proj.weight"].T, seen


def head_logits(head: Eagle3Head, hidden: Tensor) -> Tensor:
    """Logits over the draft vocabulary, [n, V']."""
    return rms_norm(hidden, head.weights["norm.weight"], head.config.eps) @ head.weights["lm_head.weight"].T


def attention(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Grouped attention: query [heads, n, d], keys and values [kv heads, t, d], mask [n, t]; returns [n, heads d]."""
    import torch

    mixed = torch.nn.functional.scaled_dot_product_attention(
        query[None], keys[None], values[None], attn_mask=mask, enable_gqa=len(query) > len(keys)
    )
    return mixed[0].transpose(0, 1).flatten(1)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Root-mean-square norm over the last axis, in fp32 as Llama has it (in fp64 for fp64)."""
    import torch

    wide = x if x.dtype == torch.float64 else x.float()
    return torch.nn.functional.rms_norm(wide, wide.shape[-1:], None, eps).to(x.dtype) * weight


def rotation(positions: Tensor, dim: int, theta: float, dtype: Any) -> Rotation:
    """Cosine and sine [n, dim] of the rotary angles at `positions` [n], halves side by side as in Llama checkpoints."""
    import torch

    half = dim // 2
    frequency = theta ** (-torch.arange(half, dtype=torch.float64, device=positions.device) / half)
    angle = positions.to(torch.float64)[:, None] * frequency
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
    return torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)


def rotation_at(head: Eagle3Head, first: int, count: int) -> Rotation:
    """The same at positions first … first + count - 1, looked up."""
    c, weight = head.config, head.weights["fc.weight"]
    size = max(1024, 1 << (first + count - 1).bit_length())
    cos, sin = _rotations(size, c.head_dim, c.theta, weight.dtype, weight.device)
    return cos[first : first + count], sin[first : first + count]


@lru_cache(maxsize=8)
def _rotations(size: int, dim: int, theta: float, dtype: Any, device: Any) -> Rotation:
    import torch

    with torch.inference_mode(False):  # it outlives the caller's mode
        return rotation(torch.arange(size, device=device), dim, theta, dtype)


def rotate(x: Tensor, turn: Rotation) -> Tensor:
    """Rotary position embedding of [heads, n, d]."""
    cos, sin = turn
    return x * cos + x.roll(x.shape[-1] // 2, -1) * sin


def causal_mask(count: int, past: int, device: Any) -> torch.Tensor:
    """[count, past + count]: everything past, and the present up to itself."""
    import torch

    return torch.ones(count, past + count, dtype=torch.bool, device=device).tril(past)


def _split(x: Tensor, heads: int) -> Tensor:
    return x.view(x.shape[0], heads, -1).transpose(0, 1)
