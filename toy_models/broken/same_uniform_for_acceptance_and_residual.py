"""The residual is drawn by inverse CDF from the uniform that rejected the draft."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        u = torch.rand(())
        if u < target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        token = torch.searchsorted((residual / residual.sum()).cumsum(0), u.reshape(1))
        return torch.cat([tokens[:i], token.clamp(max=target.shape[1] - 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
