"""The draft is the most probable token, but is tested with p/q as if it had been drawn."""

import torch

WAY = "decoder"


def residual(p, q):
    row = (p - q).clamp(min=0)
    return row if row.sum() > 0 else p


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        token = int(q.argmax())
        p = target(tokens)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(target(tokens), 1)))
        else:
            tokens.append(int(torch.multinomial(residual(p, q), 1)))
    return tokens[len(prompt) :][:n]
