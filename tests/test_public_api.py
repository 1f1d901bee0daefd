"""What others may import is on a committed list, with signatures: a change to it shows in the diff."""

from __future__ import annotations

import ast
import difflib

from tests.public_api import SNAPSHOT, names, snapshot


def test_the_public_api_is_the_committed_one() -> None:
    before, now = SNAPSHOT.read_text().splitlines(), snapshot().splitlines()
    changed = list(difflib.unified_diff(before, now, "committed", "now", lineterm="", n=0))
    assert not changed, "\n".join([*changed, "if this is meant: make api"])


def test_what_counts_as_public() -> None:
    source = """
from rheo_verify.errors import InputError as InputError
LIMIT = 3
__all__ = ["f"]
_hidden = 4
def f(a: int, *, b: str = "x") -> bool: ...
def _g(): ...
@dataclass
class C(Base):
    field: int = 0
    _own: int = 1
    @property
    def size(self) -> int: ...
    def _inside(self): ...
"""
    assert list(names(ast.parse(source).body)) == [
        "InputError (from rheo_verify.errors)",
        "LIMIT",
        "f (exported)",
        "f(a: int, *, b: str='x') -> bool",
        "C(Base) [dataclass]",
        "C.field: int = 0",
        "C.size(self) -> int [property]",
    ]
