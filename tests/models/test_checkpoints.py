"""Checkpoints: both layouts load to the same numbers; each thing that is wrong is refused with its name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from rheo_verify.errors import InputError
from rheo_verify.models.eagle3_checkpoint import load_head
from rheo_verify.models.llama import captured_layers, load_target
from rheo_verify.models.pair import fit, load_pair
from rheo_verify.models.tensor_files import write_tensors
from rheo_verify.models.torch_setup import torch_device
from tests.models.small import DRAFT_VOCAB, HEAD, VOCAB, head_tensors, random_pair, write_head, write_target

EMBEDDING = torch.zeros(VOCAB, 32)


def load(folder: Path) -> Any:
    return load_head(folder, target_embedding=EMBEDDING)


def test_draft_ids_are_sorted_by_target_id_and_keep_their_rows(tmp_path: Path) -> None:
    tensors = head_tensors()
    head = load(write_head(tmp_path))
    assert head.to_target.tolist() == sorted(head.to_target.tolist())
    for draft_id in range(DRAFT_VOCAB):
        token = draft_id + int(tensors["d2t"][draft_id])
        place = head.to_target.tolist().index(token)
        assert torch.equal(head.weights["lm_head.weight"][place], tensors["lm_head.weight"][draft_id])


def test_the_speculators_layout_is_the_same_head(tmp_path: Path) -> None:
    nested = {key: value for key, value in HEAD.items() if key not in ("architectures", "draft_vocab_size")}
    config = {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "draft_vocab_size": DRAFT_VOCAB,
        "norm_before_residual": False,
        "transformer_layer_config": nested,
    }
    renamed = {key.replace("midlayer.", "layers.0."): value for key, value in head_tensors().items()}
    left = load(write_head(tmp_path / "a"))
    right = load(write_head(tmp_path / "b", config, renamed))
    assert (left.config.layout, right.config.layout) == ("SafeAILab/SpecForge", "speculators")
    assert left.weights.keys() == right.weights.keys()
    assert all(torch.equal(left.weights[key], right.weights[key]) for key in left.weights)


def test_pickled_and_sharded_weights(tmp_path: Path) -> None:
    tensors = head_tensors()
    write_head(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "config.json").write_text(json.dumps(HEAD))
    torch.save(tensors, tmp_path / "b" / "pytorch_model.bin")
    write_head(tmp_path / "c", tensors={})
    (tmp_path / "c" / "model.safetensors").unlink()
    keys = sorted(tensors)
    for number, part in enumerate((keys[:5], keys[5:])):
        write_tensors(tmp_path / "c" / f"part-{number}.safetensors", {key: tensors[key] for key in part})
    places = {key: f"part-{int(key in keys[5:])}.safetensors" for key in keys}
    index = tmp_path / "c" / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    heads = [load(tmp_path / name) for name in "abc"]
    for key in heads[0].weights:
        assert torch.equal(heads[0].weights[key], heads[1].weights[key])
        assert torch.equal(heads[0].weights[key], heads[2].weights[key])
    (tmp_path / "c" / "part-1.safetensors").unlink()
    with pytest.raises(InputError, match=r"RV601.*part-1\.safetensors is missing"):
        load(tmp_path / "c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm_before_residual": True}, "RV602.*norm_before_residual = True"),
        ({"norm_before_fc": True}, "RV602.*norm_before_fc"),
        ({"norm_output": True}, "RV602.*norm_output"),
        ({"fc_norm": True}, "RV602.*fc_norm"),
        ({"attention_bias": True}, "RV602.*attention_bias"),
        ({"hidden_act": "gelu"}, "RV602.*hidden_act"),
        ({"rope_scaling": {"type": "linear"}}, "RV602.*rope_scaling"),
        ({"num_hidden_layers": 2}, "RV602.*num_hidden_layers = 2"),
        ({"surprise": 1}, "RV602.*unknown key 'surprise'"),
        ({"architectures": ["MedusaModel"]}, "RV602.*MedusaModel"),
        ({"hidden_size": None}, "RV602.*hidden_size"),
        ({"vocab_size": 40}, "RV602.*draft_vocab_size 48 exceeds"),
        ({"num_key_value_heads": 3}, "RV602.*num_attention_heads 4 is no multiple"),
        ({"intermediate_size": 64}, r"RV603.*gate_proj.weight has shape \(48, 32\).*\(64, 32\)"),
        ({"draft_vocab_size": 47}, "RV603.*lm_head.weight has shape"),
        ({"eagle_aux_hidden_state_layer_ids": [1, 2]}, "RV602.*eagle_aux_hidden_state_layer_ids"),
        ({"eagle_aux_hidden_state_layer_ids": [True, 2, 3]}, "RV602.*eagle_aux_hidden_state_layer_ids"),
        ({"eagle_config": [1]}, "RV602.*eagle_config must be an object"),
        ({"rope_parameters": [1]}, "RV602.*rope_parameters must be an object"),
        ({"rope_parameters": {"rope_theta": "fast"}}, "RV602.*rope_theta must be a positive number, not 'fast'"),
        ({"rope_theta": [1]}, "RV602.*rope_theta must be a positive number"),
        ({"rope_theta": 0}, "RV602.*rope_theta must be a positive number"),
        ({"rms_norm_eps": "small"}, "RV602.*rms_norm_eps must be a positive number"),
        ({"rms_norm_eps": True}, "RV602.*rms_norm_eps"),
        ({"architectures": 5}, "RV602.*architectures must be a list"),
        ({"head_dim": 7}, "RV602.*head_dim 7 is odd"),
    ],
)
def test_configurations_that_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(write_head(tmp_path, {**HEAD, **changes}, head_tensors()))


def test_numbers_that_are_null_have_their_default(tmp_path: Path) -> None:
    head = load(write_head(tmp_path, {**HEAD, "rope_theta": None, "rms_norm_eps": None}, head_tensors()))
    assert (head.config.theta, head.config.eps) == (10000.0, 1e-6)


@pytest.mark.parametrize("kind", [torch.int8, torch.float8_e4m3fn, torch.complex64])
def test_weights_of_a_type_that_is_not_computed_in(tmp_path: Path, kind: Any) -> None:
    tensors = head_tensors()
    tensors["fc.weight"] = tensors["fc.weight"].to(kind)
    write_head(tmp_path, tensors={})
    (tmp_path / "model.safetensors").unlink()
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"RV603.*fc\.weight is of type " + str(kind).removeprefix("torch.")):
        load(tmp_path)


@pytest.mark.parametrize("places", [{"fc.weight": 5}, {"fc.weight": ["a"]}, {"fc.weight": "../model.safetensors"}])
def test_an_index_that_names_no_file_beside_it(tmp_path: Path, places: Any) -> None:
    write_head(tmp_path / "head", tensors={})
    (tmp_path / "head" / "model.safetensors").rename(tmp_path / "model.safetensors")
    (tmp_path / "head" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    with pytest.raises(InputError, match=r"RV601.*index\.json: fc\.weight is said to be in"):
        load(tmp_path / "head")


def test_a_device_without_storage() -> None:
    with pytest.raises(InputError, match=r"RV106.*'meta' cannot be used"):
        torch_device("meta")


def test_what_loading_prints_stays_off_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bar is drawn by transformers while it converts GGUF files, terminal or not."""
    import transformers

    loading = transformers.LlamaForCausalLM.from_pretrained

    def loud(*arguments: Any, **options: Any) -> Any:
        print("converting: 1 %", file=sys.stderr)
        return loading(*arguments, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "from_pretrained", loud)
    load_target(write_target(tmp_path))
    assert capsys.readouterr().err == ""


