import numpy as np


def verify(target, draft, tokens):
    for i, token in enumerate(tokens):
        if np.random.random() < target[i, token] / draft[i, token]:
            continue
        rest = np.maximum(target[i] - draft[i], 0)
        return [*tokens[:i], np.random.choice(len(rest), p=rest / rest.sum())]
    return [*tokens, np.random.choice(target.shape[1], p=target[len(tokens)])]
