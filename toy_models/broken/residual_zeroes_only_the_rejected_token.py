"""After a rejection the token is drawn from the target without the rejected token, not from (p - q)+."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        residual = target[i].clone()
        residual[token] = 0
        if not residual.sum():
            residual = target[i].clone()
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
