"""The toy models that come with the project, by name: `toy_models/` in a checkout, the same folder in a wheel."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "toy_models", _PACKAGE.parent / "toy_models")


def shipped_models() -> dict[str, Path]:
    """Name to path, e.g. ``table-1``."""
    return {path.stem: path for folder in _FOLDERS if folder.is_dir() for path in sorted(folder.glob("*.json"))}


def find_model(name: str) -> Path:
    """A path as it is, or the shipped model of that name when there is no such file."""
    path = Path(name)
    return path if os.path.exists(path) or name not in shipped_models() else shipped_models()[name]


def shipped_pairs() -> dict[str, Path]:
    """Name to folder of the real pairs, each with `target/` and `head/`, e.g. ``byte-llama``."""
    found = (path.parent.parent for folder in _FOLDERS for path in sorted(folder.glob("*/head/config.json")))
    return {path.name: path for path in found}
