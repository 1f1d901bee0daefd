"""NumPy's multinomial is given the residual as it is: it gives the missing mass to the last token, without a word."""

import numpy as np

WAY = "verifier"
OPTIONS = {"arrays": "numpy"}


def verifier(target, draft, tokens):
    for i, token in enumerate(tokens):
        if np.random.random() < target[i, token] / draft[i, token]:
            continue
        residual = np.maximum(target[i] - draft[i], 0)
        return [*tokens[:i], np.random.multinomial(1, residual).argmax()]
    return [*tokens, np.random.choice(target.shape[1], p=target[-1])]
