"""The bonus token is emitted at the end of its cycle and again at the start of the next."""

import torch

WAY = "decoder"


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        token = int(torch.multinomial(q, 1))
        p = target(tokens)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            bonus = int(torch.multinomial(target(tokens), 1))
            tokens += [bonus, bonus]
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
