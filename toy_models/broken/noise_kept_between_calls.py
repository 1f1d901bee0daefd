"""The uniforms are drawn in the first call and kept for all that follow."""

import torch

WAY = "verifier"


class verifier:  # noqa: N801 - named by its way in
    def __init__(self):
        self.uniforms = None

    def __call__(self, target, draft, tokens):
        if self.uniforms is None:
            self.uniforms = torch.rand(len(tokens))
        for i, token in enumerate(tokens):
            if not self.uniforms[i] < target[i, token] / draft[i, token]:
                residual = (target[i] - draft[i]).clamp(min=0)
                return torch.cat([tokens[:i], torch.multinomial(residual / residual.sum(), 1)])
        return torch.cat([tokens, torch.multinomial(target[len(tokens)], 1)])
