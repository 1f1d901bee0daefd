"""Floor 6: the command line. `main` is what `python -m rheo_verify` and `rheo-verify` run."""

from __future__ import annotations


def main() -> int:
    """Run the command line with `sys.argv` and return its exit code, whatever stdout can encode."""
    import contextlib
    import sys

    from rheo_verify.cli.main import run

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.set_int_max_str_digits(0)  # exact answers may be long
    return run()
