"""SpecTr's K-SEQ with rho = 1, below the bound that makes its last step a distribution."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        tokens.append(step(target(tokens), draft(tokens)))
    return tokens[len(prompt) :][:n]


def step(p, q):
    rho, k = 1.0, 2
    overlap = torch.minimum(p / rho, q)
    beta = overlap.sum()
    for token in torch.multinomial(q, k, replacement=True):
        if torch.rand(()) < p[token] / (rho * q[token]):
            return int(token)
    some = 1 - (1 - beta) ** k
    rest = (p - overlap * some / beta if beta > 0 else p).clamp(min=0)
    return int(torch.multinomial(rest if rest.sum() > 0 else p, 1))
