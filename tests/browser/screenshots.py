"""Draws the pictures in docs/how-to/pictures: ``python -m tests.browser.screenshots`` (needs a chromium)."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path

from rheo_verify.cli.main import run
from tests.browser.chromium import browser, find_browser

ROOT = Path(__file__).parent.parent.parent
PICTURES = ROOT / "docs" / "how-to" / "pictures"
REFUTED = ["enumerate", "--model", "table-1.json", "--depth", "1", "--budget", "2", "--proxy", "1/4"]
VERIFIED = ["enumerate", "--vocab", "6", "--m", "1"]
DECODERS = ["decoders", "--vocab", "3"]


def main() -> int:
    """Write the pictures; 2 where there is no browser."""
    path = find_browser()
    if path is None:
        print("no browser here: apt-get install chromium, or set CHROMIUM to one", file=sys.stderr)
        return 2
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser(path) as tab, contextlib.chdir(folder):
        shutil.copy(ROOT / "toy_models" / "table-1.json", ".")
        for name, command in (("refuted", REFUTED), ("verified", VERIFIED), ("decoders", DECODERS)):
            with contextlib.redirect_stdout(io.StringIO()):
                run([*command, "--html", f"{name}.html"])
        tab.open(Path("refuted.html"), width=1180, height=1010, calm=True)
        tab.screenshot(PICTURES / "report-refuted.png")
        tab.open(Path("verified.html"), width=1180, height=1010, dark=True, calm=True)
        for _ in range(7):
            tab.key("ArrowRight")
        tab.run("document.getElementById('classes').scrollIntoView()")
        tab.screenshot(PICTURES / "report-stepper-dark.png")
        tab.open(Path("refuted.html"), width=390, height=844, calm=True)
        tab.run("document.querySelector('article').scrollIntoView()")
        tab.screenshot(PICTURES / "report-phone.png")
        tab.open(Path("decoders.html"), width=1180, height=800, calm=True)
        tab.click(".sortable th:nth-child(4) button")
        tab.click(".sortable th:nth-child(4) button")
        tab.run("document.getElementById('table').scrollIntoView()")
        tab.screenshot(PICTURES / "report-decoders.png")
        with contextlib.redirect_stdout(io.StringIO()):
            run([*REFUTED, "--svg", "tree-table-1.svg"])
        shutil.copy("tree-table-1.svg", PICTURES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
