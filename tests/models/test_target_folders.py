"""A target's folder: what is wrong in it is named before a weight is read, by `inspect` as by what loads it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

from rheo_verify.checks.inspection import inspect_folder
from rheo_verify.cli.main import run
from rheo_verify.errors import InputError
from rheo_verify.models.llama import load_target
from rheo_verify.models.llama_checkpoint import check_target, last_lines
from rheo_verify.models.tensor_files import read_forms, read_tensors, write_tensors
from tests.models.small import write_head, write_target

FIRST, NORM = "model.layers.0.self_attn.q_proj.weight", "model.norm.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_target(tmp_path / "target", num_hidden_layers=4)


def change_config(folder: Path, drop: tuple[str, ...] = (), **changes: Any) -> None:
    path = folder / "config.json"
    data = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in data.items() if key not in drop}))


def change_weights(folder: Path, change: Any) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    write_tensors(folder / "model.safetensors", tensors)


def refused(folder: Path, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By `inspect`, by `load_target` and by `empirical`, with the same words, and no weight read."""
    monkeypatch.setattr(transformers.LlamaForCausalLM, "from_pretrained", None)
    assert run(["inspect", str(folder)]) == 2
    out, err = capsys.readouterr()
    said = err.strip().removeprefix("rheo_verify inspect: ")
    assert "cannot be used" in out
    assert err.count("\n") == 1
    with pytest.raises(InputError, match=message) as caught:
        load_target(folder)
    assert said == str(caught.value)
    assert run(["empirical", "--target", str(folder), "--head", str(write_head(folder.parent / "head"))]) == 2
    assert capsys.readouterr().err.strip() == f"rheo_verify empirical: {said}"


def test_a_folder_that_is_right(folder: Path) -> None:
    assert inspect_folder(folder).faults == ()
    assert check_target(folder)["hidden_size"] == 32
    forms = {key: (tuple(it.shape), str(it.dtype)) for key, it in read_tensors(folder).items()}
    assert {key: (shape, f"torch.{kind}") for key, (shape, kind) in read_forms(folder).items()} == forms


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 64}, r"RV603.*embed_tokens\.weight has shape \(96, 32\), config\.json says \(96, 64\)"),
        ({"vocab_size": 97}, r"RV603.*embed_tokens\.weight has shape \(96, 32\), config\.json says \(97, 32\)"),
        ({"intermediate_size": 65}, r"RV603.*gate_proj\.weight has shape \(64, 32\), config\.json says \(65, 32\)"),
        ({"num_key_value_heads": 4}, r"RV603.*k_proj\.weight has shape \(16, 32\), config\.json says \(32, 32\)"),
        ({"num_attention_heads": 2, "head_dim": None}, r"RV603.*k_proj\.weight has shape \(16, 32\)"),
        ({"num_hidden_layers": 5}, r"RV603.*'model\.layers\.4\.\S+' is missing; config\.json asks for one of shape \("),
        ({"num_hidden_layers": 3}, r"RV603.*unknown weight 'model\.layers\.3\."),
        ({"attention_bias": True}, r"RV603.*'\S+_proj\.bias' is missing"),
        ({"num_hidden_layers": 0}, r"RV602.*num_hidden_layers must be an integer from 1 to 1,000, not 0"),
        ({"num_hidden_layers": -1}, r"RV602.*num_hidden_layers"),
        ({"num_hidden_layers": 10**9}, r"RV602.*num_hidden_layers .*, not 1000000000"),
        ({"hidden_size": 10**12}, r"RV602.*hidden_size"),
        ({"hidden_size": "32"}, r"RV602.*hidden_size .*, not '32'"),
        ({"hidden_size": 32.5}, r"RV602.*hidden_size"),
        ({"hidden_size": None}, r"RV602.*hidden_size"),
        ({"hidden_size": True}, r"RV602.*hidden_size"),
        ({"num_attention_heads": 0}, r"RV602.*num_attention_heads must be an integer from 1"),
        ({"num_attention_heads": 3, "head_dim": None}, r"RV602.*hidden_size 32 is no multiple of .*heads 3"),
        ({"num_key_value_heads": 3}, r"RV602.*num_attention_heads 4 is no multiple of num_key_value_heads 3"),
        ({"num_key_value_heads": 0}, r"RV602.*num_key_value_heads"),
        ({"head_dim": 7}, r"RV602.*head_dim 7 is odd"),
        ({"max_position_embeddings": "long"}, r"RV602.*max_position_embeddings"),
        ({"rms_norm_eps": -1}, r"RV602.*rms_norm_eps must be a positive number, not -1"),
        ({"rope_theta": "x"}, r"RV602.*rope_theta must be a positive number, not 'x'"),
        ({"hidden_act": "foo"}, r"RV602.*hidden_act is 'foo', which transformers does not know"),
        ({"rope_scaling": {"type": "foo", "factor": 2}}, r"RV602.*rotary positions are of type 'foo'"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": None}}, r"RV602.*rope_theta must be a positive"),
        ({"rope_parameters": [1]}, r"RV602.*rope_parameters must be an object, not a list"),
        ({"pad_token_id": 10**30}, r"RV602.*pad_token_id must be a token id, not 10000"),
        ({"bos_token_id": [1]}, r"RV602.*bos_token_id must be a token id"),
        ({"dtype": "int8"}, r"RV602.*dtype is 'int8', not one of float64"),
        ({"tie_word_embeddings": "no"}, r"RV602.*tie_word_embeddings must be true or false, not a string"),
        ({"quantization_config": {"quant_method": "gptq"}}, r"RV602.*quantization_config"),
        ({"architectures": ["MistralForCausalLM"]}, r"RV602.*MistralForCausalLM"),
        ({"attention_dropout": "x"}, r"RV602.*attention_dropout must be a number, not a string"),
    ],
    ids=str,
)
def test_configurations(folder: Path, changes: Any, message: str, capsys: Any, monkeypatch: Any) -> None:
    change_config(folder, **changes)
    refused(folder, message, capsys, monkeypatch)


