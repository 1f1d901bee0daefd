"""The testing package: assertions, strategies, the conformance class, and the pytest plugin in a run of its own."""

from __future__ import annotations

import random
import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find, given

from benchmarks.plugin import LIMIT, imported
from rheo_verify.foreign.cases import Case
from rheo_verify.testing import assert_decoder, assert_lossless, assert_sampler, session, strategies, verifier_tests
from rheo_verify.testing.assertions import NotLossless


def verify(target: Any, draft: Any, tokens: Any) -> Any:
    for i, token in enumerate(tokens):
        if random.random() * draft[i][token] < target[i][token]:
            continue
        residual = [max(p - q, 0.0) for p, q in zip(target[i], draft[i], strict=True)]
        return [*tokens[:i], *random.choices(range(len(residual)), residual)]
    return [*tokens, *random.choices(range(len(target[-1])), target[-1])]


def accept_all(target: Any, draft: Any, tokens: Any) -> Any:
    return [*tokens, *random.choices(range(len(target[-1])), target[-1])]


TestVerify = verifier_tests(verify, scope="small", arrays="list")


def test_assertions() -> None:
    assert assert_lossless(verify, arrays="list", scope="small").cases > 50
    before = len(session.failures)
    with pytest.raises(NotLossless) as failed:
        assert_lossless(accept_all, arrays="list", scope="small")
    assert "RV407" in str(failed.value)
    failure = session.failures.pop()
    assert len(session.failures) == before
    assert failure["title"].startswith("verifier accept_all: RV407")
    assert "test_testing.py::test_assertions --rheo-replay " in failure["command"]
    compile(failure["source"], "saved", "exec")

    def sampler(row: Any) -> int:
        return random.choices(range(len(row)), row)[0]

    assert_sampler(sampler, arrays="list", logits=False, scope="small")
    with pytest.raises(NotLossless):
        assert_sampler(sampler, arrays="list", logits=False, scope="small", temperature=0.5)
    session.failures.clear()

    def decoder(target: Any, draft: Any, prompt: Any, n: int) -> Any:
        tokens = list(prompt)
        while len(tokens) < n + 1:
            tokens.append(sampler(target(tokens)))
        return tokens[1:]

    assert_decoder(decoder, arrays="list", scope="random=2,length=2")


def test_the_conformance_class_fails_where_it_should() -> None:
    tests: Any = verifier_tests(accept_all, scope="small", arrays="list")()
    tests.test_draft_equals_target()
    for name in ("test_one_hot_target", "test_disjoint_supports", "test_all_small_cases", "test_rows_by_context"):
        with pytest.raises(NotLossless):
            getattr(tests, name)()
    session.failures.clear()


@given(strategies.cases())
def test_cases_are_well_formed(case: Case) -> None:
    assert 2 <= case.vocab <= 3
    assert 1 <= case.drafts <= 2
    assert all(sum(row) == 1 and min(row) >= 0 for row in (*case.target.values(), *case.draft.values()))


@given(strategies.draft_trees())
def test_trees_have_distinct_siblings(tree: dict[tuple[int, ...], tuple[int, ...]]) -> None:
    assert () in tree
    for path, children in tree.items():
        assert len(set(children)) == len(children)
        assert not path or path[-1] in tree[path[:-1]]


def test_strategies_shrink_towards_the_documented_order() -> None:
    smallest = find(strategies.cases(), lambda case: len(set(case.target[()])) > 1)
    assert (smallest.vocab, smallest.drafts) == (2, 1)
    assert max(smallest.key()[2:3]) == 1
    assert find(strategies.distributions(), lambda row: max(row) < 1) == (0.5, 0.5)


MINE = """
import random

def pick(row):
    return random.choices(range(len(row)), row)[0]

def accept_all(target, draft, tokens):
    return [*tokens, pick(target[-1])]

def sample(row, temperature=1.0):
    return pick(row)

def decode(target, draft, prompt, n):
    return [pick(target(prompt)) for _ in range(n)]

def pair(target, draft, prompts, n):
    return [[pick(draft(prompt)) for _ in range(n)] for prompt in prompts]

def coin(target, draft, tokens, uniforms):
    return [*tokens, int(uniforms[0] > target[-1][0])]

def right(target, draft, prompt, n):
    tokens = list(prompt)
    while len(tokens) <= n:
        tokens.append(pick(target(tokens)))
    return tokens[1:]
"""
TESTS = """
from rheo_verify.testing import assert_coins, assert_decoder, assert_lossless, assert_sampler
from mine import accept_all, coin, decode, pair, right, sample

def test_verifier():
    assert_lossless(accept_all, arrays="list")

def test_sampler():
    assert_sampler(sample, arrays="list", logits=False, temperature=0.5)

def test_decoder():
    assert_decoder(decode, arrays="list")

def test_batch():
    assert_decoder(pair, arrays="list", batch=2)

def test_coins():
    assert_coins(coin, arrays="list")

def test_local():
    def local(target, draft, tokens):
        return [0]
    assert_lossless(local, arrays="list")

def test_right():
    print("cases:", assert_decoder(right, arrays="list").cases)
"""
BROKEN = ["verifier", "sampler", "decoder", "batch", "coins", "local"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "test_mine.py").write_text(TESTS)
    return tmp_path


