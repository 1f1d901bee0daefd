"""The residual is drawn by a race of exponentials, prepared before anything is known."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    noise = torch.empty_like(target).exponential_()
    place = torch.arange(n)
    accepted = (torch.rand(n) < target[place, tokens] / draft[place, tokens]).long().cumprod(0).sum()
    row = target[accepted]
    if accepted < n:
        row = (row - draft[accepted]).clamp(min=0)
        row = row / row.sum()
    return torch.cat([tokens[:accepted], (row / noise[accepted]).argmax().reshape(1)])
