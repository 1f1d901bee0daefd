"""Probabilities below 1e-3 are rounded to zero before verification."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    target = torch.where(target < 1e-3, 0.0, target)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
