"""A draft is accepted when its target probability passes an entropy-dependent threshold."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        entropy = -torch.special.xlogy(target[i], target[i]).sum()
        if target[i, token] > min(0.3, 0.6 * torch.exp(-entropy)):
            continue
        residual = target[i]
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