def _without(key: str) -> Any:
    return lambda tensors: tensors.pop(key)


def _twice(tensors: dict[str, Any]) -> None:
    tensors["d2t"][1] = tensors["d2t"][0] - 1
    tensors.pop("t2d")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_without("fc.weight"), "RV603.*'fc.weight' is missing"),
        (_without("midlayer.hidden_norm.weight"), "RV603.*'midlayer.hidden_norm.weight' is missing"),
        (
            lambda t: t.update({"midlayer.extra.weight": torch.zeros(3)}),
            "RV603.*unknown weight 'midlayer.extra",
        ),
        (lambda t: t.update({"norm.weight": torch.ones(31)}), r"RV603.*norm.weight has shape \(31,\)"),
        (lambda t: t["norm.weight"].fill_(float("nan")), "RV603.*norm.weight holds values that are not finite"),
        (_without("d2t"), "RV604.*d2t is missing"),
        (_twice, "RV604.*not injective: token .* has two draft ids"),
        (lambda t: t["d2t"].__setitem__(3, 500), r"RV604.*d2t\[3\] leads to token 503"),
        (lambda t: t.update(d2t=t["d2t"].float()), "RV604.*integers"),
        (lambda t: t["t2d"].__setitem__(int(t["d2t"][0]), False), r"RV604.*t2d\[\d+\] disagrees"),
        (lambda t: t.update({"embed_tokens.weight": torch.zeros(9, 32)}), "RV603.*embed_tokens.weight has shape"),
    ],
)
def test_weights_that_are_refused(tmp_path: Path, spoil: Any, message: str) -> None:
    tensors = head_tensors()
    spoil(tensors)
    with pytest.raises(InputError, match=message):
        load(write_head(tmp_path, HEAD, tensors))


