"""What stands on the command line: every fault of it is one line with a code, and no flag is silently ignored."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rheo_verify.checks.rate_expressions import NAMES
from rheo_verify.cli.arguments import MAY_BE_EMPTY, name_of
from rheo_verify.cli.combinations import NOTED, WITHOUT_EFFECT
from rheo_verify.cli.main import COMMANDS, parser, run
from rheo_verify.cli.output import one_line

ROOT = Path(__file__).parent.parent
ACTIONS = {
    name: [action for action in command._actions if not isinstance(action, argparse._HelpAction)]
    for name, command in next(
        it for it in parser()._actions if isinstance(it, argparse._SubParsersAction)
    ).choices.items()
}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: str = "RV110") -> str:
    """The one line on stderr."""
    assert run(arguments) == 2, arguments
    out, err = capsys.readouterr()
    name = " ".join(["rheo_verify", *(it for it in arguments[:1] if it in COMMANDS)])
    assert out == ""
    assert re.fullmatch(rf"{name}: {code}: [^\n]+\n", err), err
    return err


def placed(command: str, action: argparse.Action, value: str) -> list[str]:
    """A line of this command in which one argument has this value, and the others are there."""
    needed = [it for it in ACTIONS[command] if it is not action and it.required and it.nargs != "*"]
    line = [command]
    for it in [*needed, action]:
        line += [*it.option_strings[-1:], value if it is action else str((it.choices or ["x"])[0])]  # type: ignore[index]
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_misspelt_missing_or_too_much(capsys: pytest.CaptureFixture[str], command: str) -> None:
    pointer = f"see rheo_verify {command} --help"
    needed = [it for it in ACTIONS[command] if it.required and it.nargs != "*"]
    base = placed(command, needed[0], str((needed[0].choices or ["x"])[0])) if needed else [command]  # type: ignore[index]
    for line, words in (
        ([*base, "--quit"], "there is no flag '--quit'; did you mean --quiet?"),
        ([*base, "--quiet", "--verbose"], "--verbose and --quiet exclude each other"),
        ([*base, "--quiet=yes"], "--quiet takes no value, not 'yes'"),
    ):
        err = refused(capsys, *line)
        assert words in err
        assert pointer in err.lower()
    for action in needed:
        assert f"{name_of(action)} is missing" in refused(capsys, command)


@pytest.mark.parametrize("command", COMMANDS)
def test_values_of_the_wrong_kind_and_none_and_empty_ones(capsys: pytest.CaptureFixture[str], command: str) -> None:
    for action in ACTIONS[command]:
        if action.nargs == 0:
            continue
        name = name_of(action)
        if action.dest not in MAY_BE_EMPTY:
            for nothing in ("", " "):
                err = refused(capsys, *placed(command, action, nothing))
                assert f"{name} needs a value, but an empty one is given" in err
        if action.option_strings:
            assert f"{name} needs a value" in refused(capsys, *placed(command, action, "")[:-1])
            err = refused(capsys, *placed(command, action, "-x"))
            assert f"{name} needs a value: '-x' begins with a minus, as flags do; write {name}=-x" in err
        if action.type in (int, float):
            for wrong in ("x", "1/2", "0x1"):
                kind = "a whole number" if action.type is int else "a number"
                assert f"{name} '{wrong}' must be {kind}" in refused(capsys, *placed(command, action, wrong))
        if action.choices is not None and action.type is None:
            err = refused(capsys, *placed(command, action, "%"))
            some, *more = action.choices
            whole = f"{name} cannot be '%'; there are {', '.join(action.choices)};"
            assert (whole if more else f"there is no '%', only {some};") in err
            assert f"did you mean {some}?" in refused(capsys, *placed(command, action, f"{some}e"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_is_given_once(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """In any spelling; flags without a value, and those that the help calls repeatable, may stand again."""
    for action in ACTIONS[command]:
        if not action.option_strings or action.nargs == 0:
            continue
        name, value = name_of(action), str((action.choices or ["1"])[0])  # type: ignore[index]
        for again in ([name, value], [f"{name}={value}"], [name, "2" if action.choices is None else value]):
            line = [*placed(command, action, value), *again]
            if "repeat" in (action.help or ""):
                assert getattr(parser().parse_args(line), action.dest) == [value, again[-1].rpartition("=")[2]]
            else:
                assert f"{name} is given twice, and takes one value; give it once" in refused(capsys, *line)
    if command == "table1":
        assert run([command, "--json", "--json"]) == 0


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no command 'enumerat'; did you mean enumerate? See rheo_verify --help" in refused(
        capsys, "enumerat", "--m", "1"
    )
    assert f"there is no command 'xyzzy'; there are {', '.join(COMMANDS)}" in refused(capsys, "xyzzy")
    assert "COMMAND is missing" in refused(capsys)
    assert "'3' is one argument too many" in refused(capsys, "enumerate", "3")


@pytest.mark.parametrize("value", ["-1/4", "-0.5x", "-.5", "-1e3", "-1,2"])
def test_a_value_may_be_negative(capsys: pytest.CaptureFixture[str], value: str) -> None:
    """Whether it may be so is the command's business, which names it."""
    err = refused(capsys, "enumerate", "--proxy", value, code="RV10[16]")
    assert re.search(rf"proxy:? '?{re.escape(value)}", err)
    assert "--proxy" in err


