"""Looks like the broken one, but the two drafts are independent: their order does not matter."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        drafts = torch.multinomial(q, 2, replacement=True)
        tokens.append(step(target(tokens), q, drafts))
    return tokens[len(prompt) :][:n]


def step(p, q, drafts):
    for token in drafts.flip(0):
        if torch.rand(()) < p[token] / q[token]:
            return int(token)
        p = (p - q).clamp(min=0)
        p = p / p.sum()
    return int(torch.multinomial(p, 1))
