"""The bonus token is drawn from the whole row."""

import torch

WAY = "decoder"
OPTIONS = {"top_p": 0.72}


def nucleus(row, top_p):
    values, order = row.sort(descending=True)
    kept = values.cumsum(0) - values < top_p
    row = torch.zeros_like(row).scatter(0, order[kept], values[kept])
    return row / row.sum()


def decoder(target, draft, prompt, n, top_p=1.0):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = nucleus(draft(tokens), top_p)
        token = int(torch.multinomial(q, 1))
        p = nucleus(target(tokens), top_p)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(target(tokens), 1)))
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
