"""Floor 6: the command line. `main` is what `python -m rheo_verify` and `rheo-verify` run."""

from __future__ import annotations


def main() -> int:
    """Run the command line with `sys.argv` and return its exit code."""
    from rheo_verify.cli.main import run

    return run()
