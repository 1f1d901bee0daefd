"""`python -m tests.public_api` writes tests/public_api.txt: every public name of the package, with its signature.

Read from the source, not from imported modules: the list is the same whatever is installed, under every Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SNAPSHOT = ROOT / "tests" / "public_api.txt"
PRIVATE = ("cli",)
"""The command line is public by its flags (docs/reference/command-line.md), not by its functions."""


def snapshot() -> str:
    """One line a name, module by module."""
    lines: list[str] = []
    for path in sorted((ROOT / "rheo_verify").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if not any(part in PRIVATE or (part.startswith("_") and part != "__init__") for part in parts):
            module = ".".join(part for part in parts if part != "__init__")
            lines += (f"{module}.{line}" for line in names(ast.parse(path.read_text()).body))
    return "\n".join(lines) + "\n"


def names(body: list[ast.stmt]) -> Iterator[str]:
    """Public functions with their signatures, classes with their bases, fields and methods, and constants."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not node.name.startswith("_") or node.name in ("__init__", "__call__", "__iter__", "__enter__"):
                kind = "" if not node.decorator_list else f" [{', '.join(map(ast.unparse, node.decorator_list))}]"
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                yield f"{node.name}({ast.unparse(node.args)}){returns}{kind}"
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
            kind = "" if not node.decorator_list else f" [{', '.join(map(ast.unparse, node.decorator_list))}]"
            yield f"{node.name}{bases}{kind}"
            yield from (f"{node.name}.{line}" for line in names(node.body))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if not node.target.id.startswith("_"):
                default = "" if node.value is None or node.target.id.isupper() else f" = {ast.unparse(node.value)}"
                yield f"{node.target.id}: {ast.unparse(node.annotation)}{default}"
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from (f"{name} (exported)" for name in ast.literal_eval(node.value))
        elif isinstance(node, ast.Assign):
            yield from (
                target.id for target in node.targets if isinstance(target, ast.Name) and not target.id.startswith("_")
            )
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rheo_verify"):
            yield from (f"{alias.asname} (from {node.module})" for alias in node.names if alias.asname == alias.name)


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")
