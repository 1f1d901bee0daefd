"""The testing package: assertions, strategies, the conformance class, and the pytest plugin in a run of its own."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find, given

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
    _, command, source = session.failures.pop()
    assert len(session.failures) == before
    assert command.startswith("--rheo-replay")
    compile(source, "saved", "exec")

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


def test_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            import random

            def accept_all(target, draft, tokens):
                return [*tokens, *random.choices(range(len(target[-1])), target[-1])]
            """
        )
    )
    (tmp_path / "test_mine.py").write_text(
        "from rheo_verify.testing import assert_lossless\nfrom mine import accept_all\n\n"
        "def test_mine():\n    assert_lossless(accept_all, arrays='list')\n"
    )
    installed = any(point.name == "rheo_verify" for point in entry_points(group="pytest11"))
    base = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *([] if installed else ["-p", "rheo_verify.testing.plugin"]),
        "-p",
        "no:cacheprovider",
        "--rootdir",
        ".",
    ]
    root = str(Path(__file__).parents[2])
    environment = {"PYTHONPATH": f"{root}:{tmp_path}", "PATH": "/usr/bin:/bin"}

    def pytest_run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*base, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    first = pytest_run("test_mine.py", "--rheo-scope", "small")
    assert first.returncode == 1, first.stdout + first.stderr
    assert "rheo_verify: failing cases" in first.stdout
    assert "--rheo-replay" in first.stdout
    [saved] = (tmp_path / ".rheo_verify").glob("test_*.py")
    again = pytest_run(str(saved))
    assert again.returncode == 1, again.stdout + again.stderr
    assert "1 failed" in again.stdout
    case = '{"target": [["1", "0"], ["0", "1"]], "draft": [["1", "0"]]}'
    passing = pytest_run("test_mine.py", "--rheo-replay", case)
    assert passing.returncode == 0, passing.stdout


def test_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys; import rheo_verify.testing.plugin;"
        "heavy = {'numpy', 'torch', 'hypothesis', 'gmpy2', 'pytest'} & set(sys.modules);"
        "print(sorted(heavy)); sys.exit(bool(heavy))"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": root}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
