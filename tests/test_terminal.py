"""What a terminal and a shell need: narrow lines, closed pipes, --quiet and --verbose, completion, doctor."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rheo_verify.checks import installation
from rheo_verify.cli import messages
from rheo_verify.cli.main import COMMANDS, parser, run
from rheo_verify.cli.output import fitted
from rheo_verify.cli.progress import ProgressBar
from rheo_verify.errors import InputError

ROOT = Path(__file__).parent.parent
MODULE = [sys.executable, "-m", "rheo_verify"]
LOSSY = "enumerate --model table-1 --depth 1 --budget 2 --proxy 1/4"


def bash(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT), "RV": " ".join(MODULE), **environment}
    command = ["bash", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=120)


@pytest.mark.parametrize(
    ("command", "code"),
    [(LOSSY, 1), ("enumerate --vocab 3", 0), ("decoders --vocab 2", 0), ("--help", 0), ("check --help", 0)],
)
def test_a_reader_that_stops_changes_neither_the_verdict_nor_stderr(command: str, code: int) -> None:
    """`head -1` closes its end at once; so does `:`, which reads nothing at all."""
    for reader in ("head -1", ":"):
        done = bash(f"$RV {command} | {reader}; echo ${{PIPESTATUS[0]}} >&2")
        assert done.stderr.split() == [str(code)], (reader, done.stderr)


def test_a_reader_of_both_streams_may_stop() -> None:
    done = bash("$RV enumerate --vocab 0 2>&1 | :; echo ${PIPESTATUS[0]}")
    assert (done.stdout.split(), done.stderr) == (["2"], "")


COLOUR = re.compile(r"\033\[[\d;]*m")


def words(shown: str) -> Counter[str]:
    """All words, whatever stands around them: times, which are others every time, left out."""
    return Counter(re.findall(r"[^\s│:]+", re.sub(r",\s+[\d.]+\s+s\)", ")", COLOUR.sub("", shown))))


@pytest.mark.parametrize(
    "command",
    [
        "enumerate --vocab 3",
        LOSSY,
        "table1",
        "replay vocab=6:class:2.0",
        "acceptance --vocab 4",
        "acceptance compare --vocab 4 --temperatures 1,1/2,0.3",
        "decoders --vocab 2",
        "decoders lenient --vocab 3",
        "search --where 'rrsw > rheo' --denominator 4 --largest 'rrsw - rheo'",
        "prove table-1 tie-rule --level 1",
        "doctor",
        "check docs/tutorial/verifier.py:verify --arrays numpy",
    ],
)
def test_everything_fits_forty_columns(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lines but commands, which are there to be copied, and single words that are longer; nothing is left out.

    The heads of tables are said again in every part or block of one.
    """
    monkeypatch.chdir(ROOT)
    shown = {}
    for width in (40, 60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        run(shlex.split(command))
        shown[width] = capsys.readouterr().out
    for line in shown[40].splitlines():
        if "rheo_verify " not in line and len(line) > 40:
            assert len(line.split()) == 1, line
    for width in (40, 60, 80):
        assert words(shown[120]) <= words(shown[width]), (width, words(shown[120]) - words(shown[width]))


@pytest.mark.parametrize("length", [30, 50, 200])
def test_a_path_is_never_cut(length: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there to be copied, however deep the checkout lies."""
    path = "/" + "a-folder/" * (length // 9) + "python"
    monkeypatch.setattr(sys, "executable", path)
    for width in (30, 40, 60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        run(["doctor"])
        assert path in capsys.readouterr().out


def test_json_is_not_wrapped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    run(["enumerate", "--vocab", "3", "--json"])
    narrow = capsys.readouterr().out
    assert json.loads(narrow)["verdict"] == "VERIFIED"
    assert max(map(len, narrow.splitlines())) > 80


def test_fitting_keeps_margins_colours_and_commands() -> None:
    assert fitted("│  ├─ A  one two three four\n", 19) == "│  ├─ A  one two\n│  │    three four\n"
    coloured = fitted("\033[1mone two three four five\033[0m\n", 14)
    assert coloured.splitlines() == ["\033[1mone two three\033[0m", "\033[1m  four five\033[0m"]
    assert fitted("walk: python -m rheo_verify replay vocab=3:class:1\n", 12).count("\n") == 1
    assert fitted("rule      1.000       1/2\n", 20) == "rule  1.000  1/2\n"
    assert fitted("short\n\n", 12) == "short\n\n"


def test_no_colour_where_it_is_not_wanted() -> None:
    if not shutil.which("script"):
        pytest.skip("the program script is not installed: apt install bsdutils")
    command = f"script -qec '{' '.join(MODULE)} table1' /dev/null"
    assert COLOUR.search(bash(command, TERM="xterm").stdout)
    assert not COLOUR.search(bash(command, TERM="xterm", NO_COLOR="1").stdout)
    assert not COLOUR.search(bash("$RV table1").stdout)


def test_every_command_is_quiet_or_verbose_when_told() -> None:
    subparsers = next(action for action in parser()._actions if action.dest == "command")
    for name, command in subparsers.choices.items():  # type: ignore[union-attr]
        flags = {flag for action in command._actions for flag in action.option_strings}  # type: ignore[attr-defined]
        assert {"--quiet", "--verbose", "--help"} <= flags, name


def test_quiet_and_verbose(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "verdict.json")
    outputs = {}
    for flag in ("", "--quiet", "--verbose"):
        run(["enumerate", "--vocab", "3", "--certificate", file, *filter(None, [flag])])
        outputs[flag] = capsys.readouterr()
    assert len({out for out, _ in outputs.values()}) == 1
    assert outputs["--quiet"].err == ""
    assert "certificate written" in outputs[""].err
    for words in ("certificate written", "rheo_verify 0", "Python 3", "trees: ", "exit code 0 after"):
        assert words in outputs["--verbose"].err
    assert run(["enumerate", "--vocab", "0", "--quiet"]) == 2
    assert "RV106" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("enumerate --vocab 3", 0),
        (LOSSY, 1),
        ("enumerate --vocab 0", 2),
        ("enumerate --cycles 0", 2),
        ("enumerate --scheduler tcp://a:1 --backend serial", 2),
        ("replay nonsense", 2),
        ("enumerate --max-trees 1", 3),
        ("acceptance --time-limit 1e-9", 3),
        ("prove --time-limit 1e-9", 3),
        ("interrupted", 3),
        ("broken", 4),
    ],
)
def test_verbose_ends_with_the_exit_code_whatever_it_is(
    command: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = {"interrupted": KeyboardInterrupt(), "broken": ValueError()}

    def fail(args: object) -> int:
        raise fault

    if (fault := faults.get(command)) is not None:
        monkeypatch.setattr("rheo_verify.cli.table1.run", fail)
        command = "table1"
    assert run([*shlex.split(command), "--verbose"]) == code
    said = capsys.readouterr().err.splitlines()
    name = command.split()[0]
    assert re.fullmatch(rf"{name}: exit code {code} after [\d.]+ s", said[-1])
    assert sum("exit code" in line for line in said) == 1
    assert run([name, "--no-such-flag"]) == 2
    assert "exit code" not in capsys.readouterr().err


def test_progress_without_a_terminal_has_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    messages.choose(quiet=False, verbose=True)
    try:
        with ProgressBar() as bar:
            bar._begin -= 10
            bar.update("trees", 0, 100)
            bar.update("trees", 10, 100)
            bar._last -= 10
            bar.update("trees", 50, 100)
            bar.update("classes", 3, 0)
    finally:
        messages.choose(quiet=False, verbose=False)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("s  ")[1] for line in lines] == [
        "trees: 0 of 100",
        "trees: 50 of 100, about 10 s left",
        "classes: 3",
    ]


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["--m", "9"], "--m"),
        (["--m", "-1"], "--m"),
        (["--k", "0"], "--k"),
        (["--beam", "0"], "--beam"),
        (["--depth", "0"], "--depth"),
        (["--budget", "0"], "--budget"),
        (["--vocab", "0"], "--vocab"),
        (["--support", "0"], "--support"),
        (["--proxy=-1/4"], "--proxy"),
        (["--epsilon=-1"], "--epsilon"),
        (["--cycles", "101"], "--cycles"),
        (["--proxy", "x"], "--proxy"),
        (["--time-limit", "-1"], "--time-limit"),
    ],
)
def test_errors_name_the_flag(arguments: list[str], flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["enumerate", *arguments]) == 2
    assert re.search(rf"{flag}\b", capsys.readouterr().err)


def test_codes_say_what_could_not_be_read_or_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes.py").write_bytes(b"\xff")
    state = tmp_path / "state.json"
    state.write_text("{")
    for command, code in (
        ("enumerate --model none.json", "RV103"),
        ("audit none.jsonl", "RV120"),
        ("check none.py:f", "RV121"),
        ("check no_such_module_here:f", "RV121"),
        ("check json:no_such_name", "RV121"),
        (f"check json:dumps --case {tmp_path}", "RV120"),
        ("acceptance compare --vocab 3 --plot none/x.svg", "RV122"),
        (f"audit none.jsonl --state {state}", "RV607"),
        (f"search --where rrsw>rheo --state {state}", "RV504"),
    ):
        assert run(command.split()) == 2, command
        err = capsys.readouterr().err
        assert f": {code}: " in err, (command, err)


def test_a_model_from_a_pipe_is_read_once() -> None:
    """The digest in the replay line is that of the model, and the line works where the pipe is there again."""
    command = f"{LOSSY.replace('table-1', '<(cat toy_models/table-1.json)')}"
    done = bash(f"$RV {command}")
    from_file = bash(f"$RV {LOSSY.replace('table-1', 'toy_models/table-1.json')}")
    found = re.search(r"replay model=\S+?@(\w+),(\S+)", done.stdout)
    expected = re.search(r"replay model=\S+?@(\w+),(\S+)", from_file.stdout)
    assert found is not None
    assert expected is not None
    assert found.groups() == expected.groups()
    assert "save the model" in done.stderr
    replay = "exec 3< <(cat toy_models/table-1.json); $RV replay model=/dev/fd/3@{},{}"
    assert bash(replay.format(*found.groups())).returncode == 0
    assert "has changed" in bash(replay.format("00000000", found[2])).stderr


def complete(script: str, words: list[str]) -> set[str]:
    """What bash itself offers for a line, through the script's own registration."""
    line = " ".join(words)
    array = " ".join(f"'{word}'" for word in words)
    program = f"""
{script}
compopt() {{ :; }}
COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}
function=$(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = bash(program)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    for program in ("rheo_verify", "rheo-verify"):
        assert complete(script, [program, ""]) == {*COMMANDS, "--help", "--version"}
    assert complete(script, ["rheo_verify", "en"]) == {"enumerate"}
    assert complete(script, ["rheo_verify", "enumerate", "--vo"]) == {"--vocab"}
    assert complete(script, ["rheo_verify", "enumerate", "--rule", ""]) == {"rheo", "rrsw", "topk", "optimal-transport"}
    assert complete(script, ["rheo_verify", "enumerate", "--model", "tabl"]) == {"table-1"}
    assert complete(script, ["rheo_verify", "decoders", "sequ"]) == {"sequoia"}
    assert complete(script, ["rheo_verify", "prove", "raw"]) == {"raw-score-ranking"}
    assert complete(script, ["rheo_verify", "completion", ""]) == {"bash", "zsh", "fish"}
    assert complete(script, ["rheo_verify", "audit", "READ"]) == {"README.md"}
    assert complete(script, ["rheo_verify", "inspect", "toy_models/byte"]) == {"toy_models/byte-llama"}
    assert complete(script, ["rheo_verify", "enumerate", "--vocab", ""]) == set()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["completion", shell])
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    for command in COMMANDS:
        assert command in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: apt install {shell}")
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed: apt install fish")
    run(["completion", "fish"])
    script = tmp_path / "script.fish"
    script.write_text(capsys.readouterr().out)
    for line, expected in (
        ("rheo_verify en", {"enumerate"}),
        ("rheo_verify enumerate --vo", {"--vocab"}),
        ("rheo_verify enumerate --rule r", {"rheo", "rrsw"}),
        ("rheo_verify decoders sequ", {"sequoia"}),
    ):
        program = f"source {script}; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "-c", program], capture_output=True, text=True, env={**os.environ, "HOME": "/tmp"}
        )
        assert {offer.split("\t")[0] for offer in done.stdout.splitlines()} >= expected, (
            line,
            done.stdout,
            done.stderr,
        )


def test_zsh_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a zsh on a terminal of its own, as a person would: a line, a tab, and what stands there then."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed: apt install zsh")
    run(["completion", "zsh"])
    (tmp_path / "_rheo_verify").write_text(capsys.readouterr().out)
    program = f"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -D; rheo_verify() {{ print -r -- "ran: $@"; }}'
for line in $'rheo_verify decoders sequ\\t' $'rheo_verify enumerate --vo\\t9'; do zpty -w z "$line"; done
zpty -w z 'exit'
while zpty -r z out; do print -rn -- $out; done
"""
    done = subprocess.run(["zsh", "-f", "-c", program], capture_output=True, text=True, timeout=60)
    assert "ran: decoders sequoia" in done.stdout
    assert "ran: enumerate --vocab 9" in done.stdout


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    for words in ("python", "rationals", "torch on", "numpy", "rocq", "browser", "all that is needed is there"):
        assert words in out
    run(["doctor", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["version"], data["missing"]) == ("rheo_verify/doctor", 1, [])
    assert all(part["remedy"] and part["serves"] for part in data["parts"])
    assert run(["doctor", "--need", "magic"]) == 2
    assert "the parts are numpy" in capsys.readouterr().err


def test_doctor_says_what_is_missing_broken_or_too_old(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_version", {"numpy": "1.25.2", "rich": "14.0", "torch": "2.8.0"}.get)
    broken = {"torch": (None, "cannot be imported (OSError: libcudart.so)")}
    monkeypatch.setattr(installation, "_loaded", lambda name: broken.get(name, (object(), None)))
    monkeypatch.setenv("PATH", "")
    found = {part.name: part for part in installation.look().parts}
    assert found["numpy"].fault == "is too old: at least 1.26 is needed"
    assert found["rich"].usable
    assert found["torch"].fault == "cannot be imported (OSError: libcudart.so)"
    assert [found[name].found for name in ("networkx", "sympy", "rocq", "browser")] == [None] * 4
    assert run(["doctor", "--need", "rocq"]) == 3
    out = capsys.readouterr().out
    assert "missing: numpy, networkx, joblib, gmpy2, rocq" in out
    assert "apt install coq" in out
    assert "pip install 'numpy>=1.26'" in out
    with pytest.raises(InputError, match="RV106"):
        installation.look().missing(["magic"])


def test_the_least_versions_are_those_of_the_package() -> None:
    import tomllib

    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert sorted(stated) == sorted(f"{name}>={least}" for name, least in installation._LEAST.items())
