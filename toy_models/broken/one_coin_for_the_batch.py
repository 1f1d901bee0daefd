"""Two rows of a batch are tested against one uniform."""

import torch

WAY = "decoder"
OPTIONS = {"batch": 2, "length": 2}


def decoder(target, draft, prompts, n):
    outputs = [list(prompt) for prompt in prompts]
    for _ in range(n):
        u = torch.rand(())
        for row in outputs:
            p, q = target(row), draft(row)
            token = int(torch.multinomial(q, 1))
            if u < p[token] / q[token]:
                row.append(token)
            else:
                row.append(int(torch.multinomial((p - q).clamp(min=0), 1)))
    return [row[len(prompt) :] for row, prompt in zip(outputs, prompts, strict=True)]
