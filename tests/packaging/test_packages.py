"""The wheel and the sdist, built and installed in environments of their own, without this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=environment, timeout=900
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("build", reason="build is not installed: pip install '.[dev]'")
    folder = tmp_path_factory.mktemp("dist")
    done = call(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def python(request: pytest.FixtureRequest, built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty environment in which one of the two is installed, with its dependencies."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = call(python, "-m", "pip", "install", "--quiet", built[request.param], cwd=folder)
    assert done.returncode == 0, done.stderr
    return python


def test_the_main_job_runs_where_it_is_installed(python: Path) -> None:
    done = call(python, "-m", "rheo_verify", "enumerate", "--vocab", "4", "--m", "1", cwd=python.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert "VERIFIED: lossless, total variation 0 at budget 6" in done.stdout


def test_what_comes_with_it_is_there(python: Path) -> None:
    """Shipped models, proofs, the installed command, the type marker; and the core is all that is installed."""
    here = python.parent
    command = here / ("rheo-verify.exe" if os.name == "nt" else "rheo-verify")
    model = call(
        command, "enumerate", "--model", "table-1", "--depth", "1", "--budget", "2", "--proxy", "1/4", cwd=here
    )
    assert model.returncode == 1, model.stderr
    assert "REFUTED" in model.stdout
    proof = call(command, "prove", "table-1", "--level", "1", cwd=here)
    assert proof.returncode == 0, proof.stdout
    doctor = call(command, "doctor", cwd=here)
    assert doctor.returncode == 0, doctor.stdout
    assert "all that is needed is there" in doctor.stdout, doctor.stdout
    where = "import rheo_verify, pathlib; print(pathlib.Path(rheo_verify.__file__).with_name('py.typed').exists())"
    assert call(python, "-c", where, cwd=here).stdout.strip() == "True"
    listed = call(python, "-m", "pip", "list", "--format=freeze", cwd=here).stdout.lower()
    assert not any(name in listed for name in ("torch", "sympy", "hypothesis", "matplotlib", "sphinx", "pytest"))


def test_nothing_is_shipped_that_should_not_be(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = wheel.namelist()
    with tarfile.open(built["sdist"]) as sdist:
        names += sdist.getnames()
    assert not [
        name for name in names if name.endswith((".vo", ".pyc", ".glob")) or "/.ci/" in name or "_build" in name
    ]
    assert all(name.startswith(("rheo_verify/", "rheo_verify-")) for name in names)
