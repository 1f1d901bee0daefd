"""Long work in independent pieces: one seam for processes, for a cluster, and for keeping what is finished.

A `Job` says what the pieces are and how one is done; `results` does them, here or elsewhere, and yields their results
in the order of the pieces. What comes out does not depend on who did which piece, or when.
"""

from rheo_verify.pieces.job import Job
from rheo_verify.pieces.running import Workers, results
from rheo_verify.pieces.store import Store

__all__ = ["Job", "Store", "Workers", "results"]
