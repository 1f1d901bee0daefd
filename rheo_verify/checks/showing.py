"""How a notebook shows an answer. The one place that asks a higher floor, by name and only when it is shown."""

from __future__ import annotations

import importlib
from typing import Any

REPORT = "rheo_verify.report.html.notebook"


def html_of(value: Any) -> str | None:
    """HTML for a notebook's output; None where there is none, so that the notebook shows text."""
    found: str | None = importlib.import_module(REPORT).to_html(value)
    return found
