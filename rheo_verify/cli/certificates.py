"""What commands share that write certificates: the flag, and the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from rheo_verify.cli.files import cannot_write, open_output
from rheo_verify.cli.messages import note
from rheo_verify.errors import InputError


def add_certificate(group: Any, what: str) -> None:
    """Register ``--certificate FILE``; `what` says what is rechecked."""
    group.add_argument(
        "--certificate",
        metavar="FILE",
        help=f"write what others need to recheck {what}: FILE.json (for proofs/check_certificate.py) or FILE.v "
        "(self-contained, for coqc)",
    )


def check_name(path: str | None) -> None:
    """Raises `InputError` RV703 unless the name ends in .json or .v."""
    if path is not None and not path.endswith((".json", ".v")):
        raise InputError("RV703", f"--certificate {path}: the name must end in .json or .v")


def write(path: str, to_json: Callable[[], str], to_rocq: Callable[[], str], scope: str = "") -> None:
    """Write the file, and say on stderr of what it is (`scope`) and how to recheck it.

    Raises `InputError` RV703 where it cannot be written.
    """
    written = to_json() if path.endswith(".json") else to_rocq()
    try:
        with open_output(path) as file:
            file.write(written)
    except OSError as error:
        raise cannot_write("--certificate", path, error, "RV703") from None
    how = f"coqc {path}" if path.endswith(".v") else f"python {_checker()} {path}"
    note(f"certificate{scope} written; recheck it with: {how}")


def _checker() -> str:
    """The checker beside the proofs of this installation, as it can be called from here."""
    from rheo_verify.checks.proofs import proofs_folder

    path = proofs_folder() / "check_certificate.py"
    return os.path.relpath(path) if path.is_relative_to(os.getcwd()) else str(path)
