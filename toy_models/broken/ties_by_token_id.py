"""A small tree pruned to two nodes: equal scores are ordered by token id, so survival depends on the drawn token."""

import torch

WAY = "decoder"
OPTIONS = {"length": 2, "vocab": 3, "random": 60}


def decoder(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + n:
        tokens.append(step(target(tokens), draft(tokens)))
    return tokens[len(prompt) :][:n]


def step(p, q):
    lead = int(q.argmax())
    rest = q.clone()
    rest[lead] = 0
    if not rest.sum() > 0:
        return int(torch.multinomial(p, 1))
    law = rest / rest.sum()
    sampled = int(torch.multinomial(law, 1))
    scores = {lead: float(q[lead]), sampled: min(float(q[lead]), float(rest.sum()))}
    for token in range(len(q)):
        scores.setdefault(token, float(q[token]))
    order = sorted(scores, key=lambda token: (-scores[token], token))
    kept = order[:2]
    r = p
    if sampled in kept:
        if torch.rand(()) < p[sampled] / law[sampled]:
            return sampled
        r = (p - law).clamp(min=0)
        r = r / r.sum()
    return int(torch.multinomial(r, 1))
