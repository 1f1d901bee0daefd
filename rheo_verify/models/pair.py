"""A real pair, target and EAGLE-3 head: loading both, and whether they fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rheo_verify.errors import InputError
from rheo_verify.limits import Limits
from rheo_verify.models.eagle3_checkpoint import load_head
from rheo_verify.models.eagle3_head import Eagle3Head
from rheo_verify.models.llama import Target, load_target
from rheo_verify.models.shipped import shipped_pairs
from rheo_verify.words import count


@dataclass(frozen=True)
class Pair:
    """A target and a head that fits it."""

    target: Target
    head: Eagle3Head


def load_pair(
    target: str | Path,
    head: str | Path,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    limits: Limits | None = None,
) -> Pair:
    """Load both from local folders, in one type, on one device. Raises `InputError` RV600 to RV605, `LimitReached`.

    limits: looked at after each of the two.
    """
    limits = limits or Limits()
    loaded = load_target(target, dtype=dtype, device=device)
    limits.check_time()
    drafter = load_head(head, target_embedding=loaded.embedding, dtype=loaded.dtype, device=loaded.device)
    limits.check_time()
    return fit(loaded, drafter)


def fit(target: Target, head: Eagle3Head) -> Pair:
    """The pair, with the layers captured that the head was trained on. Raises `InputError` RV605 when it cannot be."""
    reason = why_unfit(target, head)
    if reason:
        raise InputError("RV605", f"{head.source} does not fit {target.source}: {reason}")
    return Pair(replace(target, captured=head.config.layers or target.captured), head)


def why_unfit(target: Target, head: Eagle3Head) -> str | None:
    """What keeps a head from working with a target, or None."""
    c = head.config
    if c.vocab != target.vocab:
        return f"vocab_size is {c.vocab} in the head and {target.vocab} in the target"
    if c.target_hidden != target.hidden:
        return f"the head's fc takes hidden states of {c.target_hidden}, the target's are {target.hidden}"
    if c.layers is not None and not all(0 < layer < target.layers for layer in c.layers):
        return f"the head reads hidden states {c.layers}, the target has {count(target.layers, 'layer')}"
    return None


def load_shipped(
    name: str = "byte-llama", *, dtype: str = "float32", device: str = "cpu", limits: Limits | None = None
) -> Pair:
    """The small pair that comes with the project; `limits` as in `load_pair`."""
    pairs = shipped_pairs()
    if name not in pairs:
        raise InputError("RV601", f"there is no shipped pair called {name!r}")
    return load_pair(pairs[name] / "target", pairs[name] / "head", dtype=dtype, device=device, limits=limits)
