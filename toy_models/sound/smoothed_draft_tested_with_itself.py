"""Drafts are drawn from a row mixed with the uniform one, and tested with that mixture."""

import torch

WAY = "decoder"


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        q = 0.75 * q + 0.25 / len(q)
        token = int(torch.multinomial(q, 1))
        p = target(tokens)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(target(tokens), 1)))
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
