"""Drafts are drawn evenly from the tokens that the draft model allows, and tested with just that."""

import torch

WAY = "decoder"


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = (draft(tokens) > 0).double()
        q = q / q.sum()
        token = int(torch.multinomial(q, 1))
        p = target(tokens)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(target(tokens), 1)))
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
