"""Recursive rejection with two independent drafts: duplicates are tested again under the new residual."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        tokens.append(step(target(tokens), draft(tokens)))
    return tokens[len(prompt) :][:n]


def step(p, q):
    r = p
    for token in torch.multinomial(q, 2, replacement=True):
        if torch.rand(()) < r[token] / q[token]:
            return int(token)
        r = (r - q).clamp(min=0)
        r = r / r.sum()
    return int(torch.multinomial(r, 1))
