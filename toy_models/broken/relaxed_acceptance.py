"""Drafts are accepted with min(1, 1.5 p/q) to accept more of them."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < 1.5 * target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
