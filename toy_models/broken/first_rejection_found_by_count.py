"""The number of accepted drafts is the number of successful tests, not the length of the accepted prefix."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    place = torch.arange(n)
    good = torch.rand(n) < target[place, tokens] / draft[place, tokens]
    count = int(good.sum())
    if count == n:
        row = target[n]
    else:
        row = (target[count] - draft[count]).clamp(min=0)
        row = row if row.sum() > 0 else target[count]
    return torch.cat([tokens[:count], torch.multinomial(row, 1)])
