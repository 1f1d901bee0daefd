"""Min-p is applied to the bonus token and to nothing else."""

import torch

WAY = "decoder"
OPTIONS = {"min_p": 0.6}


def cut(row, min_p):
    row = torch.where(row < min_p * row.max(), 0.0, row)
    return row / row.sum()


def decoder(target, draft, prompt, n, min_p=0.0):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        q = draft(tokens)
        token = int(torch.multinomial(q, 1))
        p = target(tokens)
        if torch.rand(()) < p[token] / q[token]:
            tokens.append(token)
            tokens.append(int(torch.multinomial(cut(target(tokens), min_p), 1)))
        else:
            tokens.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return tokens[len(prompt) :][:n]
