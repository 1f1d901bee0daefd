"""The notebook tour, executed: it runs, and what it shows is what is kept in the file.

``python -m tests.html.test_tour`` executes it and keeps what it shows.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
TOUR = ROOT / "docs" / "tour.ipynb"
HERE = re.compile(re.escape(f"{ROOT}{os.sep}"))


def execute() -> Any:
    """The notebook after a run of all its cells, in a folder of its own, with this machine's paths left out."""
    import nbclient
    import nbformat

    notebook = nbformat.read(TOUR, as_version=4)
    os.environ["PYTHONPATH"] = str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = _joined(cell.outputs)
        for output in cell.get("outputs", ()):
            for kind, shown in output.get("data", {}).items():
                output["data"][kind] = HERE.sub("", shown) if isinstance(shown, str) else shown
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """What a cell prints comes in pieces of any size: here it is one."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == joined[-1].output_type == "stream" and output.name == joined[-1].name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def shown(notebook: Any) -> list[Any]:
    """What each code cell shows: text and HTML; of pictures, that there is one."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            found.append(output.get("text") or data.get("text/html") or sorted(data))
    return found


@pytest.mark.notebook
def test_the_tour_runs_and_shows_what_it_says() -> None:
    for name in ("nbclient", "nbformat", "ipykernel", "matplotlib"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install '.[notebook]'")
    import nbformat

    kept = nbformat.read(TOUR, as_version=4)
    assert shown(execute()) == shown(kept)
    assert len(shown(kept)) >= 10


def main() -> None:
    """Execute the tour and keep what it shows."""
    import nbformat

    nbformat.write(execute(), TOUR)


if __name__ == "__main__":
    main()
