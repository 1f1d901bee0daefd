"""An epsilon in the ratio rejects drafts although p = q; the empty residual then yields token V - 1."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / (draft[i, token] + 1e-3):
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        cumulative = residual.cumsum(0) / residual.sum()
        token = (torch.rand(()) < cumulative).int().argmax() if residual.sum() > 0 else torch.tensor(len(residual) - 1)
        return torch.cat([tokens[:i], token.reshape(1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
