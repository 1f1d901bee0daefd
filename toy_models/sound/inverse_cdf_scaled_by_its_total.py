"""Inverse CDF over a residual that was never normalised: the uniform is scaled by its total instead."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    for i, token in enumerate(tokens):
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        sums = (target[i] - draft[i]).clamp(min=0).cumsum(0)
        return torch.cat([tokens[:i], torch.searchsorted(sums, torch.rand(1) * sums[-1], right=True)])
    return torch.cat([tokens, torch.multinomial(target[len(tokens)], 1)])
