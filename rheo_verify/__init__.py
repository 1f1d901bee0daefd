"""Decide, exactly, whether a speculative decoder is lossless."""

__version__ = "0.1.0"
