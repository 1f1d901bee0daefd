"""The uniform that rejected the draft is rescaled to [0, 1) and used again: it is uniform given the rejection."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    for i, token in enumerate(tokens):
        ratio = target[i, token] / draft[i, token]
        u = torch.rand(())
        if u < ratio:
            continue
        again = (u - ratio) / (1 - ratio)
        residual = (target[i] - draft[i]).clamp(min=0)
        drawn = (again < (residual / residual.sum()).cumsum(0)).int().argmax()
        return torch.cat([tokens[:i], drawn.reshape(1)])
    return torch.cat([tokens, torch.multinomial(target[len(tokens)], 1)])
