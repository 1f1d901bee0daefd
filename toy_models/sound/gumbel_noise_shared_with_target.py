"""Looks wrong, is right: draft and target use the same noise, and the target's choice is what is emitted."""

import torch

WAY = "decoder"


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q, p = draft(tokens), target(tokens)
        gumbel = -torch.log(-torch.log(torch.rand_like(q)))
        guess, token = int((q.log() + gumbel).argmax()), int((p.log() + gumbel).argmax())
        tokens.append(token)
        if guess == token:
            tokens.append(int(torch.multinomial(target(tokens), 1)))
    return tokens[len(prompt) :][:n]
