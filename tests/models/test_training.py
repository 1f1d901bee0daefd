"""The script that makes the shipped pair, for a few steps: it runs to the end, and what it writes is a pair."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from rheo_verify.checks.inspection import inspect_folder, misfit
from rheo_verify.cli.main import run
from rheo_verify.models.pair import load_pair, load_shipped

SCRIPT = Path(__file__).parents[2] / "toy_models" / "train_byte_llama.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("train_byte_llama", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "WINDOW", 24)
    monkeypatch.setattr(module, "BATCH", 2)
    return module


def test_a_few_steps_make_a_pair(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["train", "--out", str(tmp_path), "--steps", "2", "--head-steps", "2"])
    script.main()
    target, head = tmp_path / "target", tmp_path / "head"
    made, shipped = load_pair(target, head), load_shipped()
    assert {key: it.shape for key, it in made.head.weights.items()} == {
        key: it.shape for key, it in shipped.head.weights.items()
    }
    assert made.head.config == shipped.head.config
    assert len(made.head.to_target) == 128
    assert int(made.head.to_target.diff().min()) > 0
    assert misfit(inspect_folder(target), inspect_folder(head)) is None
    assert run(["inspect", str(target), str(head)]) == 0
    assert "they fit" in capsys.readouterr().out

    before = {it.name: it.read_bytes() for it in target.iterdir()}
    monkeypatch.setattr(sys, "argv", ["train", "--out", str(tmp_path), "--head-only", "--head-steps", "1"])
    script.main()
    assert {it.name: it.read_bytes() for it in target.iterdir()} == before


def test_training_lowers_the_loss(script: Any, capsys: Any) -> None:
    data = script.text()[:4000]
    torch.manual_seed(0)
    model = script.train_target(data, data, 12)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "held out" in line]
    first, last = (float(line[line.index("out") + 1]) for line in (lines[0], lines[-1]))
    assert last < first - 0.5
    assert model.config.num_hidden_layers == 8
