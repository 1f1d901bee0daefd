"""Floor 1: models, that is next-token distributions given a context."""