def test_values_do_not_break_the_line_nor_fill_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    err = refused(capsys, "enumerate", "--model", "a\nb\033[2J\x9b", code="RV103")
    assert r"a\nb\x1b[2J\x9b" in err
    assert len(refused(capsys, "enumerate", "--model", "x" * 100_000, code="RV103")) < 3000
    assert len(refused(capsys, "enumerate", "--m", "x" * 100_000)) < 300
    assert len(refused(capsys, "enumerate", "--m", "9" * 4000, code="RV106")) < 3000


LONG = "x" * 300


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (("decoders", LONG), "RV106"),
        (("prove", LONG), "RV705"),
        (("doctor", "--need", LONG), "RV106"),
        (("completion", LONG), "RV110"),
        ((LONG,), "RV110"),
        (("enumerate", f"--{LONG}"), "RV110"),
        (("enumerate", "--m", LONG), "RV110"),
        (("enumerate", "--m", "9" * 300), "RV106"),
        (("enumerate", "--proxy", LONG), "RV101"),
        (("enumerate", "--memory-limit", LONG), "RV106"),
        (("replay", LONG), "RV109"),
        (("replay", f"vocab={LONG}:class:1"), "RV109"),
        (("replay", f"{LONG}=1:class:1"), "RV109"),
        (("search", "--where", LONG), "RV503"),
        (("acceptance", "--context", LONG), "RV106"),
    ],
    ids=lambda it: " ".join(it)[:30] if isinstance(it, tuple) else it,
)
def test_what_is_long_is_quoted_without_its_middle(
    capsys: pytest.CaptureFixture[str], line: tuple[str, ...], code: str
) -> None:
    err = refused(capsys, *line, code=code)
    assert not {"x" * 61, "9" * 61} & {err[at : at + 61] for at in range(len(err))}
    assert "…" in err


def test_paths_are_quoted_whole(capsys: pytest.CaptureFixture[str]) -> None:
    path = f"/{'d' * 100}/{'e' * 100}.json"
    assert path in refused(capsys, "enumerate", "--model", path, code="RV103")
    assert (
        "the row's own, where it is one of the tokens' laws or of another one's that was given before 'x'"
        in one_line("the row's own, where it is one of the tokens' laws or of another one's that was given before 'x'")
    )


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device")
def test_a_model_that_is_no_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not JSON" in refused(capsys, "enumerate", "--model", os.devnull, code="RV103")


def test_an_address_without_a_port_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    said = "--scheduler 'nohost': an address has a port"
    assert said in refused(capsys, "enumerate", "--vocab", "3", "--scheduler", "nohost", code="RV802")


