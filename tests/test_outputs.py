"""Files that a command writes: a pipe needs a reader, a state a regular file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rheo_verify.cli import files
from rheo_verify.cli.main import run

SMALL = ("enumerate", "--vocab", "2", "--depth", "1")
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    return path


@contextmanager
def waited_for_at_most(path: Path, seconds: float = 2) -> Iterator[None]:
    """Whoever still waits for the other end of the pipe is let go then: a test fails instead of never ending."""

    ended = threading.Event()

    def let_go() -> None:
        while not ended.wait(seconds):
            opened = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            time.sleep(0.2)
            os.close(opened)

    ending = threading.Thread(target=let_go)
    ending.start()
    try:
        yield
    finally:
        ended.set()
        ending.join()


@contextmanager
def read(path: Path, into: list[str]) -> Iterator[None]:
    """A reader of the pipe, as `cat` is one: it ends when all who write have closed it."""
    reader = threading.Thread(target=lambda: into.append(path.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    yield
    reader.join(10)
    assert not reader.is_alive()


@pytest.mark.parametrize("flag", ["--html", "--svg", "--certificate"])
def test_a_pipe_that_nobody_reads_is_refused(pipe: Path, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with waited_for_at_most(pipe):
        code = run([*SMALL, flag, str(pipe)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    number = "RV703" if flag == "--certificate" else "RV122"
    assert err == (
        f"rheo_verify enumerate: {number}: {flag} {pipe}: is a pipe that nobody reads; "
        "start its reader first, or name a file\n"
    )
    assert not files._held


def test_a_plot_into_a_pipe_that_nobody_reads_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.svg")
    with waited_for_at_most(pipe):
        code = run(["acceptance", "compare", "--vocab", "2", "--depth", "1", "--plot", str(pipe)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "RV122" in err
    assert "a pipe that nobody reads" in err


@pytest.mark.parametrize("flag", ["--html", "--svg", "--certificate"])
def test_a_pipe_gets_all_of_what_a_file_gets(pipe: Path, flag: str, tmp_path: Path) -> None:
    found: list[str] = []
    with read(pipe, found):
        assert run([*SMALL, flag, str(pipe)]) == 0
    file = tmp_path / "file.json"
    assert run([*SMALL, flag, str(file)]) == 0
    assert found == [file.read_text(encoding="utf-8").replace(str(file), str(pipe))]
    assert not files._held


def test_a_command_that_fails_lets_go_of_its_pipe(pipe: Path) -> None:
    found: list[str] = []
    with read(pipe, found):
        assert run([*SMALL, "--html", str(pipe), "--m", "9"]) == 2
    assert not files._held


def test_what_a_shell_substitutes_is_a_pipe_with_a_reader() -> None:
    read_end, write_end = os.pipe()
    found: list[bytes] = []
    with open(read_end, "rb") as reader:
        thread = threading.Thread(target=lambda: found.append(reader.read()))
        thread.start()
        assert run([*SMALL, "--html", f"/dev/fd/{write_end}"]) == 0
        os.close(write_end)
        thread.join(10)
    assert found[0].rstrip().endswith(b"</html>")


def test_a_device_is_written_to() -> None:
    assert run([*SMALL, "--html", os.devnull]) == 0
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("command", [("search", "--where", "rrsw > rheo"), ("audit", "transcript.jsonl")])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_state_is_a_regular_file(
    pipe: Path, command: tuple[str, ...], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = {"pipe": str(pipe), "device": os.devnull, "folder": str(pipe.parent)}[kind]
    with waited_for_at_most(pipe):
        code = run([*command, "--state", path])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    said = f"RV122: --state {path}: is no regular file, which a state is kept in; name another one\n"
    assert err == f"rheo_verify {command[0]}: {said}"
