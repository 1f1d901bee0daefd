"""What a checkpoint folder is, and whether a target and a head fit. Of a target's weights only the headers are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheo_verify.errors import CannotRun, InputError, RheoVerifyError
from rheo_verify.models.eagle3_checkpoint import canonical_name, check_keys, is_eagle3, target_ids
from rheo_verify.models.eagle3_config import Eagle3Config, read_config
from rheo_verify.models.llama import captured_layers
from rheo_verify.models.llama_checkpoint import check_target, read_target_config
from rheo_verify.models.table_file import read_json
from rheo_verify.models.tensor_files import read_tensors
from rheo_verify.words import count


@dataclass(frozen=True)
class Inspection:
    """What was found: `kind` in words, facts as (name, value), and what is wrong, if anything."""

    path: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]
    vocab: int | None = None
    hidden: int | None = None
    layers: int | None = None
    head: Eagle3Config | None = None
    own_embedding: bool = True


def inspect_folder(path: str | Path) -> Inspection:
    """Read a folder (or a `.gguf` file). Raises `InputError` RV601 when there is nothing to read."""
    folder = Path(path)
    if folder.suffix == ".gguf" and folder.is_file():
        size = f"{folder.stat().st_size / 2**20:,.1f} MB"
        return Inspection(str(path), "a GGUF file", (("size", size), ("loading", "through transformers")), ())
    if not folder.is_dir():
        raise InputError("RV601", f"{path}: there is no such folder")
    if not (folder / "config.json").is_file():
        raise InputError("RV601", f"{path}: there is no config.json")
    return _head(folder) if is_eagle3(folder) else _target(folder)


def misfit(target: Inspection, head: Inspection) -> str | None:
    """Why a head does not work with a target, as far as their configurations tell; None if it does."""
    c = head.head
    if c is None or target.head is not None:
        return f"{head.path} is not a head" if c is None else f"{target.path} is not a target"
    if target.vocab is None:
        return None
    if c.vocab != target.vocab:
        return f"vocab_size is {c.vocab} in the head and {target.vocab} in the target"
    if c.target_hidden != target.hidden:
        return f"the head takes hidden states of {c.target_hidden}, the target's hidden_size is {target.hidden}"
    if not head.own_embedding and c.hidden != target.hidden:
        return f"the head shares the target's embedding, but its hidden_size is {c.hidden}, not {target.hidden}"
    if c.layers is not None and target.layers is not None and not all(0 < it < target.layers for it in c.layers):
        return f"the head reads hidden states {c.layers} of a target of {count(target.layers, 'layer')}"
    return None


def _head(folder: Path) -> Inspection:
    data: Any = read_json(folder / "config.json", "RV601")
    try:
        config = read_config(data, f"{folder}/config.json")
        tensors = {canonical_name(key): value for key, value in read_tensors(folder).items()}
        check_keys(config, tensors, str(folder))
        target_ids(config, tensors, str(folder))
    except CannotRun:
        raise
    except RheoVerifyError as error:
        return Inspection(str(folder), "an EAGLE-3 head that cannot be used", (), (str(error),))
    own = "embed_tokens.weight" in tensors
    parameters = sum(value.numel() for value in tensors.values() if value.is_floating_point())
    layers = "2, L/2, L-3 (not stated)" if config.layers is None else ", ".join(map(str, config.layers))
    facts = (
        ("layout", config.layout),
        ("hidden size", f"{config.hidden} (from target hidden states of {config.target_hidden})"),
        (
            "attention",
            f"{count(config.heads, 'head')}, {count(config.key_value_heads, 'key/value head')} of {config.head_dim}",
        ),
        ("vocabulary", f"{count(config.draft_vocab, 'draft token')} of {config.vocab:,}"),
        ("rotary theta", f"{config.theta:g}"),
        ("captured hidden states", layers),
        ("embedding", "its own" if own else "shared with the target"),
        ("parameters", f"{parameters:,}, {str(tensors['fc.weight'].dtype).removeprefix('torch.')}"),
    )
    return Inspection(str(folder), "an EAGLE-3 head", facts, (), config.vocab, config.hidden, 1, config, own)


def _target(folder: Path) -> Inspection:
    cannot = "a Llama target that cannot be used"
    try:
        data = read_target_config(folder)
    except RheoVerifyError as error:
        return Inspection(str(folder), cannot, (), (str(error),))
    faults = []
    try:
        check_target(folder)
    except CannotRun:
        raise
    except RheoVerifyError as error:
        faults.append(str(error))
    layers, vocab, hidden = data["num_hidden_layers"], data["vocab_size"], data["hidden_size"]
    try:
        captured = ", ".join(map(str, captured_layers(layers)))
    except InputError as error:
        captured = "none"
        faults.append(str(error))
    files = sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")])
    facts = (
        ("layers", f"{layers}, hidden size {hidden}"),
        ("attention", f"{count(data['num_attention_heads'], 'head')}"),
        ("vocabulary", f"{count(vocab, 'token')}"),
        ("captured hidden states", captured),
        ("weights", f"{count(len(files), 'file')}, {sum(it.stat().st_size for it in files) / 2**20:,.1f} MB"),
    )
    kind = cannot if faults else "a Llama target"
    return Inspection(str(folder), kind, facts, tuple(faults), vocab, hidden, layers)
