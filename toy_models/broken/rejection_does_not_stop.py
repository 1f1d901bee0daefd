"""After a rejection the following drafts are still tested and kept."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    emitted = []
    for i, token in enumerate(tokens):
        if torch.rand(()) < target[i, token] / draft[i, token]:
            emitted.append(token.reshape(1))
        else:
            residual = (target[i] - draft[i]).clamp(min=0)
            emitted.append(torch.multinomial(residual / residual.sum(), 1))
    return torch.cat([*emitted, torch.multinomial(target[len(tokens)], 1)])
