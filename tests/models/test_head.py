"""The head's forward pass against a plain re-derivation: loops, no batching, no shared code."""

from __future__ import annotations

import math

import numpy as np
import torch

from rheo_verify.models.eagle3_drafting import HeadState
from rheo_verify.models.eagle3_head import Eagle3Head
from tests.models.small import random_pair

Vector = np.ndarray


class Plain:
    """One pair at a time, in NumPy float64; `seen` is the list of (key, value) that the pair may look at."""

    def __init__(self, head: Eagle3Head) -> None:
        self.c = head.config
        self.w = {key: value.double().numpy() for key, value in head.weights.items()}

    def norm(self, x: Vector, key: str) -> Vector:
        return x / math.sqrt(float(np.mean(x * x)) + self.c.eps) * self.w[key]

    def turn(self, x: Vector, position: int) -> Vector:
        half = len(x) // 2
        out = x.copy()
        for i in range(half):
            angle = position / self.c.theta ** (2 * i / len(x))
            a, b = x[i], x[i + half]
            out[i] = a * math.cos(angle) - b * math.sin(angle)
            out[i + half] = b * math.cos(angle) + a * math.sin(angle)
        return out

    def step(self, token: int, hidden: Vector, position: int, seen: list) -> tuple[Vector, Vector, tuple]:
        x = np.concatenate(
            (
                self.norm(self.w["embed_tokens.weight"][token], "midlayer.input_layernorm.weight"),
                self.norm(hidden, "midlayer.hidden_norm.weight"),
            )
        )
        d = self.c.head_dim
        q, k, v = (self.w[f"midlayer.self_attn.{name}_proj.weight"] @ x for name in "qkv")
        keys = [self.turn(k[i * d : i * d + d], position) for i in range(self.c.key_value_heads)]
        values = [v[i * d : i * d + d] for i in range(self.c.key_value_heads)]
        looked = [*seen, (keys, values)]
        out = []
        for head in range(self.c.heads):
            group = head * self.c.key_value_heads // self.c.heads
            turned = self.turn(q[head * d : head * d + d], position)
            scores = np.array([turned @ key[group] for key, _ in looked]) / math.sqrt(d)
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            out.append(sum(weight * value[group] for weight, (_, value) in zip(weights, looked, strict=True)))
        hidden = hidden + self.w["midlayer.self_attn.o_proj.weight"] @ np.concatenate(out)
        x = self.norm(hidden, "midlayer.post_attention_layernorm.weight")
        gate = self.w["midlayer.mlp.gate_proj.weight"] @ x
        gate = gate / (1 + np.exp(-gate)) * (self.w["midlayer.mlp.up_proj.weight"] @ x)
        hidden = hidden + self.w["midlayer.mlp.down_proj.weight"] @ gate
        return self.w["lm_head.weight"] @ self.norm(hidden, "norm.weight"), hidden, (keys, values)


def test_prefix_and_tree_against_a_plain_derivation() -> None:
    head = random_pair().head
    plain = Plain(head)
    generator = torch.Generator().manual_seed(5)
    features = torch.randn(7, 96, generator=generator)
    tokens = [4, 90, 17, 17, 2, 33, 8]
    live = HeadState(head)
    live.extend(features[:4], tokens[:4])
    live.extend(features[4:], tokens[4:])
    seen: list = []
    logits = hidden = np.zeros(0)
    for i, token in enumerate(tokens):
        joined = plain.w["fc.weight"] @ features[i].double().numpy()
        logits, hidden, own = plain.step(token, joined, i, seen)
        seen.append(own)
    assert np.allclose(live.logits.double().numpy(), logits, atol=1e-4)

    states = {(): (hidden, seen)}
    live.root()
    before: list[tuple[int, ...]] = [()]
    for layer in ([(3,), (9,), (50,)], [(9, 3), (3, 3), (9, 1)], [(9, 3, 3), (9, 1, 4)]):
        parents = torch.tensor([before.index(path[:-1]) for path in layer])
        found = live.step(torch.tensor([path[-1] for path in layer]), parents)
        before = layer
        for path, row in zip(layer, found, strict=True):
            above, looked = states[path[:-1]]
            expected, below, own = plain.step(path[-1], above, len(tokens) - 1 + len(path), looked)
            states[path] = (below, [*looked, own])
            assert np.allclose(row.double().numpy(), expected, atol=1e-4), path


def test_the_trees_keys_are_dropped_with_the_next_verified_tokens() -> None:
    head = random_pair().head
    features = torch.randn(5, 96, generator=torch.Generator().manual_seed(6))
    left, right = HeadState(head), HeadState(head)
    for live in (left, right):
        live.extend(features[:3], [1, 2, 3])
    left.root()
    left.step(torch.tensor([4, 5]), torch.tensor([0, 0]))
    left.step(torch.tensor([6]), torch.tensor([1]))
    for live in (left, right):
        live.extend(features[3:], [5, 6])
    assert torch.equal(left.root(), right.root())
    found = [live.step(torch.tensor([7]), torch.tensor([0])) for live in (left, right)]
    assert torch.equal(found[0], found[1])
