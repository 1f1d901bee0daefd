"""Looks wrong, is right: the draft stays at temperature 1, both where it is drawn and where it is tested."""

import torch

WAY = "decoder"
OPTIONS = {"temperature": 0.5}


def tempered(row, temperature):
    row = row ** (1 / temperature)
    return row / row.sum()


def decoder(target, draft, prompt, n, temperature=1.0):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        token = int(torch.multinomial(q, 1))
        p = tempered(target(tokens), temperature)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(tempered(target(tokens), temperature), 1)))
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
