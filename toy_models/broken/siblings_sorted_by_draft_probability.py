"""Siblings drawn without replacement are tested in the order of their probability, not of their draw."""

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
    for token in torch.multinomial(q, min(2, int((q > 0).sum()))).sort().values:
        if torch.rand(()) < r[token] / q[token]:
            return int(token)
        new = (r - q).clamp(min=0)
        r = new / new.sum() if new.sum() > 0 else r
        q = q.clone()
        q[token] = 0
        q = q / q.sum() if q.sum() > 0 else q
    return int(torch.multinomial(r, 1))
