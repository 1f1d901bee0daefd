"""Sphinx: `make docs`. Pages are Markdown; what the source knows is read from it when the site is built."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import rheo_verify  # noqa: E402

project = "rheo_verify"
author = "the rheo_verify authors"
copyright = "the rheo_verify authors, Apache-2.0"
version = release = rheo_verify.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "generated"]
html_theme = "furo"
html_title = f"rheo_verify {release}"
exclude_patterns = ["_build"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = [
    "torch",
    "transformers",
    "safetensors",
    "matplotlib",
    "hypothesis",
    "sympy",
    "z3",
    "scipy",
    "distributed",
]
html_show_sourcelink = False
