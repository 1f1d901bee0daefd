"""The page of `empirical`: its verdicts, and the numbers of the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from rheo_verify.cli.main import run
from tests.html.reading import read

SMALL = ["empirical", "--contexts", "20", "--draws", "40", "--m", "0,1"]


@pytest.mark.parametrize(
    "fault",
    [["--tokens", "60"], ["--temperature", "0.6", "--fault", "bonus-at-temperature-1", "--tokens", "300"]],
)
def test_the_page_says_what_json_says(fault: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    code = run([*SMALL, *fault, "--json", "--html", str(page)])
    data = json.loads(capsys.readouterr().out)
    assert code == (1 if "--fault" in fault else 0)
    root = read(page)
    assert data["verdict"] in root.all("h1")[0].text
    assert root.all("section")[0].attributes["id"] == ("decoding" if "--fault" in fault else "layers")
    table = root.all("section", id="decoding")[0].all("table")[0]
    rows = {row.children[0].text: row for row in table.all("tbody")[0].children}
    assert list(rows) == [design["name"] for design in data["designs"]]
    for design in data["designs"]:
        cells = rows[design["name"]].children
        assert float(cells[2].attributes["data-value"]) == design["tau"]
        assert ("REFUTED" in cells[1].text) == (design["verdict"] == "REFUTED")
    bars = root.all("section", id="acceptance")[0].all("table")[0]
    shown = [float(row.children[1].text) for row in bars.all("tbody")[0].children]
    assert shown == pytest.approx([layer["acceptance"] for layer in data["exact"]["layers"]], abs=1e-4)
