"""Looks wrong, is right: a token of low draft probability ends drafting, but is itself kept and tested."""

import torch

WAY = "decoder"


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        drafts = []
        while len(drafts) < 2:
            q = draft(tokens + drafts)
            drafts.append(int(torch.multinomial(q, 1)))
            if q[drafts[-1]] < 0.45:
                break
        for token in drafts:
            p, q = target(tokens), draft(tokens)
            if torch.rand(()) < p[token] / q[token]:
                tokens.append(token)
            else:
                tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
                break
    return tokens[len(prompt) :][:n]
