"""The Gumbel-max sampler."""

import torch

WAY = "sampler"
OPTIONS = {"temperature": 0.5}


def sampler(logits, temperature=1.0):
    gumbel = -torch.log(-torch.log(torch.rand_like(logits)))
    return int((logits / temperature + gumbel).argmax())
