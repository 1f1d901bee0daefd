"""Whether a Llama target's folder holds what its configuration says: sizes, names, shapes, before a weight is read.

The expected weights are those of transformers' own `LlamaForCausalLM`, built from the configuration without storage.
"""

from __future__ import annotations

import re
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.models.table_file import kind, read_json
from rheo_verify.models.tensor_files import read_forms
from rheo_verify.models.torch_setup import DTYPES, torch_and_transformers

MOST = {
    "vocab_size": 2**24,
    "hidden_size": 2**18,
    "intermediate_size": 2**20,
    "num_hidden_layers": 1_000,
    "num_attention_heads": 2**12,
    "num_key_value_heads": 2**12,
    "head_dim": 2**14,
    "max_position_embeddings": 2**40,
}
"""Sizes of a configuration, and the most that each may be."""
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("attention_bias", "mlp_bias", "tie_word_embeddings", "use_cache"), ((bool,), "true or false")),
    **dict.fromkeys(("rope_parameters", "rope_scaling"), ((dict,), "an object")),
    **dict.fromkeys(("attention_dropout", "initializer_range"), ((int, float), "a number")),
    **dict.fromkeys(("hidden_act", "transformers_version", "dtype", "torch_dtype"), ((str,), "a name")),
    "pretraining_tp": ((int,), "an integer"),
}
_NEEDED = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
_ROTARY = ("rope_theta", "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
_MAY_BE_NULL = ("num_key_value_heads", "head_dim")
_TIED = ("model.embed_tokens.weight", "lm_head.weight")
_FIELD = re.compile(r"error for field '(\w+)':\s*(?:\w+Error: (Value must be .*))?")
_NO_WEIGHT = ".rotary_emb.inv_freq"


def check_target(folder: Path) -> dict[str, Any]:
    """The configuration of a folder whose weights are all there, in their shapes and in a type that is computed in.

    Reads `config.json` and the headers of the weights. Raises `InputError`: RV601 unreadable, RV602 configuration,
    RV603 weights; `CannotRun` RV600.
    """
    data = read_target_config(folder)
    found = read_forms(folder)
    expected = target_shapes(folder)
    names = {_name(key, expected): key for key in found}
    tied = {key for key in _TIED if data.get("tie_word_embeddings") and not names.keys().isdisjoint(_TIED)}
    for key, shape in expected.items():
        if key not in names:
            if key in tied:
                continue
            asked = f"config.json asks for one of shape {shape}"
            raise InputError("RV603", f"{folder}: the weight {key!r} is missing; {asked}")
        stored, stored_as = found[names[key]]
        if stored != shape:
            raise InputError("RV603", f"{folder}: {key} has shape {stored}, config.json says {shape}")
        if stored_as not in DTYPES:
            raise InputError("RV603", f"{folder}: {key} is of type {stored_as}, not one of {', '.join(DTYPES)}")
    for name, key in names.items():
        if name not in expected and not name.endswith(_NO_WEIGHT):
            raise InputError("RV603", f"{folder}: unknown weight {key!r}; config.json asks for none of that name")
    return data


def read_target_config(folder: Path) -> dict[str, Any]:
    """What `config.json` of a target says, its sizes checked. Raises `InputError` RV601, RV602 that names the key."""
    where = f"{folder}/config.json"
    data = read_json(folder / "config.json", "RV601")
    if not isinstance(data, dict):
        raise InputError("RV602", f"{where}: must be one JSON object")
    if data.get("model_type", "llama") != "llama":
        raise InputError("RV602", f"{where}: model_type is {_short(data['model_type'])}, not 'llama'")
    names = data.get("architectures") or ["LlamaForCausalLM"]
    if names != ["LlamaForCausalLM"]:
        raise InputError("RV602", f"{where}: architectures {_short(names)} is not one LlamaForCausalLM")
    if "draft_vocab_size" in data:
        raise InputError("RV602", f"{where}: draft_vocab_size says that this is a drafting head")
    if data.get("quantization_config") is not None:
        raise InputError("RV602", f"{where}: quantization_config: quantized weights are not implemented")
    for key, (kinds, words) in _KINDS.items():
        value = data.get(key)
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            raise InputError("RV602", f"{where}: {key} must be {words}, not {kind(value)}")
    _check_sizes(data, where)
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        value = data.get(key)
        ids = value if isinstance(value, list) and key == "eos_token_id" else [value]
        if not all(it is None or (type(it) is int and abs(it) < 2**31) for it in ids):
            raise InputError("RV602", f"{where}: {key} must be a token id, not {_short(value)}")
    for key in ("dtype", "torch_dtype"):
        if data.get(key) is not None and data[key].removeprefix("torch.") not in DTYPES:
            raise InputError("RV602", f"{where}: {key} is {_short(data[key])}, not one of {', '.join(DTYPES)}")
    _check_positive(
        data, ("rms_norm_eps",) if data.get("rope_theta") is None else ("rms_norm_eps", "rope_theta"), where
    )
    for key in ("rope_parameters", "rope_scaling"):
        _check_positive(data.get(key) or {}, _ROTARY, f"{where}: {key}")
    return data


def target_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Every weight of `LlamaForCausalLM` and its shape, for a folder whose configuration was read already.

    Raises `InputError` RV602 with the words of transformers where it refuses the configuration.
    """
    torch, transformers = torch_and_transformers()
    where = f"{folder}/config.json"
    try:
        with redirect_stderr(StringIO()):
            config = transformers.LlamaConfig.from_pretrained(folder, local_files_only=True)
            _check_names(config, where)
            with torch.device("meta"):
                network = transformers.LlamaForCausalLM(config)
    except InputError:
        raise
    except Exception as error:
        raise InputError("RV602", f"{where}: {_refused(error)}") from None
    return {key: tuple(value.shape) for key, value in network.state_dict().items()}


def last_lines(error: Exception, most: int = 3) -> str:
    """The last lines of an error that are not empty, as one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[-most:]) or repr(error)


