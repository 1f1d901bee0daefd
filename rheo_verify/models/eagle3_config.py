"""The configuration of an EAGLE-3 head, read strictly from the two layouts that are in use.

SafeAILab/SpecForge: a flat Llama config, one decoder layer under the keys `midlayer.…`. vLLM/speculators: the same
numbers inside `transformer_layer_config`, the layer under `layers.0.…`. A flag that would change the forward pass and
is not implemented here is refused by name: a head that runs wrongly in silence drafts badly and is never noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.models.table_file import kind

ARCHITECTURES = (
    "LlamaForCausalLM",
    "LlamaForCausalLMEagle3",
    "Eagle3LlamaForCausalLM",
    "Eagle3Speculator",
    "Eagle3DraftModel",
)
_NUMBERS = ("hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "norm_before_residual": (False, None),
    "norm_before_fc": (False, None),
    "fc_norm": (False, None),
    "norm_output": (False, None),
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "tie_word_embeddings": (False, None),
    "hidden_act": ("silu", None),
    "rope_scaling": (None,),
    "num_hidden_layers": (1, None),
    "pretraining_tp": (1, None),
    "parallel_drafting": (False, None),
    "embed_requires_grad": (False, True, None),
}
"""Flags that alter the forward pass, with the values under which it is the one implemented here."""

# fmt: off
_IGNORED = frozenset({
    "architectures", "attention_dropout", "auto_map", "bos_token_id", "dtype", "eos_token_id", "eagle_config",
    "ffn_dropout", "initializer_range", "is_decoder", "max_position_embeddings", "model_type", "pad_token_id",
    "speculators_config", "speculators_model_type", "speculators_version", "torch_dtype", "transformers_version",
    "use_cache", "max_window_layers", "transformer_layer_config", "eagle_aux_hidden_state_layer_ids",
    "target_model_type", "_name_or_path",
})
# fmt: on
_KINDS: dict[str, tuple[Any, str]] = {
    "architectures": (list, "a list"),
    "transformer_layer_config": (Mapping, "an object"),
    "rope_parameters": (Mapping, "an object"),
    "eagle_config": (Mapping, "an object"),
}
_KNOWN = frozenset(
    {*_NUMBERS, *_NEUTRAL, *_IGNORED}
    | {"num_key_value_heads", "head_dim", "draft_vocab_size", "rms_norm_eps", "rope_theta", "rope_parameters"}
    | {"target_hidden_size", "target_vocab_size"}
)


@dataclass(frozen=True)
class Eagle3Config:
    """Sizes of a head. `layers`: the captured hidden states of the target, where the file states them."""

    hidden: int
    intermediate: int
    heads: int
    key_value_heads: int
    head_dim: int
    vocab: int
    draft_vocab: int
    target_hidden: int
    eps: float
    theta: float
    layout: str
    layers: tuple[int, int, int] | None = None


def read_config(data: Mapping[str, Any], where: str) -> Eagle3Config:
    """A head's configuration from its `config.json`. Raises `InputError` RV602 that names the key."""
    layout = "speculators" if "transformer_layer_config" in data else "SafeAILab/SpecForge"
    _check_kinds(data, where)
    nested = data.get("transformer_layer_config") or {}
    _check_kinds(nested, where)
    merged = {**nested, **{key: value for key, value in data.items() if key != "transformer_layer_config"}}
    if layout == "speculators":
        merged.update({key: nested[key] for key in ("hidden_size", "vocab_size") if key in nested})
    for name in merged.get("architectures") or ():
        if name not in ARCHITECTURES:
            raise InputError("RV602", f"{where}: architectures says {name!r}, which is no EAGLE-3 head known here")
    for key, value in merged.items():
        if key not in _KNOWN:
            raise InputError("RV602", f"{where}: unknown key {key!r} = {value!r}; it may change the forward pass")
        if key in _NEUTRAL and value not in _NEUTRAL[key]:
            raise InputError("RV602", f"{where}: {key} = {value!r} is not implemented")
    for key in _NUMBERS:
        if key not in merged:
            raise InputError("RV602", f"{where}: the key {key!r} is missing")
    return _checked(merged, layout, where)


def _check_kinds(data: Mapping[str, Any], where: str) -> None:
    for key, (wanted, words) in _KINDS.items():
        value = data.get(key)
        if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
            raise InputError("RV602", f"{where}: {key} must be {words}, not {kind(value)}")


def _checked(data: dict[str, Any], layout: str, where: str) -> Eagle3Config:
    def number(key: str, otherwise: Any = None) -> int:
        value = data.get(key)
        value = otherwise if value is None else value
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError("RV602", f"{where}: {key} must be a positive integer, not {value!r}")
        return value

    def positive(key: str, value: Any, otherwise: float) -> float:
        value = otherwise if value is None else value
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise InputError("RV602", f"{where}: {key} must be a positive number, not {value!r}")
        return float(value)

    hidden, heads = number("hidden_size"), number("num_attention_heads")
    vocab = number("target_vocab_size", data["vocab_size"])
    if data.get("head_dim") is None and hidden % heads:
        raise InputError("RV602", f"{where}: hidden_size {hidden} is no multiple of num_attention_heads {heads}")
    kv_heads = number("num_key_value_heads", heads)
    if heads % kv_heads:
        raise InputError("RV602", f"{where}: num_attention_heads {heads} is no multiple of num_key_value_heads")
    draft_vocab = number("draft_vocab_size", vocab)
    if draft_vocab > vocab:
        raise InputError("RV602", f"{where}: draft_vocab_size {draft_vocab} exceeds the target's vocabulary {vocab}")
    head_dim = number("head_dim", hidden // heads)
    if head_dim % 2:
        raise InputError("RV602", f"{where}: head_dim {head_dim} is odd; rotary positions need halves")
    rope = data.get("rope_parameters") or {}
    if rope.get("rope_type", "default") != "default":
        raise InputError("RV602", f"{where}: rope_parameters.rope_type = {rope['rope_type']!r} is not implemented")
    theta = rope.get("rope_theta") if data.get("rope_theta") is None else data["rope_theta"]
    return Eagle3Config(
        hidden=hidden,
        intermediate=number("intermediate_size"),
        heads=heads,
        key_value_heads=kv_heads,
        head_dim=head_dim,
        vocab=vocab,
        draft_vocab=draft_vocab,
        target_hidden=number("target_hidden_size", hidden),
        eps=positive("rms_norm_eps", data.get("rms_norm_eps"), 1e-6),
        theta=positive("rope_theta", theta, 10000.0),
        layout=layout,
        layers=_layers(data, where),
    )


def _layers(data: Mapping[str, Any], where: str) -> tuple[int, int, int] | None:
    """Stated captured layers. Both projects number layer *outputs*; hidden state i+1 is the output of layer i."""
    stated = data.get("eagle_aux_hidden_state_layer_ids")
    if stated is None:
        stated = (data.get("eagle_config") or {}).get("eagle_aux_hidden_state_layer_ids")
    if stated is None:
        return None
    if not isinstance(stated, list) or len(stated) != 3 or not all(type(it) is int for it in stated):
        raise InputError("RV602", f"{where}: eagle_aux_hidden_state_layer_ids must be three integers, not {stated!r}")
    low, middle, high = (it + 1 for it in stated)
    return low, middle, high
