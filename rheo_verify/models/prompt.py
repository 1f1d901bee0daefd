"""A prompt's text as a target's tokens: by the tokenizer in its folder, or as bytes where there can be none."""

from __future__ import annotations

from pathlib import Path

from rheo_verify.errors import InputError
from rheo_verify.models.llama_checkpoint import last_lines, read_target_config
from rheo_verify.models.torch_setup import torch_and_transformers

BYTES = 256
_FILES = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json")


def read_as_bytes(folder: str | Path) -> bool:
    """Whether a target's tokens are bytes: its folder has no tokenizer, and its vocabulary is of 256 tokens.

    Raises `InputError` RV601 where there is no tokenizer and the vocabulary is another, and as `read_target_config`.
    """
    path = Path(folder)
    if not path.is_dir() or not (path / "config.json").is_file() or any((path / name).exists() for name in _FILES):
        return False
    vocab = read_target_config(path)["vocab_size"]
    if vocab == BYTES:
        return True
    missing = f"{path}: there is no tokenizer ({' or '.join(_FILES[:2])}) to turn the prompt into tokens"
    raise InputError("RV601", f"{missing}; copy the target's own there (without one, {BYTES} tokens are read as bytes)")


def prompt_tokens(folder: str | Path, text: str) -> list[int]:
    """The tokens of a text, after the target's `bos_token_id` where they are bytes. Raises `InputError` RV601."""
    if read_as_bytes(folder):
        first = read_target_config(Path(folder)).get("bos_token_id")
        known = isinstance(first, int) and not isinstance(first, bool) and 0 <= first < BYTES
        return [*([first] if known else []), *text.encode()]
    _, transformers = torch_and_transformers()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return [int(token) for token in tokenizer(text)["input_ids"]]
    except Exception as error:
        raise InputError("RV601", f"{folder}: the tokenizer cannot be loaded ({last_lines(error)})") from None
