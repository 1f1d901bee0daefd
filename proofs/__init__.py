"""Machine-checked proofs: the registry of claims, and the checks behind them, from bounded sweeps to Rocq."""
