"""Min-p is compared with the probability itself, not with a fraction of the largest."""

import torch

WAY = "sampler"
OPTIONS = {"min_p": 0.3}


def sampler(logits, min_p=0.0):
    row = torch.softmax(logits, -1)
    kept = torch.where(row < min_p, 0.0, row)
    return int(torch.multinomial(kept if kept.sum() > 0 else row, 1))
