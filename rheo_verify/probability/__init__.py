"""Floor 0: exact rationals, distributions, laws, and `Chance` with its interpreters. Knows nothing of decoding."""
