"""Inverse CDF with the index one too small at the first token."""

import torch

WAY = "sampler"


def sampler(logits):
    cumulative = torch.softmax(logits, -1).cumsum(0)
    return int(torch.searchsorted(cumulative, torch.rand(1)).sub(1).clamp(min=0))
