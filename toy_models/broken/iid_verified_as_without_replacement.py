"""Two independent drafts are tested as if they had been drawn without replacement, duplicates included."""

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
    for token in torch.multinomial(q, 2, replacement=True).tolist():
        if q[token] > 0 and torch.rand(()) < r[token] / q[token]:
            return token
        new = (r - q).clamp(min=0)
        r = new / new.sum() if new.sum() > 0 else r
        q = q.clone()
        q[token] = 0
        q = q / q.sum() if q.sum() > 0 else q
    return int(torch.multinomial(r, 1))
