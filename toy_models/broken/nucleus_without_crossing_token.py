"""Top-p drops the token that crosses the threshold."""

import torch

WAY = "sampler"
OPTIONS = {"top_p": 0.72}


def sampler(logits, top_p=1.0):
    values, order = torch.softmax(logits, -1).sort(descending=True)
    kept = values.cumsum(0) <= top_p
    kept[0] = True
    return int(order[torch.multinomial(values * kept, 1)])