def test_the_help_names_every_rate(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--help"]) == 0
    words = set(re.findall(r"\w+", capsys.readouterr().out))
    assert words >= set(NAMES)


def test_the_page_of_flags_without_effect_names_what_is_only_noted() -> None:
    page = (ROOT / "docs" / "codes" / "RV111.md").read_text()
    noted = page[page.index("Some pairs") :]
    assert set(re.findall(r"`(--[\w-]+)[ `]", noted)) == {flag for flag, *_ in NOTED["enumerate"]} | {"--method"}
    (shown,) = re.findall(r"For example: `(.*); leave one of them out`", page)
    assert shown in [f"{flag} has no effect with {beside}, {why}" for _, flag, beside, why in PAIRS]


PAIRS = [(command or "enumerate", *row) for command, rows in WITHOUT_EFFECT.items() for row in rows]
VALUES = {
    "--jobs": "2",
    "--backend": "loky",
    "--scheduler": "tcp://localhost:1",
    "--checkpoint": "finished",
    "--memory-limit": "1G",
    "--target": "1,1",
    "--epsilon": "1/4",
}
NEEDED = {"search": ["--where", "rrsw > rheo"], "acceptance": ["--draft", "1,1"]}


@pytest.mark.parametrize(("command", "flag", "beside", "why"), PAIRS)
def test_flags_without_effect_are_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    flag: str,
    beside: str,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    actions = {name_of(it): it for it in ACTIONS[command]}
    name, _, value = beside.partition(" ")
    line = [command, *NEEDED.get(command, []), flag]
    line += [] if actions[flag].nargs == 0 else [VALUES.get(flag, "1")]
    line += [name] if actions[name].nargs == 0 else [name, value or VALUES.get(name, "x")]
    line += ["--backend", "dask"] if flag == name == "--scheduler" else []
    assert f"{flag} has no effect with {beside}, {why}; leave one of them out" in refused(capsys, *line, code="RV111")
    assert not list(tmp_path.iterdir())


def test_a_default_is_no_flag_and_auto_says_what_it_leaves_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["enumerate", "--vocab", "3", "--method", "classes"]) == 0
    assert run(["enumerate", "--vocab", "3", "--method", "exhaustive", "--max-trees", "1000"]) == 0
    assert run(["enumerate", "--vocab", "3", "--epsilon", "1/4", "--m", "0"]) == 0
    assert "no effect" not in capsys.readouterr().err
    assert run(["enumerate", "--vocab", "8", "--depth", "4", "--checkpoint", str(tmp_path / "x")]) == 0
    err = capsys.readouterr().err
    assert err == "--checkpoint has no effect with --method classes, which grows the classes in one process\n"


@pytest.mark.parametrize(("flag", "beside", "why"), NOTED["enumerate"])
def test_a_sweep_keeps_its_flags_and_a_note_says_which_did_nothing(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    flag: str,
    beside: str,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    values = {**VALUES, "--max-trees": "9", "--backend": "loky", "--epsilon": "1/100"}
    name, _, value = beside.partition(" ")
    line = ["enumerate", "--vocab", "3", name, {"above 0": "1", "other than rheo": "raw"}.get(value, value)]
    line += ["--m", "0"] if name == "--proxy" else []
    plain = run([*line, "--json"]), json.loads(capsys.readouterr().out)["total_variation"]
    line += ["--backend", "dask"] if flag == "--scheduler" else []
    noted = (
        run([*line, flag, values[flag], "--json"]),
        json.loads((printed := capsys.readouterr()).out)["total_variation"],
    )
    assert noted == plain
    said = (flag, "--backend") if flag == "--scheduler" else (flag,)
    assert sorted(printed.err.splitlines()) == sorted(f"{it} has no effect with {beside}, {why}" for it in said)


def test_a_certificate_that_cannot_speak_of_the_run_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "c.json")
    large = ["enumerate", "--vocab", "9", "--depth", "5", "--method", "exhaustive", "--certificate", file]
    for flags, words in (
        (["--cycles", "2"], "speaks of one cycle, not of 2"),
        (["--rule", "optimal-transport"], "not of optimal-transport"),
    ):
        assert run([*large, *flags]) == 2
        assert words in capsys.readouterr().err
    assert run([*large, "--max-trees", "1", "--svg", str(tmp_path / "x.svg")]) == 3
    err = capsys.readouterr().err
    assert err.count("not written: there is no answer") == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("arguments", "where", "code"),
    [
        ("--help", ">", 2),
        ("check --help", ">", 2),
        ("--version", ">", 2),
        ("table1", ">", 2),
        ("enumerate --vocab 0", "2>", 2),
        ("enumerate --vocab 3 --verbose", "2>", 0),
        ("enumerate --buget 3", "2>", 2),
    ],
)
def test_streams_that_are_full_or_closed(arguments: str, where: str, code: int) -> None:
    for target in ("/dev/full", "&-"):
        command = f"{sys.executable} -m rheo_verify {arguments} {where}{target}"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, env=environment)
        assert done.returncode == code, command
        if where == ">":
            assert re.fullmatch(r"rheo_verify[a-z1 ]*: RV122: the output cannot be written: [^\n]*\n", done.stderr)


@pytest.mark.parametrize("width", [40, 72])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, width: int
) -> None:
    """All but examples, which are there to be copied."""
    monkeypatch.setenv("COLUMNS", str(width))
    assert run([*([command] if command else []), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    wide = [line for line in lines if len(line) > width and not line.startswith(("  rheo_verify ", '  {"id"'))]
    assert wide == []
    assert len([line for line in lines if line.startswith("usage: ")]) == 1
