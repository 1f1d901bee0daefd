"""The sequential tests on rows with known laws: false alarms within their bound, faults found. No model, NumPy only."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheo_verify.checks import transcripts
from rheo_verify.checks.batched_tilts import measured
from rheo_verify.checks.eprocess import EProcess
from rheo_verify.checks.tilts import LARGEST, TILTS, Seen
from rheo_verify.checks.transcripts import Audit, audit_file, read_line
from rheo_verify.checks.uniformity import Uniformity, chi_square_tail, head_tail, transform
from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError


def rows(rng: np.random.Generator, vocab: int = 12) -> tuple[Any, Any, tuple[int, ...]]:
    logits = rng.normal(size=vocab) * 2
    p = np.exp(logits) / np.exp(logits).sum()
    noisy = np.exp(logits + rng.normal(size=vocab))
    q = noisy / noisy.sum()
    return p, q, tuple(np.argsort(-q)[:4].tolist())


def run(seed: int, tokens: int, emit: Any = None, stop: float | None = None) -> EProcess:
    rng = np.random.default_rng(seed)
    process = EProcess()
    for _ in range(tokens):
        p, q, top = rows(rng)
        leaf = bool(rng.random() < 0.3)
        law = p if emit is None else emit(p, q, top, leaf)
        process.see(Seen(p, int(rng.choice(len(p), p=law)), top, q, leaf))
        if stop is not None and stop in process.found_at:
            break
    return process


def test_false_alarms_over_200_runs_stay_within_the_bound() -> None:
    alarms = sum(0.05 in run(seed, 50).found_at for seed in range(200))
    # Ville: at most 5 % ever, so more than 18 of 200 has a chance below 1 % (binomial)
    assert alarms <= 18


def test_every_bet_is_fair_under_the_target() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        p, q, top = rows(rng)
        p[rng.integers(len(p))] = 0
        p /= p.sum()
        for tilt in TILTS:
            row = tilt.row(Seen(p, 0, top, q, False))
            assert row is not None
            assert row.min() >= 0
            assert row.sum() == pytest.approx(1)
            positive = p > 0
            mean = float((p[positive] * (row[positive] / p[positive])).sum())
            assert mean <= 1 + 1e-12


def _tempered(power: float) -> Any:
    return lambda p, q, top, leaf: p**power / (p**power).sum()


def _inside(p: Any, q: Any, top: Any, leaf: bool) -> Any:
    tilted = p.copy()
    tilted[list(top)] *= 1.6
    return tilted / tilted.sum()


def _cold_leaves(p: Any, q: Any, top: Any, leaf: bool) -> Any:
    return _tempered(1.7)(p, q, top, leaf) if leaf else p


@pytest.mark.parametrize(
    ("emit", "words", "within"),
    [
        (_tempered(1.7), "colder", 400),
        (_tempered(0.6), "hotter", 400),
        (_inside, "draft", 1500),
        (lambda p, q, top, leaf: q, "draft", 300),
        (_cold_leaves, "where none was", 1200),
    ],
)
def test_faults_are_found_and_named(emit: Any, words: str, within: int) -> None:
    process = run(3, within, emit, stop=0.01)
    assert 0.01 in process.found_at
    assert process.p_value <= 0.01
    assert words in process.best_bet()[0]


def test_power_says_what_would_have_been_seen() -> None:
    few, many = run(5, 30).powers(0.01), run(5, 600).powers(0.01)
    assert any(it.weight is None for it in few)
    for left, right in zip(few, many, strict=True):
        assert left.weight is None or (right.weight or 2) <= left.weight
    inside = next(it for it in many if it.tilt == "drafted tokens too often")
    assert inside.weight is not None
    assert inside.total_variation is not None
    # what power promises is found: emit that very alternative
    weight = inside.weight

    def emit(p: Any, q: Any, top: Any, leaf: bool) -> Any:
        tilted = np.zeros_like(p)
        tilted[list(top)] = p[list(top)]
        return (1 - weight) * p + weight * tilted / tilted.sum()

    assert sum(0.01 in run(seed, 900, emit, stop=0.01).found_at for seed in range(4)) >= 2


def odd_batch(seed: int, count: int) -> list[Seen]:
    """Rows of several lengths, ties, zeros, impossible and all but impossible tokens; drafts unknown, empty, or all

    of the mass; leaves.
    """
    rng = np.random.default_rng(seed)
    batch = []
    for number in range(count):
        size = int(rng.integers(1, 9))
        p = rng.integers(0, 4, size).astype(float)
        p[rng.integers(size)] += 1
        p /= p.sum()
        if number % 5 == 0 and p[1:].any():
            p[0] = (5e-324, 1e-310, 1e-300)[number // 5 % 3]
        drafted = None if number % 4 == 0 else tuple(rng.permutation(size)[: rng.integers(0, size + 1)].tolist())
        draft = rng.random(size) * (rng.random(size) < 0.7) if number % 3 == 0 else None
        leaf = (None, True, False)[int(rng.integers(3))]
        emitted = int(rng.integers(size))
        emitted += p[emitted] == 5e-324  # a row says of it no more than how often it is this
        batch.append(Seen(p, int(emitted), drafted, draft, leaf))
    return batch


@pytest.mark.parametrize("seed", range(12))
def test_a_batch_is_its_tokens_one_by_one(seed: int) -> None:
    batch = odd_batch(seed, 90)
    numbers = measured(batch)
    for seen, at, ratios, below, total in zip(batch, *numbers, strict=True):
        assert at == seen.p[seen.emitted]
        rows = [tilt.row(seen) for tilt in TILTS]
        if at > 0:
            expected = [1.0 if row is None else min(float(row[seen.emitted]) / float(at), LARGEST) for row in rows]
            assert ratios.tolist() == pytest.approx(expected, rel=1e-12)
        order = np.argsort(-seen.p, kind="stable")
        assert (below + 0.25 * at) / total == pytest.approx(transform(seen.p, seen.emitted, order, 0.25), abs=1e-12)
    possible = [seen for seen in batch if seen.p[seen.emitted] > 0]
    for part in (possible, batch):
        slow, fast = EProcess(), EProcess()
        for seen in part:
            slow.see(seen, (0.5, 0.9))
        for begin in range(0, len(part), 7):
            some = part[begin : begin + 7]
            fast.see_all(some, measured(some), (0.5, 0.9))
        assert (fast.tokens, fast.impossible, fast.found_at) == (slow.tokens, slow.impossible, slow.found_at)
        assert np.allclose(fast.wealth, slow.wealth, rtol=1e-9)
        assert np.array_equal(fast.information, slow.information)
        assert fast.highest == pytest.approx(slow.highest)


def _all_but_impossible(*chances: float) -> list[Seen]:
    return [Seen(np.array([chance, 1 - chance]), 0, (0,), np.array([0.5, 0.5]), False) for chance in chances]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("chances", [(1e-310,) * 20, (1e-300, 1e-300, 1e-310), (5e-324, 0.5, 5e-324)])
def test_all_but_impossible_tokens_do_not_end_the_bets(chances: tuple[float, ...]) -> None:
    batch = _all_but_impossible(*chances)
    slow, fast = EProcess(), EProcess()
    for seen in batch:
        slow.see(seen)
    fast.see_all(batch, measured(batch), (0.05, 0.01, 0.001))
    for process in (slow, fast):
        assert not np.isnan(process.wealth).any()
        assert process.wealth.max() < math.inf
        assert process.p_value == 0
        assert process.found_at == {0.05: 1, 0.01: 1, 0.001: 1}
    assert fast.highest == pytest.approx(slow.highest)


def test_one_token_without_a_number_takes_no_wealth_from_a_batch() -> None:
    batch = _all_but_impossible(1e-3, 1e-3)
    numbers = measured(batch)
    numbers.ratios[1] = math.nan
    alone, process = EProcess(), EProcess()
    alone.see_all(batch[:1], measured(batch[:1]), (0.05,))
    process.see_all(batch, numbers, (0.05,))
    assert process.highest == pytest.approx(alone.highest)
    assert alone.highest > 3


def test_audit_of_all_but_impossible_tokens(tmp_path: Path) -> None:
    path, state = tmp_path / "t", tmp_path / "state"
    path.write_text('{"token": 1, "logprobs": {"0": 0.0, "1": -720}, "rest": 0, "drafts": [1]}\n' * 20)
    done = subprocess.run(_processes(path, "--state", str(state)), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["verdict"] == "REFUTED"
    assert "Infinity" not in state.read_text()


@pytest.mark.parametrize("value", [math.inf, math.nan, -math.inf])
@pytest.mark.parametrize("key", ["wealth", "highest"])
def test_a_state_whose_wealth_is_no_number_is_refused(key: str, value: float) -> None:
    data = Audit().to_data()
    data[key] = value if key == "highest" else [value, *data["wealth"][1:]]
    with pytest.raises(InputError, match="RV607"):
        Audit.from_data(data, "state")


def test_rows_of_a_batch_do_not_depend_on_each_other() -> None:
    batch = odd_batch(5, 60)
    together, alone = measured(batch), [measured([seen]) for seen in batch]
    for whole, parts in zip(together, zip(*alone, strict=True), strict=True):
        assert np.array_equal(whole, np.concatenate(parts))


def test_many_uniforms_are_counted_as_one_by_one() -> None:
    one, many = Uniformity(), Uniformity()
    values = np.append(np.random.default_rng(0).random(50), [0.0, 1.0, 1 / 21, 20 / 21])
    for value in values:
        one.see(float(value))
    many.see_all(values)
    assert one.counts.tolist() == many.counts.tolist()


def test_an_interrupted_batch_is_not_half_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    _transcript(path, 100)
    once = _audit(path)
    learn, calls = EProcess._learn, iter(range(1000))

    def interrupted(self: EProcess, *arguments: Any) -> None:
        if next(calls) == 80:
            raise KeyboardInterrupt
        learn(self, *arguments)

    monkeypatch.setattr(EProcess, "_learn", interrupted)
    audit = Audit()
    with pytest.raises(KeyboardInterrupt):
        _audit(path, audit)
    assert _audit(path, audit).to_data() == once.to_data()


def test_interrupted_anywhere_a_batch_counts_once(tmp_path: Path) -> None:
    """At each instruction of taking it in, the last assignments included."""
    path = tmp_path / "t"
    _transcript(path, 3)
    path.write_text(path.read_text() + "{oops\n")
    once = _audit(path).to_data()

    def interrupted(at: int) -> bool:
        count = 0

        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal count
            if frame.f_code is not transcripts._Batch.flush.__code__:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                count += 1
                if count == at:
                    raise KeyboardInterrupt  # which also ends the tracing
            return trace

        audit, before = Audit(), sys.gettrace()
        try:
            sys.settrace(trace)
            _audit(path, audit)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        ended = count == at
        assert audit.to_data() in (once, Audit().to_data())
        assert _audit(path, audit).to_data() == once
        return ended

    assert interrupted(1)
    last = next(at for at in range(2, 10**4) if not interrupted(at))
    assert last > 100


def test_strict_stops_before_the_line(tmp_path: Path) -> None:
    path = tmp_path / "t"
    _transcript(path, 3)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1] + "{oops\n" + lines[2])
    audit = Audit()
    for _ in range(2):
        with pytest.raises(InputError, match="line 3"):
            _audit(path, audit, strict=True)
        assert (audit.process.tokens, audit.lines, audit.broken) == (2, 2, 0)
    assert (_audit(path, audit).lines, audit.broken) == (4, 1)


def test_an_impossible_token_ends_it() -> None:
    process = EProcess()
    process.see(Seen(np.array([1.0, 0.0]), 1))
    assert process.impossible == 1
    assert process.p_value == 0


def test_transform_is_uniform_under_the_target_and_not_under_a_fault() -> None:
    right, wrong = Uniformity(), Uniformity()
    rng = np.random.default_rng(2)
    for _ in range(1500):
        p, _, _ = rows(rng)
        order = np.argsort(-p)
        right.see(transform(p, int(rng.choice(len(p), p=p)), order, rng.random()))
        cold = _tempered(1.7)(p, None, None, False)
        wrong.see(transform(p, int(rng.choice(len(p), p=cold)), order, rng.random()))
    assert right.p_value > 0.01
    assert wrong.p_value < 1e-6


def test_chi_square_tail() -> None:
    stats = pytest.importorskip("scipy.stats")
    for x in (0.5, 10.0, 31.4, 80.0):
        assert chi_square_tail(x, 20) == pytest.approx(float(stats.chi2.sf(x, 20)), rel=1e-9)


def test_head_and_tail() -> None:
    rng = np.random.default_rng(4)
    p = np.array([0.4, 0.3, 0.2, 0.05, 0.03, 0.02])
    sound = [head_tail(p, rng.choice(6, 150, p=p), seed=s, simulations=400).p_value for s in range(60)]
    assert 0 <= sum(it < 0.1 for it in sound) <= 14  # binomial(60, 0.1): beyond 14 has a chance below 1 %
    assert np.mean(sound) == pytest.approx(0.5, abs=0.15)
    found = head_tail(p, rng.choice(6, 800, p=[0.5, 0.2, 0.2, 0.05, 0.03, 0.02]), seed=0)
    assert found.p_value < 0.01
    assert found.shown[-1][0] is None
    assert sum(it[2] for it in found.shown) == 800


def _line(p: Any, token: int, top: Any = (), leaf: bool | None = None, stated: int = 8) -> str:
    ids = np.argsort(-p)[:stated]
    data: dict[str, Any] = {"id": "r", "token": token, "rest": float(p.sum() - p[ids].sum())}
    data["logprobs"] = {str(t): math.log(p[t]) for t in ids.tolist()}
    if top:
        data["drafts"] = list(top)
    if leaf is not None:
        data["leaf"] = leaf
    return json.dumps(data) + "\n"


def _transcript(path: Path, tokens: int, power: float = 1.0, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for _ in range(tokens):
            p, _, top = rows(rng)
            law = _tempered(power)(p, None, None, False)
            file.write(_line(p, int(rng.choice(len(p), p=law)), top, bool(rng.random() < 0.3)))


def _audit(path: Path, audit: Audit | None = None, **options: Any) -> Audit:
    audit = audit or Audit()
    list(audit_file(path, audit, **options))
    return audit


def test_transcripts_sound_and_faulty(tmp_path: Path) -> None:
    _transcript(tmp_path / "sound", 400)
    _transcript(tmp_path / "cold", 400, power=1.7)
    assert _audit(tmp_path / "sound").verdict is Verdict.INCONCLUSIVE
    cold = _audit(tmp_path / "cold")
    assert cold.verdict is Verdict.REFUTED
    assert cold.found_at is not None
    assert cold.found_at < 400


def test_an_audit_resumed_is_the_audit_in_one_go(tmp_path: Path) -> None:
    path = tmp_path / "t"
    _transcript(path, 90, power=1.2)
    whole = path.read_bytes()
    once = _audit(path)
    half = whole.index(b"\n", len(whole) // 2) + 30  # within a line
    path.write_bytes(whole[:half])
    first = _audit(path)
    assert first.process.tokens < 90
    path.write_bytes(whole)
    state = json.loads(json.dumps(first.to_data()))
    second = _audit(path, Audit.from_data(state, "state"))
    assert second.to_data() == once.to_data()
    path.write_bytes(whole[:half])
    with pytest.raises(InputError, match="RV607"):
        _audit(path, second)
    with pytest.raises(InputError, match="RV607"):
        Audit.from_data({"schema": "something"}, "state")


def test_a_pipe_is_read_like_a_file_and_read_on(tmp_path: Path) -> None:
    path, state = tmp_path / "t", tmp_path / "state"
    _transcript(path, 60, power=1.2)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    flags = ["--json", "--state", str(state)]
    command = [sys.executable, "-m", "rheo_verify", "audit", "-", *flags]
    for piped in (b"".join(lines[:25]), whole):
        done = subprocess.run(command, input=piped, capture_output=True, cwd=Path(__file__).parents[2], check=False)
        assert done.stderr == b""
    assert json.loads(state.read_text()) == json.loads(json.dumps(_audit(path).to_data()))
    done = subprocess.run(command, input=whole[:100], capture_output=True, cwd=Path(__file__).parents[2], check=False)
    assert (done.returncode, b"RV607" in done.stderr) == (2, True)


def test_broken_lines_are_named_and_do_not_end_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    _transcript(path, 3)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "{oops\n" + lines[1] + "\n" + '{"token": 1}\n' + lines[2])
    audit = _audit(path)
    assert (audit.process.tokens, audit.broken, audit.lines) == (3, 2, 6)
    assert [fault.split(": ")[1] for fault in audit.faults] == ["line 2", "line 5"]
    with pytest.raises(InputError, match=r"RV606.*line 2"):
        _audit(path, strict=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "not an object"),
        ('{"token": 1}', "'logprobs' is missing"),
        ('{"token": 1, "logprobs": {}}', "logprobs must be an object"),
        ('{"token": 1, "logprobs": {"1": 0.5}}', "positive"),
        ('{"token": 1, "logprobs": {"1": -0.7}}', "sum to 0.4965"),
        ('{"token": 1, "logprobs": {"1": -0.7}, "rest": NaN}', "not a number"),
        ('{"token": 1, "logprobs": {"x": 0}}', "'x' is not a token"),
        ('{"token": true, "logprobs": {"1": 0}}', "True is not a token"),
        ('{"token": 1, "logprobs": {"1": 0}, "drafts": 4}', "drafts must be"),
        ('{"token": 1, "logprobs": {"1": 0}, "drafts": [NaN]}', "drafts must be"),
        ('{"token": 1, "logprobs": {"1": 0}, "leaf": 2}', "leaf must be"),
        ('{"token": 0, "logprobs": {"0": -0.7, "0": -0.7}, "rest": 0.5}', "a key stands twice"),
        ('{"token": 0, "logprobs": {"0": -0.7, "00": -0.7}}', "name a token twice"),
        ("[" * 100_000, "(not JSON|nested too deeply)"),
    ],
)
def test_lines_that_cannot_be_used(line: str, message: str) -> None:
    with pytest.raises(InputError, match=f"RV606: here: .*{message}"):
        read_line(line.encode(), "here")


def test_a_line_as_an_observation() -> None:
    line = b'{"token": 9, "logprobs": {"4": -0.693147180, "7": -1.386294361}, "rest": 0.25, "drafts": [7, 3]}'
    seen = read_line(line, "here")
    assert seen.p.tolist() == pytest.approx([0.5, 0.25, 0.25])
    assert (seen.emitted, seen.drafted, seen.leaf) == (2, (1,), None)


def _processes(path: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "rheo_verify", "audit", str(path), "--json", *flags]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for tokens in (300, 6000):  # both more than is taken in together
        path = tmp_path / str(tokens)
        _transcript(path, 60)
        path.write_bytes(path.read_bytes() * (tokens // 60))
        script = (
            "import sys, tracemalloc; from rheo_verify.checks.transcripts import Audit, audit_file; audit = Audit();"
            "tracemalloc.start(); list(audit_file(sys.argv[1], audit));"
            "print(audit.process.tokens, tracemalloc.get_traced_memory()[1])"
        )
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
        read, peak = map(int, done.stdout.split())
        assert read == tokens
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 250_000 < peaks[0] + (tmp_path / "6000").stat().st_size / 4


def test_a_killed_audit_reads_on_where_its_state_was_written(tmp_path: Path) -> None:
    path, state = tmp_path / "t", tmp_path / "state"
    _transcript(path, 600)
    script = """if True:
        import sys
        from rheo_verify.cli import audit
        from rheo_verify.cli.main import run

        def write_and_wait(path, text, write=audit._write):
            write(path, text)
            print("written", flush=True)
            sys.stdin.read()

        audit.SECONDS, audit._write = 0.0, write_and_wait
        run(sys.argv[1:])
    """
    command = [sys.executable, "-c", script, "audit", str(path), "--state", str(state)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    offset = json.loads(state.read_text())["offset"]
    assert 0 < offset < path.stat().st_size
    found = [
        subprocess.run(_processes(path, *flags), capture_output=True, text=True, check=False)
        for flags in (("--state", str(state)), ())
    ]
    assert found[0].stdout == found[1].stdout != ""
    assert found[0].returncode == found[1].returncode != 2


def test_power_of_a_long_run_is_that_of_every_token(monkeypatch: pytest.MonkeyPatch) -> None:
    from rheo_verify.checks import eprocess

    every = run(7, 900)
    monkeypatch.setattr(eprocess, "_LEARNED_FIRST", 100)
    some = run(7, 900)
    assert some.wealth.tolist() == every.wealth.tolist()
    assert np.allclose(some.information, every.information, rtol=0.35)
    assert not np.array_equal(some.information, every.information)


@pytest.mark.parametrize("odd", ["-0.5", "0", "-1e400", "true", "null", "NaN", '"x"', "1e999"])
def test_reading_all_at_once_is_reading_one_by_one(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = f'{{"token": 3, "logprobs": {{"3": {odd}, "4": -0.9327521295671886}}, "rest": 0}}'.encode()

    def read() -> Any:
        try:
            seen = read_line(line, "here")
            return seen.p.tolist(), seen.emitted
        except InputError as error:
            return str(error)

    at_once = read()

    def slowly(stated: dict[str, Any], where: str) -> Any:
        tokens = [transcripts._token(it, where) for it in stated]
        return tokens, np.array([transcripts._number(it, f"{where}: logprobs") for it in stated.values()])

    monkeypatch.setattr(transcripts, "_stated", slowly)
    assert read() == at_once
