"""The tensors of a checkpoint folder: one `.safetensors`, shards with their index, or `pytorch_model.bin`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rheo_verify.errors import InputError, not_installed
from rheo_verify.models.table_file import read_json

Tensor = Any
SINGLE, INDEX, PICKLED = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors by name, on the CPU. Raises `InputError` RV601 that names the file, and the shard or key at fault."""
    if (folder / SINGLE).is_file():
        return _safe(folder / SINGLE)
    if (folder / INDEX).is_file():
        return _sharded(folder)
    if (folder / PICKLED).is_file():
        return _pickled(folder / PICKLED)
    raise InputError("RV601", f"{folder}: there is none of {SINGLE}, {INDEX}, {PICKLED}")


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write one `.safetensors` file."""
    from safetensors.torch import save_file

    save_file({key: value.contiguous() for key, value in tensors.items()}, str(path), metadata={"format": "pt"})


def _safe(path: Path) -> dict[str, Tensor]:
    try:
        from safetensors.torch import load_file
    except ImportError as error:
        raise not_installed(error.name, "torch") from None
    try:
        return dict(load_file(str(path)))
    except Exception as error:
        raise InputError("RV601", f"{path}: cannot be read as safetensors ({error})") from None


def _sharded(folder: Path) -> dict[str, Tensor]:
    index = read_json(folder / INDEX, "RV601")
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict):
        raise InputError("RV601", f"{folder / INDEX}: has no weight_map")
    for key, shard in places.items():
        if not isinstance(shard, str) or Path(shard).name != shard:
            raise InputError("RV601", f"{folder / INDEX}: {key} is said to be in {shard!r}, which is no file beside it")
    found: dict[str, Tensor] = {}
    for shard in sorted(set(places.values())):
        if not (folder / shard).is_file():
            raise InputError("RV601", f"{folder}: the shard {shard} is missing")
        found.update(_safe(folder / shard))
    for key in places:
        if key not in found:
            raise InputError("RV601", f"{folder}: {key} stands in the index but in no shard")
    return found


def _pickled(path: Path) -> dict[str, Tensor]:
    try:
        import torch
    except ImportError as error:
        raise not_installed(error.name, "torch") from None
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError("RV601", f"{path}: cannot be read ({error})") from None
    if not isinstance(loaded, dict) or not all(isinstance(it, torch.Tensor) for it in loaded.values()):
        raise InputError("RV601", f"{path}: is not a dictionary of tensors")
    return dict(loaded)
