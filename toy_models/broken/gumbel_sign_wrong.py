"""Gumbel noise with a wrong sign: the logarithm of an exponential is added instead of subtracted."""

import torch

WAY = "sampler"


def sampler(logits):
    noise = torch.empty_like(logits).exponential_()
    return int((logits + noise.log()).argmax())
