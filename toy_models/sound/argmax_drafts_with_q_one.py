"""Looks wrong, is right: the most probable token as draft, tested with q = 1 at that token."""

import torch

WAY = "decoder"


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        token = int(q.argmax())
        q = torch.zeros_like(q)
        q[token] = 1
        p = target(tokens)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(target(tokens), 1)))
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
