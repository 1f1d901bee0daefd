"""Drafting stops before a token whose draft probability is low: the token is dropped because of what it is."""

import torch

WAY = "decoder"


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        p, q = target(tokens), draft(tokens)
        token = int(torch.multinomial(q, 1))
        if q[token] < 0.45:
            tokens.append(int(torch.multinomial(p, 1)))
        elif torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
