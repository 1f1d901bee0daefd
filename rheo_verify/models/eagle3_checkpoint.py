"""Reading an EAGLE-3 head from a local folder: both layouts, every key accounted for, every refusal by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.models.eagle3_config import Eagle3Config, read_config
from rheo_verify.models.eagle3_head import Eagle3Head
from rheo_verify.models.table_file import read_json
from rheo_verify.models.tensor_files import read_tensors
from rheo_verify.models.torch_setup import DTYPES

Tensor = Any
_EMBEDDING = "embed_tokens.weight"
_MAPS = ("d2t", "t2d")


def shapes(config: Eagle3Config) -> dict[str, tuple[int, ...]]:
    """Every weight of a head and its shape, maps and embedding aside."""
    h, f, d = config.hidden, config.intermediate, config.head_dim
    attention, mlp = "midlayer.self_attn.", "midlayer.mlp."
    return {
        "fc.weight": (h, 3 * config.target_hidden),
        attention + "q_proj.weight": (config.heads * d, 2 * h),
        attention + "k_proj.weight": (config.key_value_heads * d, 2 * h),
        attention + "v_proj.weight": (config.key_value_heads * d, 2 * h),
        attention + "o_proj.weight": (h, config.heads * d),
        mlp + "gate_proj.weight": (f, h),
        mlp + "up_proj.weight": (f, h),
        mlp + "down_proj.weight": (h, f),
        "midlayer.hidden_norm.weight": (h,),
        "midlayer.input_layernorm.weight": (h,),
        "midlayer.post_attention_layernorm.weight": (h,),
        "norm.weight": (h,),
        "lm_head.weight": (config.draft_vocab, h),
    }


def is_eagle3(folder: str | Path) -> bool:
    """Whether a folder's configuration looks like a head's rather than a whole model's."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        return False
    data = read_json(path, "RV601")
    if not isinstance(data, dict):
        return False
    keys = ("draft_vocab_size", "transformer_layer_config")
    return "Eagle3" in str(data.get("architectures")) or any(key in data for key in keys)


def load_head(
    folder: str | Path, *, target_embedding: Tensor | None = None, dtype: Any = None, device: Any = "cpu"
) -> Eagle3Head:
    """A head from a folder with `config.json` and its weights (`.safetensors`, sharded or not, or `pytorch_model.bin`).

    `target_embedding` [V, H] is used when the checkpoint has no `embed_tokens.weight`. `dtype` None keeps the file's.
    Raises `InputError`: RV601 unreadable, RV602 configuration, RV603 keys and shapes, RV604 vocabulary maps.
    """
    import torch

    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise InputError("RV601", f"{folder}: there is no config.json")
    data = read_json(folder / "config.json", "RV601")
    if not isinstance(data, dict):
        raise InputError("RV602", f"{folder}/config.json: must be one JSON object")
    config = read_config(data, f"{folder}/config.json")
    tensors = {canonical_name(key): value for key, value in read_tensors(folder).items()}
    check_keys(config, tensors, str(folder))
    to_target, order = target_ids(config, tensors, str(folder)).sort()
    tensors["lm_head.weight"] = tensors["lm_head.weight"][order]  # draft ids in the order of target ids: so go ties
    own = _EMBEDDING in tensors
    if not own:
        if target_embedding is None:
            raise InputError("RV603", f"{folder}: {_EMBEDDING} is missing and no target is given to share it with")
        if tuple(target_embedding.shape) != (config.vocab, config.hidden):
            found = tuple(target_embedding.shape)
            expected = (config.vocab, config.hidden)
            raise InputError("RV605", f"{folder}: the target's embedding is {found}, the head needs {expected}")
        tensors[_EMBEDDING] = target_embedding
    dtype = dtype or tensors["fc.weight"].dtype
    weights = {key: value.to(device, dtype) for key, value in tensors.items() if key not in _MAPS}
    return Eagle3Head(config, weights, to_target.to(device, torch.int64), own, str(folder))


def check_keys(config: Eagle3Config, tensors: dict[str, Tensor], where: str) -> None:
    """Raises `InputError` RV603 for a missing, unknown or wrongly shaped weight, of another type, or not finite."""
    expected = shapes(config)
    for key in expected:
        if key not in tensors:
            raise InputError("RV603", f"{where}: the weight {key!r} is missing")
    for key in sorted(tensors, key=[*expected, *tensors].index):
        value = tensors[key]
        if key not in expected and key not in (*_MAPS, _EMBEDDING):
            raise InputError("RV603", f"{where}: unknown weight {key!r}; what it would do is not implemented")
        wanted = (
            expected.get(key)
            or {
                _EMBEDDING: (config.vocab, config.hidden),
                "d2t": (config.draft_vocab,),
                "t2d": (config.vocab,),
            }[key]
        )
        if tuple(value.shape) != wanted:
            raise InputError("RV603", f"{where}: {key} has shape {tuple(value.shape)}, the configuration says {wanted}")
        kind = str(value.dtype).removeprefix("torch.")
        if key not in _MAPS and kind not in DTYPES:
            raise InputError("RV603", f"{where}: {key} is of type {kind}, not one of {', '.join(DTYPES)}")
        if key not in _MAPS and not bool(value.isfinite().all()):
            raise InputError("RV603", f"{where}: {key} holds values that are not finite")


def target_ids(config: Eagle3Config, tensors: dict[str, Tensor], where: str) -> Tensor:
    """`d2t` made absolute: target id of each draft id, [V'] (the file holds offsets). Raises `InputError` RV604."""
    import torch

    identity = torch.arange(config.draft_vocab)
    if "d2t" not in tensors:
        if config.draft_vocab != config.vocab:
            sizes = f"{config.draft_vocab} draft tokens of {config.vocab}"
            raise InputError("RV604", f"{where}: d2t is missing, but the head has {sizes}")
        return identity
    offsets = tensors["d2t"]
    if offsets.dtype not in (torch.int64, torch.int32):
        raise InputError("RV604", f"{where}: d2t must hold integers, not {offsets.dtype}")
    ids = identity + offsets.to("cpu", torch.int64)
    outside = ((ids < 0) | (ids >= config.vocab)).nonzero().flatten().tolist()
    if outside:
        raise InputError("RV604", f"{where}: d2t[{outside[0]}] leads to token {int(ids[outside[0]])}, not in 0…V-1")
    if len(ids.unique()) != len(ids):
        values, counts = ids.unique(return_counts=True)
        twice = int(values[counts > 1][0])
        raise InputError("RV604", f"{where}: d2t is not injective: token {twice} has two draft ids")
    if "t2d" in tensors:
        member = torch.zeros(config.vocab, dtype=torch.bool)
        member[ids] = True
        wrong = (member != tensors["t2d"].to("cpu").bool()).nonzero().flatten().tolist()
        if wrong:
            raise InputError("RV604", f"{where}: t2d[{wrong[0]}] disagrees with d2t")
    return ids


def canonical_name(key: str) -> str:
    """The SafeAILab name of a weight in either layout."""
    key = key.removeprefix("model.")
    return "midlayer." + key.removeprefix("layers.0.") if key.startswith("layers.0.") else key
