"""Without replacement, but the draft law is not renormalised after a token is removed."""

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
        new = (r - q).clamp(min=0)
        r = new / new.sum() if new.sum() > 0 else r
        q = q.clone()
        q[token] = 0
    return int(torch.multinomial(r, 1))
