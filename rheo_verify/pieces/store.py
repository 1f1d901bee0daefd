"""Finished pieces on disk, one file each, under the digest of the question and the piece.

A file appears whole or not at all, so whatever ends the process, at most the pieces in hand are lost. Nothing is
believed that does not prove to be what was written: every file carries its own address and a digest of its result.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.pieces.job import Data, Job, digest

SCHEMA, VERSION = "rheo_verify/finished-piece", 1
MARK = "rheo_verify-checkpoint.json"


class Store:
    """A directory of finished pieces; many questions may share it. Raises `InputError` RV801 on what is not its own."""

    def __init__(self, directory: str | Path) -> None:
        if not str(directory):
            raise InputError("RV801", "--checkpoint needs the name of a directory")
        self.directory = Path(directory)
        mark = self.directory / MARK
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if mark.exists():
                if json.loads(mark.read_text("utf-8")) != {"schema": SCHEMA, "version": VERSION}:
                    raise _refuse(mark, "was written by another version or another program")
            elif any(not it.name.endswith(".part") for it in self.directory.iterdir()):
                raise _refuse(self.directory, f"has files but no {MARK}: it is no checkpoint of this program")
            else:
                _write(mark, {"schema": SCHEMA, "version": VERSION})
        except OSError as error:
            raise _refuse(self.directory, f"cannot be used ({error.strerror or error})") from None
        except (ValueError, RecursionError):
            raise _refuse(mark, "is damaged; delete it with the pieces beside it, or name another directory") from None

    def get(self, job: Job, piece: Data) -> Data | None:
        """The stored result of a piece, None if there is none. Raises `InputError` RV801 if it is damaged."""
        key = job.key(piece)
        path = self._path(key)
        try:
            found: Any = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refuse(path, f"cannot be read ({error.strerror or error})") from None
        except (ValueError, RecursionError):
            raise _spoilt(path, "is damaged (not whole JSON)") from None
        if not isinstance(found, dict) or not {"schema", "version", "key", "digest", "result"} <= set(found):
            raise _spoilt(path, "is damaged (not what this program writes)")
        if (found["schema"], found["version"]) != (SCHEMA, VERSION):
            raise _spoilt(path, "was written by another version or another program")
        if found["key"] != key:
            raise _spoilt(path, "belongs to another piece or another question")
        try:
            same = found["digest"] == digest([key, found["result"]])
        except (ValueError, RecursionError):
            same = False
        if not same:
            raise _spoilt(path, "is damaged (its digest differs)")
        return found["result"]

    def put(self, job: Job, piece: Data, result: Data) -> None:
        """Keep the result of a piece."""
        key = job.key(piece)
        data = {"schema": SCHEMA, "version": VERSION, "job": job.name, "piece": piece, "key": key}
        path = self._path(key)
        try:
            path.parent.mkdir(exist_ok=True)
            _write(path, {**data, "digest": digest([key, result]), "result": result})
        except OSError as error:
            raise _refuse(path, f"cannot be written ({error.strerror or error})") from None

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.json"


def _write(path: Path, data: Data) -> None:
    """A reader, or a rerun after the process was killed, sees the whole file or none.

    Waiting for the disk as well would cost more than the work: after a power failure a file may be refused as damaged.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(data, separators=(",", ":"), allow_nan=False), encoding="utf-8")
    os.replace(part, path)


def _spoilt(path: Path, why: str) -> InputError:
    return _refuse(path, f"{why}; delete it to do that piece again")


def _refuse(path: Path, why: str) -> InputError:
    return InputError("RV801", f"--checkpoint: {path} {why}")
