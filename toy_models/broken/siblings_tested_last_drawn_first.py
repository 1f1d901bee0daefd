"""Siblings drawn without replacement wait on a stack and are tested from its top: the last drawn comes first."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        drafts = torch.multinomial(q, min(2, int((q > 0).sum())))
        tokens.append(step(target(tokens), q, drafts))
    return tokens[len(prompt) :][:n]


def step(p, q, drafts):
    for token in drafts.flip(0):
        if torch.rand(()) < p[token] / q[token]:
            return int(token)
        p = (p - q).clamp(min=0)
        p = p / p.sum()
        q = q.clone()
        q[token] = 0
        q = q / q.sum()
    return int(torch.multinomial(p, 1))
