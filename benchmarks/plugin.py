"""What the pytest plugin adds to a suite that does not use it: at most 50 ms.

Run: ``python -m benchmarks plugin``. CPU time of fresh processes; runs with and without the plugin alternate, and the
best of each counts, so that a busy machine disturbs both alike.
Where the time goes: ``python -X importtime -c 'import pytest, rheo_verify.testing.plugin'``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMIT = 50.0
IMPORT = (
    "import pytest, time; start = time.process_time(); import rheo_verify.testing.plugin; "
    "print(1000 * (time.process_time() - start))"
)
SUITE = "import pytest\n\n\n@pytest.mark.parametrize('n', range(20))\ndef test(n):\n    assert n >= 0\n"


def imported() -> float:
    """Milliseconds to import the plugin where pytest is imported already."""
    done = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def suite(folder: str, *options: str) -> float:
    """Milliseconds of CPU time of a whole run of pytest."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, folder]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main(rounds: int = 15) -> int:
    """Print the times; 1 where the limit is passed."""
    imports = [imported() for _ in range(rounds)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_nothing.py").write_text(SUITE)
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        pairs = [
            (suite(folder, "-p", "no:rheo_verify"), suite(folder, "-p", "rheo_verify.testing.plugin"))
            for _ in range(rounds)
        ]
    without, given = (min(values) for values in zip(*pairs, strict=True))
    added = given - without
    print(f"import beside pytest {min(imports):6.1f} ms")
    print(f"a suite of 20 tests  {without:6.1f} ms without, {given:.1f} ms with: {added:+.1f} ms (limit {LIMIT:.0f})")
    return int(max(added, min(imports)) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
