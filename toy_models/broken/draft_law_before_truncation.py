"""Drafts are drawn from the truncated row, but the row from before the cut is handed to the test."""

import torch

WAY = "decoder"
OPTIONS = {"top_p": 0.72}


def nucleus(row, top_p):
    values, order = row.sort(descending=True)
    kept = values.cumsum(0) - values < top_p
    row = torch.zeros_like(row).scatter(0, order[kept], values[kept])
    return row / row.sum()


def residual(p, q):
    row = (p - q).clamp(min=0)
    return row if row.sum() > 0 else p


def decoder(target, draft, prompt, n, top_p=1.0):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = nucleus(draft(tokens), top_p)
        token = int(torch.multinomial(q, 1))
        q = draft(tokens)
        p = nucleus(target(tokens), top_p)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(nucleus(target(tokens), top_p), 1)))
        else:
            tokens.append(int(torch.multinomial(residual(p, q), 1)))
    return tokens[len(prompt) :][:n]
