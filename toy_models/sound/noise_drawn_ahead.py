"""Uniforms are drawn ahead for several calls, and each is used once."""

import torch

WAY = "verifier"


class verifier:  # noqa: N801 - named by its way in
    def __init__(self):
        self.uniforms = []

    def __call__(self, target, draft, tokens):
        if len(self.uniforms) < len(tokens):
            self.uniforms.extend(torch.rand(3 * len(tokens)))
        for i, token in enumerate(tokens):
            if not self.uniforms.pop() < target[i, token] / draft[i, token]:
                residual = (target[i] - draft[i]).clamp(min=0)
                return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
        return torch.cat([tokens, torch.multinomial(target[len(tokens)], 1)])
