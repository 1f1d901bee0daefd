"""Samplers in the idioms of serving engines: rows of a batch, in-place races on views, compiled helpers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.answering import enumerate_call
from rheo_verify.foreign.refusal import Refused
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.verifier import check_verifier
from tests.foreign.helpers import law

torch = pytest.importorskip("torch")
SCOPE = Scope(vocab=2, denominator=2, random=2)


def race(probabilities: Any, generators: dict[int, Any] | None = None) -> Any:
    """One token a row; the rows are used up."""
    noise = torch.empty_like(probabilities)
    if generators is None:
        noise.exponential_()
    for row, generator in (generators or {}).items():
        noise[row : row + 1].exponential_(1.0, generator=generator)
    return probabilities.div_(noise).argmax(dim=-1)


def batched(target: Any, draft: Any, tokens: Any, generators: Any = None, *, lossy: bool = False) -> Any:
    """A batch of one request; lossy: the residual is not cut at zero."""
    target, draft, tokens = target[None], draft[None], tokens[None]
    batch, k, vocab = draft.shape
    rows = torch.arange(batch)[:, None], torch.arange(k)
    uniform = torch.rand(batch, k, dtype=target.dtype)
    ratio = target[:, :-1][(*rows, tokens)] / draft[(*rows, tokens)]
    accepted = uniform < torch.minimum(ratio, torch.ones(1, dtype=target.dtype))
    left = (target[:, :-1] - draft).abs() if lossy else torch.clamp(target[:, :-1] - draft, min=1e-38)
    recovered = race((left / left.sum(-1, keepdim=True)).reshape(batch * k, vocab), generators).reshape(batch, k)
    bonus = race(target[:, -1].clone())
    first = torch.where(accepted.all(1), k, (~accepted).int().argmax(1))
    out = torch.full((batch, k + 1), -1)
    places = torch.arange(k)[None]
    body = out[:, :k]
    body[:] = torch.where(places < first[:, None], tokens, -1)
    out[:, -1] = torch.where(body[:, -1] != -1, bonus, -1)
    after = places == first[:, None]
    body.mul_(~after).add_(recovered.mul(after))
    return out[0]


def seeded(target: Any, draft: Any, tokens: Any) -> Any:
    """Noise of each row from a generator of its own."""
    return batched(target, draft, tokens, {row: torch.Generator().manual_seed(row) for row in range(len(draft))})


def lossy(target: Any, draft: Any, tokens: Any) -> Any:
    """Residuals of both signs."""
    return batched(target, draft, tokens, lossy=True)


def compiled(target: Any, draft: Any, tokens: Any) -> Any:
    """What torch would compile runs as it is written."""
    return torch.compile(dynamic=True)(batched)(target, draft, tokens)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(batched, "VERIFIED"), (seeded, "VERIFIED"), (compiled, "VERIFIED"), (lossy, "REFUTED")],
)
def test_verdicts(code: Any, expected: str) -> None:
    scope = Scope(vocab=2, denominator=2, random=0, drafts=1) if code is not lossy else SCOPE
    assert check_verifier(code, scope=scope).verdict is Verdict[expected]


@torch.jit.script  # type: ignore[untyped-decorator]
def scripted(row: torch.Tensor) -> torch.Tensor:
    return torch.rand(1) < row[0]


class Block(torch.nn.Module):  # type: ignore[misc]
    """A draw where nobody sees it."""

    def forward(self, row: torch.Tensor) -> torch.Tensor:
        return torch.rand(1) < row


class Quarter(torch.nn.Module):  # type: ignore[misc]
    """No draw of its own."""

    def forward(self, row: torch.Tensor) -> torch.Tensor:
        return row < 0.25


def test_scripted_functions_run_from_their_source() -> None:
    assert law(lambda: bool(scripted(torch.tensor([0.25, 0.5])))) == {True: 0.25, False: 0.75}


def test_other_jit_code_is_refused_where_it_is_random_and_only_there() -> None:
    block = torch.jit.script(Block())
    quarter = torch.jit.script(Quarter())
    with pytest.raises(Refused, match=r"RV403: a draw in torch.jit code .* PYTORCH_JIT=0"):
        enumerate_call(lambda: bool(block(torch.zeros(1))))
    with pytest.raises(Refused, match=r"RV402: torch.jit code .* PYTORCH_JIT=0"):
        enumerate_call(lambda: bool(quarter(torch.rand(1))))
    assert law(lambda: (bool(quarter(torch.zeros(1))), bool(torch.rand(1) < 0.25))) == {
        (True, True): 0.25,
        (True, False): 0.75,
    }


def test_what_is_compiled_already_runs_eagerly_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    stances: list[str] = []

    class Stance:
        def __init__(self, name: str) -> None:
            stances.append(name)

        def __exit__(self, *_: Any) -> None:
            stances.append("before")

    real = torch.compile
    monkeypatch.setitem(sys.modules, "torch._dynamo", torch)
    monkeypatch.setattr(torch.compiler, "set_stance", Stance)
    enumerate_call(lambda: torch.rand(()) < 0.5)
    assert stances == ["force_eager", "before"]
    assert torch.compile is real
