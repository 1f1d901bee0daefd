"""The draft's probabilities went through bfloat16 on their way to the verifier; the drafts were drawn before."""

import torch

WAY = "verifier"


def verifier(target, draft, tokens):
    n = len(tokens)
    draft = draft.bfloat16().to(target.dtype)
    for i in range(n):
        token = tokens[i]
        if torch.rand(()) < target[i, token] / draft[i, token]:
            continue
        residual = (target[i] - draft[i]).clamp(min=0)
        return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
    return torch.cat([tokens, torch.multinomial(target[n], 1)])
