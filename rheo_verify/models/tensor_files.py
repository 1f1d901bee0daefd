"""The tensors of a checkpoint folder: one `.safetensors`, shards with their index, or `pytorch_model.bin`.

Whole, or only the shape and the type of each.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rheo_verify.errors import InputError, not_installed
from rheo_verify.models.table_file import read_json

Tensor = Any
SINGLE, INDEX, PICKLED = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
PICKLED_INDEX = "pytorch_model.bin.index.json"
Form = tuple[tuple[int, ...], str]
"""A shape, and the name of a type."""
_FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors by name, on the CPU. Raises `InputError` RV601 that names the file, and the shard or key at fault."""
    if (folder / SINGLE).is_file():
        return _safe(folder / SINGLE)
    if (folder / INDEX).is_file():
        return _sharded(folder, INDEX, _safe)
    if (folder / PICKLED).is_file():
        return _pickled(folder / PICKLED)
    raise InputError("RV601", f"{folder}: there is none of {SINGLE}, {INDEX}, {PICKLED}")


def read_forms(folder: Path) -> dict[str, Form]:
    """Shape and type of every tensor by name; no data is read. Sharded `.bin` files, too. Raises as `read_tensors`."""
    if (folder / SINGLE).is_file():
        return _safe_forms(folder / SINGLE)
    if (folder / INDEX).is_file():
        return _sharded(folder, INDEX, _safe_forms)
    if (folder / PICKLED).is_file():
        return _pickled_forms(folder / PICKLED)
    if (folder / PICKLED_INDEX).is_file():
        return _sharded(folder, PICKLED_INDEX, _pickled_forms)
    raise InputError("RV601", f"{folder}: there is none of {SINGLE}, {INDEX}, {PICKLED}, {PICKLED_INDEX}")


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


def _safe_forms(path: Path) -> dict[str, Form]:
    try:
        from safetensors import safe_open
    except ImportError as error:
        raise not_installed(error.name, "torch") from None
    try:
        with safe_open(str(path), "pt") as file:
            keys = list(file.keys())
            return {key: _form(file.get_slice(key)) for key in keys}
    except Exception as error:
        raise InputError("RV601", f"{path}: cannot be read as safetensors ({error})") from None


def _form(piece: Any) -> Form:
    kind = str(piece.get_dtype())
    return tuple(piece.get_shape()), _FLOATS.get(kind, kind)


def _sharded(folder: Path, name: str, read: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    index = read_json(folder / name, "RV601")
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict):
        raise InputError("RV601", f"{folder / name}: has no weight_map")
    for key, shard in places.items():
        if not isinstance(shard, str) or Path(shard).name != shard:
            raise InputError("RV601", f"{folder / name}: {key} is said to be in {shard!r}, which is no file beside it")
    found: dict[str, Any] = {}
    for shard in sorted(set(places.values())):
        if not (folder / shard).is_file():
            raise InputError("RV601", f"{folder}: the shard {shard} is missing")
        found.update(read(folder / shard))
    for key in places:
        if key not in found:
            raise InputError("RV601", f"{folder}: {key} stands in the index but in no shard")
    return found


def _pickled_forms(path: Path) -> dict[str, Form]:
    found = _pickled(path, "meta")
    return {key: (tuple(it.shape), str(it.dtype).removeprefix("torch.")) for key, it in found.items()}


def _pickled(path: Path, device: str = "cpu") -> dict[str, Tensor]:
    try:
        import torch
    except ImportError as error:
        raise not_installed(error.name, "torch") from None
    try:
        loaded = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise InputError("RV601", f"{path}: cannot be read ({error})") from None
    if not isinstance(loaded, dict) or not all(isinstance(it, torch.Tensor) for it in loaded.values()):
        raise InputError("RV601", f"{path}: is not a dictionary of tensors")
    return dict(loaded)
