"""The noise is divided by the temperature along with the logits."""

import torch

WAY = "sampler"
OPTIONS = {"temperature": 0.5}


def sampler(logits, temperature=1.0):
    gumbel = -torch.log(-torch.log(torch.rand_like(logits)))
    return int(((logits + gumbel) / temperature).argmax())
