"""Toy models as JSON files (format: docs/reference/model-files.md).

Keys: `vocab`, `target`, `draft`, optional `sampling_draft` and `tokens`. A table is one context-free row, or an
object from context (`""`, `"0"`, `"0 2"`: token ids) to row. A row holds integers (weights) or strings (``"3/10"``).
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.models.model import Context, Model, NextToken, token_names
from rheo_verify.probability.distributions import Row, distribution
from rheo_verify.words import count

MOST_DIGITS = 1_000
LARGEST_FILE = 32 * 2**20
TABLES = ("target", "draft", "sampling_draft")
KEYS = ("vocab", "tokens", *TABLES)


def load_model(path: str | Path) -> Model:
    """Read and check a model file. Every fault is an `InputError` (RV101 to RV104) that names the place."""
    return load_model_and_digest(path)[0]


def load_model_and_digest(path: str | Path) -> tuple[Model, str]:
    """The model and its file's `digest`, from one reading: a pipe can be read only once."""
    content = read_file(path, "RV103")
    return model_from_data(parse_json(content, path, "RV103"), source=str(path)), digest(content)


def read_json(path: str | Path, code: str = "RV103") -> Any:
    """Read a JSON file strictly: at most 32 MB, UTF-8, no duplicate keys. Raises `InputError` with this code."""
    return parse_json(read_file(path, code), path, code)


def digest(content: bytes) -> str:
    """Eight hex digits of a file's SHA-256, by which a replay string recognises the file it was made from."""
    return hashlib.sha256(content).hexdigest()[:8]


def read_file(path: str | Path, code: str = "RV103") -> bytes:
    """What is in a file of at most 32 MB. Raises `InputError` with this code."""
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise InputError(code, f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(content) > LARGEST_FILE:
        raise InputError(code, f"{path}: is larger than {LARGEST_FILE // 2**20} MB, the most that is read")
    return content


def parse_json(content: bytes, path: str | Path, code: str) -> Any:
    """Strictly: UTF-8, no duplicate keys. Raises `InputError` with this code, which names the source: `path`."""
    try:
        written = content.decode("utf-8-sig")
        return json.loads(written, object_pairs_hook=_no_duplicates, parse_int=integer)
    except UnicodeDecodeError as error:
        raise InputError(code, f"{path}: is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        ended = "; the file ends there: is it truncated?" if error.pos >= len(written.rstrip()) else ""
        raise InputError(code, f"{path}: is not JSON from {where} on{ended}") from None
    except RecursionError:
        raise InputError(code, f"{path}: is nested too deeply") from None
    except ValueError as error:
        raise InputError(code, f"{path}: {error}") from None


def model_from_data(data: Any, source: str = "data") -> Model:
    """A model from what a file holds (see the module). Unknown keys are ignored unless they look misspelt."""
    if not isinstance(data, Mapping):
        raise InputError("RV104", f"{source}: a model is a JSON object with the keys {', '.join(KEYS)}")
    for key in data:
        close = difflib.get_close_matches(str(key), KEYS, n=1, cutoff=0.8)
        if key not in KEYS and close:
            raise InputError("RV104", f"{source}: unknown key {key!r}; did you mean {close[0]!r}?")
    for key in ("target", "draft"):
        if key not in data:
            raise InputError("RV104", f"{source}: the key {key!r} is missing")
    vocab = _vocab(data, source)
    tables = {key: _table(data[key], vocab, key, source) for key in TABLES if key in data}
    return Model(
        vocab=vocab,
        target=tables["target"],
        draft=tables["draft"],
        sampling_draft=tables.get("sampling_draft", tables["draft"]),
        tokens=_names(data.get("tokens"), vocab, source),
        source=source,
        tabled=isinstance(data["target"], Mapping),
    )


def kind(value: Any) -> str:
    """What JSON calls a value."""
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    return "null" if value is None else kinds.get(type(value), "a number")


def integer(digits: str) -> int:
    """An integer of a JSON file, for `parse_int`: reading one of a million digits would take hours."""
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"an integer has {len(digits):,} digits, more than the {MOST_DIGITS:,} that are read")
    return int(digits)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _vocab(data: Mapping[str, Any], source: str) -> int:
    vocab = data.get("vocab")
    if vocab is None and isinstance(data["target"], list):
        vocab = len(data["target"])
    if not isinstance(vocab, int) or isinstance(vocab, bool) or vocab < 1:
        raise InputError("RV104", f"{source}: vocab must be a positive integer, not {vocab!r}")
    return vocab


def _names(names: Any, vocab: int, source: str) -> tuple[str, ...]:
    if names is None:
        return token_names(vocab)
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise InputError("RV104", f"{source}: tokens must be a list of names, none of them empty")
    unprintable = [name for name in names if not name.isprintable() or name.isspace()]
    if unprintable:
        raise InputError("RV104", f"{source}: the token name {unprintable[0]!r} cannot be printed")
    if len(names) != vocab or len(set(names)) != vocab:
        raise InputError(
            "RV104", f"{source}: tokens must be {count(vocab, 'different name')}, not {count(len(names), 'name')}"
        )
    return tuple(names)


def _table(data: Any, vocab: int, key: str, source: str) -> NextToken:
    if isinstance(data, list):
        row = _row(data, vocab, f"{source}: {key}")
        return lambda _: row
    if not isinstance(data, Mapping):
        raise InputError("RV104", f"{source}: {key} must be a row or an object from context to row")
    rows: dict[Context, Row] = {}
    for written, weights in data.items():
        where = f'{source}: {key}["{written}"]'
        context = _context(written, vocab, where)
        if context in rows:
            raise InputError("RV104", f"{where}: this context stands twice")
        rows[context] = _row(weights, vocab, where)

    def row_of(context: Context) -> Row:
        try:
            return rows[context]
        except KeyError:
            written = " ".join(map(str, context))
            message = f'{source}: {key} has no row for the context "{written}", which is needed'
            raise InputError("RV105", message) from None

    return row_of


def _context(written: str, vocab: int, where: str) -> Context:
    tokens = []
    for word in written.split():
        token = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else -1
        if str(token) != word or not 0 <= token < vocab:
            raise InputError("RV104", f"{where}: unknown token {word!r}; the tokens are 0 to {vocab - 1}")
        tokens.append(token)
    return tuple(tokens)


def _row(weights: Any, vocab: int, where: str) -> Row:
    if not isinstance(weights, list):
        raise InputError("RV104", f"{where}: a row is a list of {count(vocab, 'weight')}, not {kind(weights)}")
    if len(weights) != vocab:
        raise InputError(
            "RV104", f"{where}: a row has {count(vocab, 'weight')}, one a token, but this one has {len(weights)}"
        )
    return distribution(weights, where)
