"""Two rows of a batch: the residual of one is computed with the draft row of the other."""

import torch

WAY = "decoder"
OPTIONS = {"batch": 2, "length": 2}


def decoder(target, draft, prompts, n):
    outputs = [list(prompt) for prompt in prompts]
    for _ in range(n):
        p, q = [target(row) for row in outputs], [draft(row) for row in outputs]
        for b, row in enumerate(outputs):
            token = int(torch.multinomial(q[b], 1))
            if torch.rand(()) < p[b][token] / q[b][token]:
                row.append(token)
            else:
                residual = (p[b] - q[b - 1]).clamp(min=0)
                row.append(int(torch.multinomial(residual if residual.sum() > 0 else p[b], 1)))
    return [row[len(prompt) :] for row, prompt in zip(outputs, prompts, strict=True)]