def _check_positive(data: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in keys:
        value = data.get(key)
        known = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18
        if key in data and not known:
            raise InputError("RV602", f"{where}: {key} must be a positive number, not {_short(value)}")


def _check_sizes(data: dict[str, Any], where: str) -> None:
    for key in _NEEDED:
        if key not in data:
            raise InputError("RV602", f"{where}: the key {key!r} is missing")
    for key, most in MOST.items():
        value = data.get(key)
        if key not in data or (value is None and key in _MAY_BE_NULL):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise InputError("RV602", f"{where}: {key} must be an integer from 1 to {most:,}, not {_short(value)}")
    hidden, heads = data["hidden_size"], data["num_attention_heads"]
    if data.get("head_dim") is None and hidden % heads:
        raise InputError("RV602", f"{where}: hidden_size {hidden} is no multiple of num_attention_heads {heads}")
    pairs = data.get("num_key_value_heads") or heads
    if heads % pairs:
        raise InputError("RV602", f"{where}: num_attention_heads {heads} is no multiple of num_key_value_heads {pairs}")
    size = data.get("head_dim") or hidden // heads
    if size % 2:
        raise InputError("RV602", f"{where}: head_dim {size} is odd; rotary positions need halves")


def _short(value: Any) -> str:
    written = repr(value)
    return written if len(written) <= 60 else f"{written[:60]}…"


def _refused(error: Exception) -> str:
    field = _FIELD.search(str(error))
    if field is None:
        return f"transformers refuses it: {last_lines(error)}"
    return f"transformers refuses {field[1]}: {field[2] or 'its value is of another type'}"


def _check_names(config: Any, where: str) -> None:
    """Names that transformers looks up in a table, and of which it would say no more than the name."""
    from transformers.activations import ACT2FN
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    if config.hidden_act not in ACT2FN:
        raise InputError(
            "RV602", f"{where}: hidden_act is {_short(config.hidden_act)}, which transformers does not know"
        )
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    name = rope.get("rope_type", rope.get("type", "default"))
    if name not in ("default", *ROPE_INIT_FUNCTIONS):
        raise InputError(
            "RV602", f"{where}: rotary positions are of type {_short(name)}, which transformers does not know"
        )


def _name(key: str, expected: dict[str, tuple[int, ...]]) -> str:
    """The name under which transformers takes a weight: with or without the prefix of the whole model."""
    for name in (key, f"model.{key}", key.removeprefix("model.")):
        if name in expected:
            return name
    return key