def pytest_run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest, with the plugin, in a process of its own."""
    installed = any(point.name == "rheo_verify" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "rheo_verify.testing.plugin"]
    base = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "--rootdir", "."]
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{project}", "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [*base, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def test_the_plugin_lists_replays_and_saves_every_way_in(project: Path) -> None:
    first = pytest_run(project, "test_mine.py", "--rheo-scope", "small")
    assert first.returncode == 1, first.stdout + first.stderr
    summary = first.stdout.partition("rheo_verify: failing cases")[2]
    commands = re.findall(r"^  again: pytest (.*)$", summary, re.MULTILINE)
    titles = re.findall(r"^\w+ \w+: (RV4\d\d: .*)$", summary, re.MULTILINE)
    assert [shlex.split(command)[0] for command in commands] == [f"test_mine.py::test_{name}" for name in BROKEN]
    for title, command in zip(titles, commands, strict=True):
        again = pytest_run(project, *shlex.split(command))
        assert "1 failed" in again.stdout, again.stdout + again.stderr
        assert title in again.stdout
        assert "this one case" in again.stdout
        assert re.search(r"path \S+", again.stdout)
    saved = re.findall(r"^  saved: (.*)$", summary, re.MULTILINE)
    assert len(saved) == len(BROKEN) - 1  # a local function cannot be imported
    alone = pytest_run(project, *saved)
    assert f"{len(saved)} failed" in alone.stdout, alone.stdout + alone.stderr
    assert all(title in alone.stdout for title in titles[: len(saved)])
    assert alone.stdout.count("this one case") >= len(saved)


def test_a_replay_is_for_its_own_code(project: Path) -> None:
    string = "mine.py:decode,arrays=list,target=1/2+1/2_0+1_0+1,draft=0+1_0+1:decoder:0.0.0"
    other = pytest_run(project, "test_mine.py::test_verifier", "--rheo-scope", "small", "--rheo-replay", string)
    assert "this one case" not in other.stdout
    case = '{"target": [["1", "0"], ["0", "1"]], "draft": [["1", "0"]]}'
    assert pytest_run(project, "test_mine.py::test_verifier", "--rheo-replay", case).returncode == 0
    (project / "case.json").write_text(case)
    assert pytest_run(project, "test_mine.py::test_verifier", "--rheo-replay", "case.json").returncode == 0
    wrong = pytest_run(project, "test_mine.py::test_verifier", "--rheo-replay", "{")
    assert "RV104" in wrong.stdout


def test_the_scope_option_reaches_decoders(project: Path) -> None:
    for scope, cases in (("small", 3**2 + 3), ("random=2,denominator=1,drafts=1", 2**2 + 2), ("quick", 5**2 + 6)):
        done = pytest_run(project, "test_mine.py::test_right", "-s", "--rheo-scope", scope)
        assert f"cases: {cases}" in done.stdout, done.stdout
    assert "RV106" in pytest_run(project, "test_mine.py::test_right", "--rheo-scope", "nonsense=1").stdout


def test_workers_of_xdist_report_their_failures(project: Path) -> None:
    pytest.importorskip("xdist")
    done = pytest_run(project, "test_mine.py", "--rheo-scope", "small", "-n", "2", "-k", "decoder or coins")
    summary = done.stdout.partition("rheo_verify: failing cases")[2]
    assert len(re.findall("^  again: pytest test_mine.py::test_", summary, re.MULTILINE)) == 2, done.stdout


def test_the_plugin_imports_the_standard_library_and_two_small_files() -> None:
    code = (
        "import sys; import rheo_verify.testing.plugin\n"
        "tops = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__'}\n"
        "ours = {name for name in sys.modules if name.startswith('rheo_verify')}\n"
        "print(*sorted(tops), *sorted(ours))"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    ours = [f"rheo_verify{name}" for name in ("", ".testing", ".testing.plugin", ".testing.session")]
    assert done.stdout.split() == ["rheo_verify", *ours]


def test_a_suite_that_does_not_use_the_plugin_pays_next_to_nothing(project: Path) -> None:
    (project / "test_other.py").write_text(
        "import sys\n\ndef test_other():\n    assert 'rheo_verify.testing.plugin' in sys.modules\n"
        "    assert not [name for name in sys.modules if name.startswith(('rheo_verify.foreign', 'torch'))]\n"
    )
    done = pytest_run(project, "test_other.py")
    assert done.returncode == 0, done.stdout
    assert "rheo_verify" not in done.stdout
    assert min(imported() for _ in range(3)) < LIMIT
