"""The residual is p - q, negative entries and all."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        return torch.cat([tokens[:i], torch.multinomial(target[i] - draft[i], 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
