"""Block verification (arXiv 2403.10444): a coin at every position, the longest success counts."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n, a, accepted, rate = len(tokens), 1.0, 0, [1.0]
    for i in range(n):
        a = min(1.0, a * float(target[i, tokens[i]] / draft[i, tokens[i]]))
        rate.append(a)
        if i + 1 < n:
            z = (a * target[i + 1] - draft[i + 1]).clamp(min=0).sum()
            h = z / (z + 1 - a) if z + 1 - a > 0 else 1.0
        else:
            h = a
        if torch.rand(()) < h:
            accepted = i + 1
    if accepted == n:
        row = target[n]
    else:
        row = (rate[accepted] * target[accepted] - draft[accepted]).clamp(min=0)
    return torch.cat([tokens[:accepted], torch.multinomial(row, 1)])
