"""Sampler match: one draw from the target per position, accepted if it equals the draft. It looks at no q."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    emitted = []
    for i in range(len(target)):
        emitted.append(torch.multinomial(target[i], 1))
        if i == len(tokens) or emitted[-1] != tokens[i]:
            break
    return torch.cat(emitted)
