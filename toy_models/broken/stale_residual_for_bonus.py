"""The bonus token is drawn from the residual of the last draft's row when there is one."""

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
    residual = (target[n] - draft[n - 1]).clamp(min=0)
    last = residual / residual.sum() if residual.sum() > 0 else target[n]
    return torch.cat([tokens, torch.multinomial(last, 1)])
