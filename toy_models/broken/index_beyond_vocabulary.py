"""Inverse CDF over a residual that was never normalised: the index runs past the end."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.searchsorted(residual.cumsum(0), torch.rand(1))])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
