"""Two equal drafts double their mass in a single test: 1 - (1 - a)^2 with one coin."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        tokens.append(step(target(tokens), draft(tokens)))
    return tokens[len(prompt) :][:n]


def step(p, q):
    drafts = torch.multinomial(q, 2, replacement=True).tolist()
    r = p
    for token in dict.fromkeys(drafts):
        if torch.rand(()) < drafts.count(token) * r[token] / q[token]:
            return token
        new = (r - q).clamp(min=0)
        r = new / new.sum() if new.sum() > 0 else r
    return int(torch.multinomial(r, 1))
