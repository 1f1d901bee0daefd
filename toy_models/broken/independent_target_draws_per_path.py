"""Every candidate gets a target draw of its own; any match is accepted."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        tokens.append(step(target(tokens), draft(tokens)))
    return tokens[len(prompt) :][:n]


def step(p, q):
    first = q.argsort(descending=True)[:2]
    for token in first:
        draw = torch.multinomial(p, 1)
        if draw == token:
            return int(token)
    return int(draw)
