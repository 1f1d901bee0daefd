"""A bias on the logits is applied to the bonus row and to no other."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n] * torch.exp(0.1 * torch.arange(target.shape[1])), 1)])
