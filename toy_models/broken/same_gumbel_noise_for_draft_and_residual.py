"""The noise that drew the draft draws the residual as well."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        noise = torch.empty_like(q).exponential_()
        token = int((q / noise).argmax())
        p = target(tokens)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(target(tokens), 1)))
        else:
            tokens.append(int(((p - q).clamp(min=0) / noise).argmax()))
    return tokens[len(prompt) :][:n]
