"""Style sheets and the script, as they lie beside this file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def asset(name: str) -> str:
    """The text of ``colours.css``, ``tree.css``, ``parts.css``, ``page.css`` or ``report.js``."""
    return files("rheo_verify.report.html").joinpath(name).read_text(encoding="utf-8")
