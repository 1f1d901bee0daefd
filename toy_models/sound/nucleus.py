"""Top-p with the crossing token."""

import torch

WAY = "sampler"
OPTIONS = {"top_p": 0.72}


def sampler(logits, top_p=1.0):
    values, order = torch.softmax(logits, -1).sort(descending=True)
    kept = values.cumsum(0) - values < top_p
    return int(order[torch.multinomial(values * kept, 1)])
