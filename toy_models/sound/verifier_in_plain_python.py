"""The standard verifier on lists, with `random.choices`."""

from random import choices, random

WAY = "verifier"
OPTIONS = {"arrays": "list"}


def verifier(target, draft, tokens):
    for p, q, (i, token) in zip(target, draft, enumerate(tokens), strict=False):
        if random() * q[token] < p[token]:
            continue
        residual = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
        return [*tokens[:i], *choices(range(len(p)), residual)]
    return [*tokens, *choices(range(len(target[-1])), target[-1])]
