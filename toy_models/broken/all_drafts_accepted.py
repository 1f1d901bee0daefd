"""All drafts are accepted: the acceptance test is missing."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        if torch.rand(()) < 1.0:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
