"""Run the benchmarks named on the command line, or all of them: ``python -m benchmarks [NAME…] [FLAG…]``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from itertools import takewhile

import benchmarks

NAMES = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_"))


def main() -> int:
    """Run each; its own flags follow the names. 1 if one of them says that it failed."""
    names = list(takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))
    sys.argv[1:] = sys.argv[1 + len(names) :]
    failed = 0
    for name in names or NAMES:
        print(f"== {name}", flush=True)
        failed |= importlib.import_module(f"benchmarks.{name}").main() or 0
    return failed


sys.exit(main())
