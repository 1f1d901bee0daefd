"""The logits are multiplied by the temperature."""

import torch

WAY = "sampler"
OPTIONS = {"temperature": 0.5}


def sampler(logits, temperature=1.0):
    return int(torch.multinomial(torch.softmax(logits * temperature, -1), 1))