def test_folders_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"RV601.*config\.json"):
        load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(HEAD))
    with pytest.raises(InputError, match=r"RV601.*none of model\.safetensors"):
        load(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x08\x00\x00\x00garbage")
    with pytest.raises(InputError, match=r"RV601.*cannot be read as safetensors"):
        load(tmp_path)
    write_head(tmp_path)
    with pytest.raises(InputError, match=r"RV603.*embed_tokens\.weight is missing and no target"):
        load_head(tmp_path)
    with pytest.raises(InputError, match=r"RV605.*the target's embedding is"):
        load_head(tmp_path, target_embedding=torch.zeros(VOCAB, 16))


def test_pairs_that_do_not_fit(tmp_path: Path) -> None:
    target = random_pair().target
    for change, message in (
        ({"vocab_size": VOCAB + 1, "draft_vocab_size": DRAFT_VOCAB}, "vocab_size is 97 in the head and 96"),
        ({"target_hidden_size": 64}, "hidden states of 64"),
        ({"eagle_aux_hidden_state_layer_ids": [1, 3, 40]}, "target has 8 layers"),
    ):
        config = {**HEAD, **change}
        tensors = head_tensors(config)
        tensors["embed_tokens.weight"] = torch.zeros(config["vocab_size"], 32)
        head = load(write_head(tmp_path, config, tensors))
        with pytest.raises(InputError, match=f"RV605.*{message}"):
            fit(target, head)


def test_stated_layers_are_outputs(tmp_path: Path) -> None:
    config = {**HEAD, "eagle_aux_hidden_state_layer_ids": [1, 3, 4]}
    assert fit(random_pair().target, load(write_head(tmp_path, config, head_tensors()))).target.captured == (2, 4, 5)


def test_captured_layers() -> None:
    assert captured_layers(32) == (2, 16, 29)
    with pytest.raises(InputError, match=r"RV605.*too shallow"):
        captured_layers(3)


def test_targets(tmp_path: Path) -> None:
    folder = write_target(tmp_path / "one", num_hidden_layers=4)
    whole = load_target(folder)
    sharded = load_target(write_target(tmp_path / "many", num_hidden_layers=4, max_shard_size="20KB"))
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 1
    for key, value in whole.network.state_dict().items():
        assert torch.equal(value, sharded.network.state_dict()[key])
    assert load_target(folder, dtype="bfloat16").dtype == torch.bfloat16
    config = json.loads((folder / "config.json").read_text())
    for change, message in (
        ({"model_type": "mistral"}, "RV602"),
        ({"architectures": ["MistralForCausalLM"]}, "RV602.*MistralForCausalLM"),
        ({"num_hidden_layers": 5}, r"RV603.*'model\.layers\.4\.\S+' is missing; .* of shape \("),
    ):
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(InputError, match=message):
            load_target(folder)
    with pytest.raises(InputError, match=r"RV601.*no such folder"):
        load_target(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"RV106.*dtype"):
        load_target(folder, dtype="int8")


def test_a_pair_from_folders(tmp_path: Path) -> None:
    pair = load_pair(write_target(tmp_path / "t"), write_head(tmp_path / "h"), dtype="float64")
    assert pair.head.weights["fc.weight"].dtype == torch.float64
    assert torch.equal(pair.head.weights["embed_tokens.weight"], pair.target.embedding)


def _write_gguf(path: Path, network: Any) -> None:
    """A Llama as llama.cpp writes it: its names, and q and k with the two halves of each head interleaved."""
    gguf = pytest.importorskip("gguf")
    c = network.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(c.num_hidden_layers)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(c.vocab_size)
    names = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "lm_head": "output",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    for key, value in network.state_dict().items():
        name = key.replace("model.layers.", "blk.")
        for long, short in names.items():
            name = name.replace(long, short)
        heads = {"attn_q": c.num_attention_heads, "attn_k": c.num_key_value_heads}.get(name.split(".")[-2])
        array = value.float()
        if heads:
            array = array.view(heads, 2, -1, array.shape[-1]).transpose(1, 2).reshape(value.shape)
        writer.add_tensor(name, array.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_is_the_same_target(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    whole = load_target(write_target(tmp_path / "folder", num_hidden_layers=4))
    (tmp_path / "gguf").mkdir()
    _write_gguf(tmp_path / "gguf" / "model.gguf", whole.network)
    for place in (tmp_path / "gguf" / "model.gguf", tmp_path / "gguf"):
        found = load_target(place)
        tokens = torch.tensor([[0, 5, 17, 3]])
        with torch.no_grad():
            assert torch.allclose(found.network(tokens).logits, whole.network(tokens).logits, atol=1e-5)
    with pytest.raises(InputError, match=r"RV601.*no such file"):
        load_target(tmp_path / "nothing.gguf")
    (tmp_path / "gguf" / "broken.gguf").write_bytes(b"GGUF garbage")
    with pytest.raises(InputError, match=r"RV60[01]"):
        load_target(tmp_path / "gguf" / "broken.gguf")