def test_a_size_that_is_missing(folder: Path, capsys: Any, monkeypatch: Any) -> None:
    change_config(folder, drop=("hidden_size",))
    refused(folder, r"RV602.*the key 'hidden_size' is missing", capsys, monkeypatch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop(FIRST), rf"RV603.*'{FIRST}' is missing; config\.json asks for one of shape \(32, 32\)"),
        (lambda t: t.update({NORM: torch.ones(7)}), rf"RV603.*{NORM} has shape \(7,\), config\.json says \(32,\)"),
        (lambda t: t.update({NORM: torch.ones(32, dtype=torch.int32)}), rf"RV603.*{NORM} is of type I32"),
        (lambda t: t.update({NORM: t[NORM].to(torch.float8_e4m3fn)}), rf"RV603.*{NORM} is of type F8_E4M3"),
        (lambda t: t.update({"model.extra": torch.ones(3)}), r"RV603.*unknown weight 'model\.extra'"),
        (lambda t: t.pop("lm_head.weight"), r"RV603.*'lm_head\.weight' is missing"),
    ],
    ids=range(6),
)
def test_weights(folder: Path, change: Any, message: str, capsys: Any, monkeypatch: Any) -> None:
    change_weights(folder, change)
    refused(folder, message, capsys, monkeypatch)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda whole: b"",
        lambda whole: whole[:4],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: bytes(range(256)) * 20,
        lambda whole: struct.pack("<Q", 2**60) + whole[8:],
    ],
    ids=["empty", "four bytes", "half", "noise", "huge header"],
)
def test_files_that_are_damaged(folder: Path, spoil: Any, capsys: Any, monkeypatch: Any) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(spoil(path.read_bytes()))
    refused(folder, r"RV601.*model\.safetensors: cannot be read as safetensors", capsys, monkeypatch)


def test_a_folder_without_weights(folder: Path, capsys: Any, monkeypatch: Any) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, r"RV601.*there is none of model\.safetensors", capsys, monkeypatch)


def test_every_shard_is_looked_at(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    folder = write_target(tmp_path / "target", num_hidden_layers=4, max_shard_size="20KB")
    assert inspect_folder(folder).faults == ()
    last = max(folder.glob("model-*.safetensors"))
    whole = last.read_bytes()
    last.write_bytes(whole[:-1])
    refused(folder, rf"RV601.*{last.name}: cannot be read as safetensors", capsys, monkeypatch)
    last.unlink()
    refused(folder, rf"RV601.*the shard {last.name} is missing", capsys, monkeypatch)


@pytest.mark.parametrize("sharded", [False, True])
def test_pickled_weights(folder: Path, sharded: bool, capsys: Any, monkeypatch: Any) -> None:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    name = "part.bin" if sharded else "pytorch_model.bin"
    torch.save(tensors, folder / name)
    if sharded:
        places = {"metadata": {}, "weight_map": dict.fromkeys(tensors, name)}
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps(places))
    assert inspect_folder(folder).faults == ()
    assert load_target(folder).vocab == 96
    torch.save(tensors | {NORM: torch.ones(7)}, folder / name)
    refused(folder, rf"RV603.*{NORM} has shape \(7,\)", capsys, monkeypatch)


def as_the_inner_network(tensors: dict[str, Any]) -> None:
    """The names under which `LlamaModel` alone is saved."""
    tensors.pop("lm_head.weight", None)
    for key in list(tensors):
        tensors[key.removeprefix("model.")] = tensors.pop(key)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: None,
        lambda t: t.pop("lm_head.weight", None),
        lambda t: t.update({"lm_head.weight": t.pop("model.embed_tokens.weight")}),
        lambda t: t.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}),
        lambda t: as_the_inner_network(t),
        lambda t: t.update({"model.extra": torch.ones(3)}),
        lambda t: t.pop(NORM),
        lambda t: t.pop("model.embed_tokens.weight"),
        lambda t: t.update({NORM: torch.ones(7)}),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("tied", [False, True])
def test_what_is_refused_is_what_transformers_would_not_load_whole(
    tmp_path: Path, change: Any, tied: bool, capsys: Any
) -> None:
    """The slow twin: load it, and see whether anything was missing, left over or of another shape."""
    folder = write_target(tmp_path / "target", num_hidden_layers=4, tie_word_embeddings=tied)
    change_weights(folder, change)
    try:
        loading = transformers.LlamaForCausalLM.from_pretrained
        _, report = loading(folder, output_loading_info=True, local_files_only=True)
        whole = not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    except RuntimeError:
        whole = False
    assert (inspect_folder(folder).faults == ()) is whole


def test_the_last_lines_of_an_error() -> None:
    written = "Class validation error for validator 'x':\n\n    ValueError: 3 is no multiple\n"
    assert last_lines(ValueError(written)) == "Class validation error for validator 'x': ValueError: 3 is no multiple"
    assert last_lines(ValueError("a\nb\nc\nd")) == "b c d"
    assert last_lines(KeyError()) == "KeyError()"
