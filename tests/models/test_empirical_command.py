"""`empirical` from the outside: what is refused before anything is loaded, prompts, planted faults."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import transformers

from rheo_verify.checks.precision import measure
from rheo_verify.checks.real_layers import check_layers
from rheo_verify.cli.empirical import EXAMPLES
from rheo_verify.cli.main import run
from rheo_verify.errors import InputError
from rheo_verify.foreign.arrays_in_out import Maker
from rheo_verify.models.prompt import prompt_tokens
from rheo_verify.models.rows import RowSettings
from rheo_verify.models.shipped import shipped_pairs
from rheo_verify.models.torch_setup import torch_device
from rheo_verify.verification.rules import layer_rule
from tests.models.small import write_head, write_target

SMALL = "--m 1 --k 3 --depth 2 --budget 4 --tokens 3 --draws 0 --greedy 0 --contexts 4"
SHIPPED = shipped_pairs()["byte-llama"]
BONUS = "bonus-at-temperature-1"

REFUSED = [
    ("--dtype int8", r"RV110: --dtype cannot be 'int8'; there are float64, float32, bfloat16, float16"),
    ("--rows-dtype foo", r"RV110: --rows-dtype cannot be 'foo'; there are float64, float32, bfloat16, float16"),
    ("--fault foo", r"RV106: fault must be one of residual-from-p, bonus-at-temperature-1, not 'foo'; change --fault"),
    (f"--fault {BONUS}", r"RV111: --fault bonus-at-temperature-1 has no effect with --temperature 1"),
    (f"--fault {BONUS} --temperature 1.0", r"RV111"),
    ("--k 0", r"RV106: pool K must be an integer from 1 to \S+, not 0; change --k"),
    ("--depth 0", r"RV106: depth D .*change --depth"),
    ("--budget 0", r"RV106: budget R .*change --budget"),
    ("--support 0", r"RV106: support 0 .*change --support"),
    ("--temperature -1", r"RV106: temperature -1\S* must be at least 0; change --temperature"),
    ("--target x", r"RV106: give --target and --head together"),
    ("--prompt-file nosuch", r"RV120: --prompt-file nosuch: cannot be read \(No such file or directory\)"),
    ("--prompt-file .", r"RV120: --prompt-file \.: cannot be read \(Is a directory\)"),
    ("--prompt-file latin.txt", r"RV120: --prompt-file latin\.txt: is not UTF-8 text \(byte 2\)"),
]


@pytest.mark.parametrize(("flags", "message"), REFUSED)
def test_flags_are_refused_before_torch_is_imported(
    flags: str, message: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "latin.txt").write_bytes(b"na\xefve")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rheo_verify.models.torch_setup.torch_and_transformers", None)
    assert run(["empirical", *shlex.split(flags)]) == 2
    err = capsys.readouterr().err
    assert re.search(message, err), err
    assert err.count("\n") == 1


def test_a_refusal_imports_no_torch() -> None:
    code = "import sys; from rheo_verify.cli.main import run; run(['empirical', '--fault', 'foo'])"
    found = subprocess.run(
        [sys.executable, "-c", f"{code}; print('torch' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize("k", [-1, 0, 1])
def test_precision_blames_k(k: int, capsys: Any) -> None:
    assert run(["precision", "--k", str(k)]) == 2
    assert f"RV106: --k {k} must be at least 2" in capsys.readouterr().err


def test_types_and_devices_of_the_library() -> None:
    with pytest.raises(InputError, match=r"RV106.*dtype"):
        RowSettings(dtype="foo")
    with pytest.raises(InputError, match=r"RV106.*dtype"):
        measure(None, None, layer_rule("rheo"), dtype="foo", lead=1, pool=3)
    with pytest.raises(InputError, match=r"RV106.*dtype"):
        check_layers(None, None, layer_rule("rheo"), lead=1, pool=3, dtype="foo")  # type: ignore[arg-type]
    for kind in ("torch", "numpy"):
        for dtype in ("foo", "int64", "nn"):
            with pytest.raises(InputError, match=r"RV106.*dtype"):
                Maker(kind, dtype=dtype)
    for name in ("foo", "", "hpu", "meta", "cuda:9999", "privateuseone"):
        with pytest.raises(InputError, match=r"RV106.*device"):
            torch_device(name)
        with pytest.raises(InputError, match=r"RV106.*device"):
            Maker("torch", device=name)


def test_a_byte_pair_by_its_folders_is_the_shipped_pair(capsys: Any) -> None:
    folders = ["--target", str(SHIPPED / "target"), "--head", str(SHIPPED / "head")]
    assert run(["empirical", *shlex.split(SMALL), "--json"]) == 0
    shipped = json.loads(capsys.readouterr().out)
    assert run(["empirical", *shlex.split(SMALL), "--json", *folders]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == shipped
    assert "no tokenizer" in err
    assert "read as bytes" in err


def test_bytes_follow_the_first_token_of_the_configuration(tmp_path: Path) -> None:
    assert prompt_tokens(SHIPPED / "target", "né") == [0, 110, 195, 169]
    target = write_target(tmp_path, vocab_size=256, num_hidden_layers=4, bos_token_id=None)
    assert prompt_tokens(target, "né") == [110, 195, 169]


def test_a_target_without_a_tokenizer(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.LlamaForCausalLM, "from_pretrained", None)
    target, head = write_target(tmp_path / "t"), write_head(tmp_path / "h")
    arguments = ["empirical", "--target", str(target), "--head", str(head)]
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"rheo_verify empirical: RV601: {target}: there is no tokenizer (tokenizer.json or")
    assert err.count("\n") == 1
    (target / "tokenizer.json").write_text("{}")
    assert run(arguments) == 2
    assert f"RV601: {target}: the tokenizer cannot be loaded (" in capsys.readouterr().err


def test_a_tokenizer_in_the_folder(tmp_path: Path, capsys: Any) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    target, head = write_target(tmp_path / "t"), write_head(tmp_path / "h")
    words = {"[UNK]": 0, **{chr(97 + n): n + 1 for n in range(26)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(target / "tokenizer.json"))
    (target / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    assert prompt_tokens(target, "a c b") == [1, 3, 2]
    prompt = " ".join("abcdefghijkl")
    folders = ["--target", str(target), "--head", str(head), "--prompt", prompt]
    assert run(["empirical", *shlex.split(SMALL), *folders, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["exact"]["rows"] == 4
    assert "bytes" not in err


def test_a_planted_fault_that_is_not_seen(tmp_path: Path, capsys: Any) -> None:
    command = ["empirical", *shlex.split(SMALL), "--temperature", "0.9", "--fault", BONUS]
    page = tmp_path / "page.html"
    assert run([*command, "--html", str(page)]) == 3
    out, err = capsys.readouterr()
    assert out.endswith("INCONCLUSIVE: the planted fault was not seen; draw more tokens\n")
    assert "INCONCLUSIVE: the planted fault was not seen" in err
    assert "the planted fault was not seen" in page.read_text()
    assert run([*command, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["verdict"] == "INCONCLUSIVE"


def test_the_planted_fault_of_the_help_is_found(capsys: Any) -> None:
    (example,) = (line.split()[1:] for line in EXAMPLES.splitlines() if "--fault" in line)
    assert run([*example, "--json"]) == 1
    assert {it["verdict"] for it in json.loads(capsys.readouterr().out)["designs"]} == {"REFUTED"}
    sound = example[: example.index("--fault")]
    assert run([*sound, "--json"]) == 0
