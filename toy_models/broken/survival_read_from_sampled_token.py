"""A sampled candidate survives pruning only if its own draft probability is high enough."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        tokens.append(step(target(tokens), draft(tokens)))
    return tokens[len(prompt) :][:n]


def step(p, q):
    token = int(torch.multinomial(q, 1))
    kept = q[token] >= q.max()
    if kept:
        if torch.rand(()) < p[token] / q[token]:
            return token
        return int(torch.multinomial((p - q).clamp(min=0), 1))
    return int(torch.multinomial(p, 1))
