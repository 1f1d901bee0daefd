"""Recursive rejection without replacement: the draft law loses each tested token and is renormalised."""

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
    for token in torch.multinomial(q, min(2, int((q > 0).sum()))):
        if torch.rand(()) < r[token] / q[token]:
            return int(token)
        r = (r - q).clamp(min=0)
        r = r / r.sum()
        q = q.clone()
        q[token] = 0
        q = q / q.sum()
    return int(torch.multinomial(r, 1))
