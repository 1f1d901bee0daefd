"""What every text for a terminal shares: from which width on it is narrow, and how colours are written in it."""

from __future__ import annotations

import re

NARROW = 60
"""Columns below which labels stand above their words, and lines are fitted."""
COLOUR = re.compile(r"\033\[[\d;]*m")
"""One change of colour; it takes no column."""
