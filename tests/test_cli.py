"""The command line as a person, a script and a pipe meet it."""

from __future__ import annotations

import json
import operator
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rheo_verify
from rheo_verify.checks.enumeration import enumerate_design, fewest_sequences
from rheo_verify.checks.verdict import Verdict
from rheo_verify.cli.main import COMMANDS, parser, run
from rheo_verify.cli.progress import ProgressBar
from rheo_verify.decoders.rheosampling import rheosampling
from rheo_verify.drafting.design import TreeDesign
from rheo_verify.errors import LimitReached
from rheo_verify.limits import WEIGHTS_UNSEEN, Limits
from rheo_verify.models.model import Context, Model, from_functions
from rheo_verify.models.random_tables import random_model
from rheo_verify.probability.distributions import Row, distribution
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.probability.rationals import Rational, text
from rheo_verify.probability.replay import choices_text
from rheo_verify.verification.rules import layer_rule
from tests.clocks import ticking

ROOT = Path(__file__).parent.parent


def shell(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    environment.update(options.pop("env", {}))  # type: ignore[call-overload]
    command = [sys.executable, "-m", "rheo_verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


def invoke(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_main_job(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = invoke(capsys, "enumerate", "--vocab", "6", "--m", "1")
    assert (code, err) == (0, "")
    for words in (
        "VERIFIED: lossless",
        "78,125 unpruned trees",
        "25 distinct",
        "eager-equals-lazy",
        "builds as",
        "replay",
    ):
        assert words in out
    assert "\033" not in out


def test_json_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = invoke(capsys, "enumerate", "--vocab", "3", "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["schema"], data["version"]) == ("rheo_verify/enumerate", 1)
    assert (data["verdict"], data["total_variation"], data["trees"], data["classes"]) == ("VERIFIED", "0", 128, 4)
    assert data["budgets"] == ["0"] * 6
    assert data["ancestor_closed"] is True
    assert set(data["checks"].values()) == {"VERIFIED"}
    assert "blame" not in data


def test_json_of_a_counterexample(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("enumerate", "--model", "table-1", "--depth", "1", "--budget", "2", "--proxy", "0.25", "--json")
    code, out, _ = invoke(capsys, *arguments)
    data = json.loads(out)
    assert code == 1
    assert (data["verdict"], data["total_variation"], data["budgets"]) == ("REFUTED", "4/25", ["0", "4/25"])
    assert data["checks"]["lossless"] == data["checks"]["slot-determinism"] == "REFUTED"
    blame = data["blame"]
    assert (blame["culprit"], blame["slot"], blame["budget"]) == ("slot", 2, 2)
    assert (blame["stated_law"], blame["found_law"]) == (["0", "3/5", "2/5"], ["0", "1", "0"])
    assert {"tokens": [2], "expected": "3/5", "found": "11/25"} in blame["sequences"]


def test_the_methods_agree_and_trees_are_known_only_with_equal_supports(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {}
    for method in ("exhaustive", "classes"):
        _, out, _ = invoke(capsys, "enumerate", "--vocab", "4", "--method", method, "--json")
        answers[method] = json.loads(out)
    for key in ("verdict", "total_variation", "classes", "budgets", "trees", "tokens_per_cycle"):
        assert answers["exhaustive"][key] == answers["classes"][key]
    _, out, _ = invoke(capsys, "enumerate", "--model", "weather", "--depth", "2", "--method", "classes", "--json")
    assert json.loads(out)["trees"] is None


def test_tokens_of_a_cycle_are_those_of_one_cycle(capsys: pytest.CaptureFixture[str]) -> None:
    """All of depth 1 is accepted with m = 2, K = V = 3: two tokens a cycle, however many cycles there are."""
    for cycles in ("1", "3"):
        flags = ("--vocab", "3", "--m", "2", "--depth", "1", "--cycles", cycles, "--json")
        data = json.loads(invoke(capsys, "enumerate", *flags)[1])
        assert (data["tokens_per_cycle"], data["accepted_by_depth"]) == ("2", ["1"] if cycles == "1" else None)


@pytest.mark.parametrize("flags", [("--proxy", "1/4"), ("--proxy", "raw"), ("--ties", "token")])
def test_classes_are_refused_where_they_would_repair_the_design(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    code, out, err = invoke(capsys, "enumerate", "--method", "classes", *flags)
    assert (code, out) == (2, "")
    assert "RV107" in err
    code, out, _ = invoke(capsys, "enumerate", "--model", "table-1", "--budget", "2", "--json", *flags)
    assert json.loads(out)["method"] == "exhaustive"


BAD = {
    "vocab 0 must be between": ["--vocab", "0"],
    "9 lead tokens, but the vocabulary has only 4": ["--m", "9"],
    "pool K must be an integer from 1": ["--k", "0"],
    "beam W must": ["--beam", "0"],
    "depth D must": ["--depth", "0"],
    "budget R must": ["--budget", "0"],
    "lead m must": ["--m", "-1"],
    "'0.3x' is not a rational": ["--proxy", "0.3x"],
    "proxy -1/4 must not be negative": ["--proxy", "-1/4"],
    "'nan' is not a rational": ["--m", "0", "--epsilon", "nan"],
    "epsilon -1 must not be negative": ["--m", "0", "--epsilon", "-1"],
    "exclude each other": ["--model", "table-1", "--vocab", "3"],
    "cannot be read": ["--model", "no-such-file.json"],
    "--cycles 0": ["--cycles", "0"],
    "--time-limit": ["--time-limit", "-1"],
    "--max-trees": ["--max-trees", "0"],
    "support 0": ["--support", "0"],
    r"about 10\^\d+ unpruned trees, too many to enumerate; use --method classes": [
        *("--vocab", "50", "--depth", "9", "--method", "exhaustive")
    ],
    r"about 10\^\d+ unpruned trees.*classes are not valid": ["--vocab", "50", "--depth", "9", "--proxy", "1/4"],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str], message: str) -> None:
    code, out, err = invoke(capsys, "enumerate", *BAD[message])
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert re.fullmatch(r"rheo_verify enumerate: RV\d\d\d: [^\n]*\n", err)


@pytest.mark.parametrize(
    ("string", "message"),
    [
        ("vocab=6", "not a replay string"),
        ("vocab=6:path:1", "not a replay string"),
        ("vocab=x:class:1", "not a number"),
        ("colour=red:class:1", "not a setting"),
        ("vocab=6:class:9", "possible are 1, 2, 3, 4, 5"),
        ("vocab=6:class:1.x", "a path is written"),
        ("vocab=6:class:-", "another one is asked"),
        ("vocab=6:class:3.4.1.1", "ends after 4"),
        ("model=table-1@00000000:class:1", "has changed"),
        ("proxy=1/4:class:1", "RV107"),
        ("m=9:class:1", "9 lead tokens"),
    ],
)
def test_bad_replay_strings(capsys: pytest.CaptureFixture[str], string: str, message: str) -> None:
    code, out, err = invoke(capsys, "replay", string)
    assert (code, out) == (2, "")
    assert re.search(message, err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--vocab", "5", "--m", "2"],
        ["--model", "table-1", "--budget", "2", "--proxy", "1/4"],
        ["--model", "uniform-ties", "--budget", "2", "--ties", "token"],
        ["--vocab", "4", "--m", "0", "--support", "2", "--rule", "rrsw"],
    ],
)
def test_what_enumerate_offers_to_replay_can_be_replayed(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    _, out, _ = invoke(capsys, "enumerate", *arguments)
    drawing = out[out.index("(context)") :].split("\n\n")[0].splitlines()
    command = re.search(r"replay (\S+)$", out, re.MULTILINE)
    assert command is not None
    code, shown, _ = invoke(capsys, "replay", command[1])
    assert code == 0
    for line in drawing:
        assert line.lstrip(" │├└─") in shown
    for words in ("Y ~ q~", "target:", "accepted", "all rejected"):
        assert words in shown


@pytest.mark.parametrize("lazy", [False, True])
def test_whole_paths_are_followed_through_verification(capsys: pytest.CaptureFixture[str], lazy: bool) -> None:
    design = TreeDesign(lead=1, pool=2, beam=1, depth=2, budget=3)
    decoder, model = rheosampling(design, lazy=lazy), random_model(3, 0)
    paths = list(enumerate_paths(lambda chance: decoder.cycle(chance, model, ())))
    for path in paths[::7]:
        string = f"vocab=3,k=2,beam=1,depth=2,budget=3:{'class' if lazy else 'tree'}:{choices_text(path.choices)}"
        code, out, _ = invoke(capsys, "replay", string)
        assert code == 0
        assert f"emitted: {model.phrase(path.result)}; this path has probability" in out
        assert f"({text(path.probability)})" in out
        assert out.count("accepted; descend") == len(path.result) - 1


def test_table_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = invoke(capsys, "table1")
    assert code == 0
    for words in (
        "[A(1/2) ≥ Y=B(1/2)] ≥ C(1/5)",
        "[A(1/2) ≥ B(3/10)] ≥ Y=C(1/4)",
        "VERIFIED, total variation 0",
        "4/25",
    ):
        assert words in out
    code, out, _ = invoke(capsys, "table1", "--json")
    rows = json.loads(out)["rows"]
    assert [row["total_variation"] for row in rows] == ["0", "4/25"]
    assert [row["law_given_survival"] for row in rows] == [{"B": "3/5", "C": "2/5"}, {"B": "1"}]


def test_limits_end_inconclusive_with_the_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("enumerate", "--vocab", "6", "--depth", "4", "--method", "exhaustive")
    code, out, _ = invoke(capsys, *flags, "--max-trees", "200000")
    assert code == 3
    assert re.search(r"INCONCLUSIVE: the limit of 200,000 trees", out)
    assert re.search(r"covered +[\d,]+ of 9,765,625 trees were enumerated", out)
    ticking(monkeypatch)
    code, out, _ = invoke(capsys, *flags, "--jobs", "1", "--time-limit", "88", "--json")
    data = json.loads(out)
    assert (code, data["verdict"], data["total_variation"], data["checks"]) == (3, "INCONCLUSIVE", None, {})
    done = re.fullmatch(r"([\d,]+) of 9,765,625 trees were enumerated", data["covered"])
    assert done is not None
    assert 0 < int(done[1].replace(",", "")) < 9_765_625
    code, out, _ = invoke(capsys, "enumerate", "--vocab", "60", "--budget", "12", "--time-limit", "20", "--json")
    assert (code, json.loads(out)["verdict"]) == (3, "INCONCLUSIVE")


def test_too_many_cycles_end_inconclusive(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheo_verify.checks.enumeration.MOST_SEQUENCES", 1000)
    code, out, _ = invoke(capsys, "enumerate", "--vocab", "3", "--depth", "2", "--cycles", "5")
    assert code == 3
    assert "more than 1,000 different sequences" in " ".join(out.split())
    code, _, err = invoke(capsys, "enumerate", "--cycles", "99")
    assert code == 2
    assert "99 cycles may emit about 10^60 different sequences and more" in err


def growing(*widths: int) -> Model:
    """After n tokens, the first `widths[n]` tokens are as likely as each other; one token after those depths."""
    rows = {width: distribution([1] * width + [0] * (max(widths) - width)) for width in {1, *widths}}

    def row(context: Context) -> Row:
        return rows[widths[len(context)] if len(context) < len(widths) else 1]

    return from_functions(max(widths), row, row)


@pytest.mark.parametrize(
    ("widths", "cycles", "count"),
    [
        ((8,), 7, 8),  # one choice, and nothing is drawn after it
        ((8,), 99, 8),
        ((2, 3, 1, 2), 3, 6),
        ((2, 3, 1, 2), 9, 12),
        ((5000,), 2, 5000),  # more contexts than are looked at, but some
        ((10,) * 99, 99, 10**99),
        ((3, 1) * 49, 98, 729),  # of 3^49: where the walk ends, nobody knows that three come again
    ],
)
def test_how_many_sequences_cycles_emit_is_looked_at_along_the_contexts(
    widths: tuple[int, ...], cycles: int, count: int
) -> None:
    assert fewest_sequences(growing(*widths), (), cycles, Limits()) == count


def test_cycles_that_have_little_to_choose_are_compared() -> None:
    model, design = growing(4), TreeDesign(depth=1, budget=2)
    assert enumerate_design(model, design, layer_rule("rheo"), cycles=12).verdict is Verdict.VERIFIED


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_interrupt_ends_inconclusive() -> None:
    command = [
        sys.executable,
        "-m",
        "rheo_verify",
        "enumerate",
        "--vocab",
        "9",
        "--depth",
        "5",
        "--method",
        "exhaustive",
        "--verbose",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    while "trees" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "INCONCLUSIVE" in out + err
    assert "Traceback" not in err


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    done = shell("--help")
    assert done.returncode == 0
    for words in (*COMMANDS, "exit codes:", "inconclusive"):
        assert words in done.stdout
    for command in COMMANDS:
        shown = invoke(capsys, command, "--help")[1]
        for needed in ("examples:", "exit codes:", "internal error"):
            assert needed in shown, (command, needed)
        for line in re.findall(r"^  rheo_verify ([^\n(]*)", shown, re.MULTILINE):
            words = shlex.split(line)
            words = words[: words.index(">")] if ">" in words else words
            assert parser().parse_args(words).command == command
    assert parser().parse_args(["table1"]).command == "table1"


def test_a_broken_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m rheo_verify enumerate --vocab 3 --json | head -c 5"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, cwd=ROOT)
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


def test_narrow_terminals_and_no_colour() -> None:
    done = shell("enumerate", "--vocab", "3", env={"COLUMNS": "40", "NO_COLOR": "1"})
    assert done.returncode == 0
    wrapped = [line for line in done.stdout.splitlines() if line.startswith("  ") and not set("├└│") & set(line)]
    assert len(wrapped) > 10
    assert max(map(len, wrapped)) <= 40
    assert "VERIFIED" in done.stdout


def test_the_internal_error_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("rheo_verify.checks.table1.table1", lambda: 1 / 0)
    code, _, err = invoke(capsys, "table1")
    assert code == 4
    assert "internal error" in err


def test_importing_is_cheap() -> None:
    """No heavy library is loaded by the package, nor by the help."""
    heavy = "torch|sympy|hypothesis|matplotlib|transformers|scipy|networkx"
    program = (
        "import sys, rheo_verify, rheo_verify.cli.main as main; main.parser();"
        f"import re; print([m for m in sys.modules if re.fullmatch('{heavy}', m)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_progress_is_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        bar._begin -= 10
        bar.update("trees", 1, 10)
    assert capsys.readouterr().err == ""
    with ProgressBar() as bar:
        bar._shown = True
        bar._begin -= 10
        bar.update("trees", 1, 10)
        assert bar._bar is not None


def test_output_is_reproducible() -> None:
    first, second = (shell("enumerate", "--vocab", "4", "--m", "2").stdout for _ in range(2))
    assert first == second


def test_without_gmpy2_the_answers_are_the_same() -> None:
    program = (
        "import sys; sys.modules['gmpy2'] = None;"
        "from rheo_verify.probability.rationals import RATIONAL_TYPE; from rheo_verify.cli.main import run;"
        "assert RATIONAL_TYPE == 'fractions.Fraction'; run(sys.argv[1:])"
    )
    flags = ["enumerate", "--vocab", "3", "--json"]
    plain = subprocess.run([sys.executable, "-c", program, *flags], capture_output=True, text=True, cwd=ROOT)
    assert plain.stdout == shell(*flags).stdout != ""


MINE = """
import random

def verify(target, draft, tokens):
    for place, token in enumerate(tokens):
        if random.random() * draft[place][token] >= target[place][token]:
            residual = [max(p - q, 0) for p, q in zip(target[place], draft[place])]
            return [*tokens[:place], random.choices(range(len(residual)), weights=residual)[0]]
    return [*tokens, random.choices(range(len(target[-1])), weights=target[-1])[0]]
"""


def test_the_examples_in_the_help_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    for command in ("enumerate", "replay", "table1"):
        shown = invoke(capsys, command, "--help")[1]
        for line in re.findall(r"^  rheo_verify (\S.*)$", shown, re.MULTILINE):
            code, _, err = invoke(capsys, *line.split())
            assert code in (0, 1), (line, err)


def test_output_that_the_terminal_cannot_encode() -> None:
    for encoding in ("ascii", "latin-1"):
        done = shell("enumerate", "--vocab", "3", env={"PYTHONIOENCODING": encoding})
        assert (done.returncode, done.stderr) == (0, "")
        assert "VERIFIED" in done.stdout
        assert shell("enumerate", "--help", env={"PYTHONIOENCODING": encoding}).returncode == 0


def test_max_trees_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    for most, expected in ((127, 3), (128, 0)):
        code, out, _ = invoke(capsys, "enumerate", "--vocab", "3", "--max-trees", str(most))
        assert code == expected
        assert ("0 of 128 trees were enumerated" in out) == (expected == 3)


def test_a_lossy_smaller_budget_is_said_next_to_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("enumerate", "--model", "table-1", "--depth", "1", "--budget", "3", "--proxy", "1/4")
    code, out, _ = invoke(capsys, *flags)
    assert code == 0
    assert "VERIFIED: lossless, total variation 0 at budget 3\nbut it is lossy at smaller budgets" in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [(["--cycles", "101"], "cycles must be from 1 to 100"), (["--model", ""], "--model needs a value, but an empty")],
)
def test_more_bad_input(capsys: pytest.CaptureFixture[str], flags: list[str], message: str) -> None:
    code, out, err = invoke(capsys, "enumerate", *flags)
    assert (code, out) == (2, "")
    assert message in err
    code, _, err = invoke(capsys, "replay", "model=table-1,depth=1:tree:1")
    assert code == 2
    assert "FILE@DIGEST" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "rheo_verify", "table1"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "the output cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("begins", "counted", "flags"),
    [
        ("checks.enumeration.step_violations", "checks.layers.exact_law", {"depth": 1}),
        ("checks.enumeration.equal_support_trees", "drafting.size.outcomes_at", {"depth": 2, "budget": 1}),
        ("checks.enumeration.why_not_lazy", None, {"lead": 0, "epsilon": Rational(1, 10**9), "depth": 2}),
    ],
)
def test_a_large_vocabulary_does_not_hide_the_clock(
    monkeypatch: pytest.MonkeyPatch, begins: str, counted: str | None, flags: dict[str, Any]
) -> None:
    """The time is up at the first row of one long step: how many more it works at before it ends."""
    limits, rows, long = Limits(), 0, False
    step = operator.attrgetter(begins)(rheo_verify)

    def begun(*given: Any, **named: Any) -> Any:
        nonlocal rows, long
        rows, long = 0, True
        return step(*given, **named)

    def counting(function: Any) -> Any:
        def row(*given: Any) -> Any:
            nonlocal rows
            rows += 1
            limits.deadline = -1.0 if long else None
            return function(*given)

        return row

    model = random_model(500, 0)
    if counted is None:
        model = replace(model, draft=counting(model.draft))
    else:
        monkeypatch.setattr(f"rheo_verify.{counted}", counting(operator.attrgetter(counted)(rheo_verify)))
    monkeypatch.setattr(f"rheo_verify.{begins}", begun)
    design = TreeDesign(**{"lead": 1, "pool": 2, "beam": 1, "budget": 2, **flags})
    with pytest.raises(LimitReached, match="RV201"):
        enumerate_design(model, design, layer_rule("rheo"), limits=limits, method="classes")
    assert long
    assert rows * 500 <= WEIGHTS_UNSEEN


@pytest.mark.parametrize(("support", "said"), [("2", ", q-hat truncated to 2 tokens"), ("3", ""), ("99999", "")])
def test_support_that_cuts_nothing_off_is_not_told_as_a_cut(
    capsys: pytest.CaptureFixture[str], support: str, said: str
) -> None:
    code, out, _ = invoke(capsys, "enumerate", "--vocab", "3", "--depth", "1", "--support", support)
    assert code == 0
    assert f"model: random tables, seed 0{said}, 3 tokens\n" in out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--m", "9"], "m = 9 must be from 0 to V - 1 = 3; change --m"),
        (["--m", "-1"], "m = -1 must be from 0 to V - 1 = 3; change --m"),
        (["--k", "9"], "n = 9 candidates must be from 1 to V = 4; change --k"),
        (["--m", "3", "--k", "2"], "m = 3 must be less than n = 2, the candidates; change --m"),
    ],
)
def test_a_search_without_layers_names_the_flag(
    capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    code, out, err = invoke(capsys, "search", "--where", "rrsw > rheo", *flags)
    assert (code, out, err) == (2, "", f"rheo_verify search: RV106: {said}\n")


@pytest.mark.parametrize("content", ["", "\n\n", "{}\n", "nothing"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_an_audit_without_one_usable_line_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, flags: list[str]
) -> None:
    file = tmp_path / "transcript.jsonl"
    file.write_text(content)
    code, out, err = invoke(capsys, "audit", str(file), *flags)
    assert (code, out) == (2, "")
    assert re.fullmatch(rf"rheo_verify audit: RV606: {file}: not one line can be used \([^\n]+\)\n", err)


_NOUNS = "token tree node class row path case choice slot budget outcome cycle level decoder claim pair layer line draw"
PLURALS = re.compile(rf"(?<![\d.,/…=^-])1 ([a-z]+ )?({'|'.join(_NOUNS.split())})e?s\b|\b(\d+) (to|or) \3\b|1…1\b|\(s\)")
"""Nouns after a 1, and ranges of one."""
SMALLEST = (
    "enumerate --vocab 1 --depth 1 --budget 1 --k 1 --m 0",
    "enumerate --vocab 2 --depth 1 --budget 1 --k 1 --m 1 --method classes",
    "enumerate --vocab 6 --depth 4 --method exhaustive --max-trees 1",
    "decoders --vocab 1 --length 1 --levels 1",
    "decoders rheosampling-m2-rheo --vocab 3 --length 1 --levels 1",
    "prove slot-determinism --level 0",
    "search --where rheo<1 --vocab 1 --denominator 1",
    "acceptance --vocab 1 --m 0 --k 1 --beam 1 --depth 1 --budget 1",
    "check ONE:verify --arrays list --scope vocab=2,denominator=1,drafts=1,random=1,random_vocab=2",
    "check ONE:decode --as decoder --arrays list --scope vocab=2,random=1,length=2",
    "check ONE:sample --as sampler --arrays list --probabilities --scope vocab=2,random=1",
    "check ONE:wrong --as decoder --arrays list --scope vocab=2,random=1,length=2",
)
ONE = """
def verify(target, draft, tokens): return sample(target[0])
def sample(row): return [max(range(len(row)), key=row.__getitem__)]
def decode(target, draft, prompt, n): return [0] * n
def wrong(target, draft, prompt, n): return [0]
"""


@pytest.mark.parametrize("line", SMALLEST)
def test_one_is_singular(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str) -> None:
    (tmp_path / "one.py").write_text(ONE)
    code, out, err = invoke(capsys, *line.replace("ONE", str(tmp_path / "one.py")).split())
    assert code in (0, 1, 3)
    found = PLURALS.search(out + err)
    assert found is None, (out + err)[max(0, found.start() - 60) : found.end() + 20]
