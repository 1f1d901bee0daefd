"""Run the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

NAMES = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_"))


def main() -> None:
    for name in sys.argv[1:] or NAMES:
        print(f"== {name}")
        importlib.import_module(f"benchmarks.{name}").main()


main()
