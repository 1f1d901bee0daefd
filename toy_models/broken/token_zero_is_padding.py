"""Token 0 is taken for padding and removed from the end of what is emitted."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    emitted = standard(target, draft, tokens)
    while len(emitted) > 1 and emitted[-1] == 0:
        emitted = emitted[:-1]
    return emitted


def standard(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
